"""FlatNav: a navigable graph without a hierarchy, over the rows in their own number type."""

from __future__ import annotations

import flatnav
import numpy as np

from ann_bench import Algorithm

BLOCK = 1 << 16  # rows that are handed over at once
TINY = np.finfo(np.float32).tiny
TYPES = flatnav.data_type.DataType


class FlatNav(Algorithm):
    """A graph of `degree` links a row, built with width `ef_construction` and searched with width `ef`.

    A walk begins at the nearest of `starts` rows.
    """

    def fit(self, base: np.ndarray, tags: None = None, learn: np.ndarray | None = None) -> None:
        """Add block by block."""
        self.rows = len(base)
        own = self.metric != "angular" and self.dtype in ("uint8", "int8")
        self.taken = np.dtype(self.dtype if own else np.float32)
        self.index = flatnav.index.create(
            distance_type="l2" if self.metric == "euclidean" else "angular",
            dim=self.dim,
            dataset_size=self.rows,
            max_edges_per_node=self.build["degree"],
            index_data_type=getattr(TYPES, self.taken.name),
        )
        self.index.set_num_threads(self.threads)
        for start in range(0, self.rows, BLOCK):
            block = self._vectors(base[start : start + BLOCK])
            labels = np.arange(start, start + len(block), dtype=np.int32)
            self.index.add(block, ef_construction=self.build["ef_construction"], labels=labels)

    def set_query_arguments(self, ef: int, starts: int) -> None:
        """See the class."""
        self.ef, self.starts = ef, starts

    def query(self, queries: np.ndarray, k: int, tags: None = None) -> np.ndarray:
        """One call of flatnav for the whole batch."""
        answers = np.full((len(queries), k), -1, np.int64)
        wanted = min(k, self.rows)
        if len(queries):
            width = max(self.ef, wanted)
            found = self.index.search(
                self._vectors(queries), K=wanted, ef_search=width, num_initializations=self.starts
            )
            answers[:, :wanted] = found[1]
        # Where the graph leads to fewer rows, flatnav leaves what was in memory in the rest of the line.
        ordered = np.sort(answers[:, :wanted], axis=1)
        wrong = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1) | (ordered < 0).any(axis=1)
        for line in np.flatnonzero(wrong | (ordered[:, -1:] >= self.rows).any(axis=1)):
            kept = [row for row in dict.fromkeys(answers[line].tolist()) if 0 <= row < self.rows]
            answers[line] = -1
            answers[line, : len(kept)] = kept
        return answers

    def _vectors(self, vectors: np.ndarray) -> np.ndarray:
        """As flatnav takes them; the angle is the inner product of vectors of length 1."""
        vectors = np.ascontiguousarray(vectors, self.taken)
        if self.metric == "angular":
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), TINY)
        return vectors
