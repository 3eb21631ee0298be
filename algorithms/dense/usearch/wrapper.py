"""usearch: one graph over all rows, in their own number type."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from usearch.index import Index

from ann_bench import Algorithm

BLOCK = 1 << 16  # rows that are handed over at once
TINY = np.finfo(np.float32).tiny
STORED = {"float32": "f32", "float16": "f16", "int8": "i8", "uint8": "u8"}


class Usearch(Algorithm):
    """A graph of `degree` links a row, built with width `ef_construction` and searched with width `ef`.

    `stored` is the number type of the rows inside, None for their own; angles are compared in float32 at least.
    """

    def fit(self, base: np.ndarray, tags: None = None, learn: np.ndarray | None = None) -> None:
        """Add block by block."""
        self.index = self._empty_index()
        for start in range(0, len(base), BLOCK):
            block = self._vectors(base[start : start + BLOCK])
            self.index.add(np.arange(start, start + len(block)), block, threads=self.threads, dtype=self.given)

    def set_query_arguments(self, ef: int) -> None:
        """See the class."""
        self.ef = ef

    def query(self, queries: np.ndarray, k: int, tags: None = None) -> np.ndarray:
        """One call of usearch for the whole batch."""
        answers = np.full((len(queries), k), -1, np.int64)
        if not len(queries):
            return answers
        self.index.expansion_search = max(self.ef, k)
        vectors = self._vectors(queries)
        # usearch takes a batch of one for a single query, and answers it in another shape.
        batch = np.repeat(vectors, 2, axis=0) if len(vectors) == 1 else vectors
        found = self.index.search(batch, k, threads=self.threads, dtype=self.given)
        keys, counts = found.keys[: len(vectors)].astype(np.int64), np.asarray(found.counts)[: len(vectors)]
        answers[:, : keys.shape[1]] = np.where(np.arange(keys.shape[1]) < counts[:, None], keys, -1)
        return answers

    def save(self, folder: Path) -> None:
        """One file."""
        self.index.save(str(folder / "index"))

    def load(self, folder: Path) -> bool:
        """What `save` wrote."""
        self.index = self._empty_index()
        self.index.load(str(folder / "index"))
        return True

    def _empty_index(self) -> Index:
        self.given = "f32" if self.metric == "angular" else STORED[self.dtype]  # usearch takes arrays of uint8 for bits
        return Index(
            ndim=self.dim,
            metric="l2sq" if self.metric == "euclidean" else "ip",
            dtype=self.build["stored"] or self.given,
            connectivity=self.build["degree"],
            expansion_add=self.build["ef_construction"],
            enable_key_lookups=False,
        )

    def _vectors(self, vectors: np.ndarray) -> np.ndarray:
        """As they are; the angle is the inner product of vectors of length 1."""
        if self.metric != "angular":
            return np.ascontiguousarray(vectors)
        vectors = np.asarray(vectors, np.float32)
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), TINY)
