"""deglib: the dynamic exploration graph, which is searched for the rows on a list where a query has tags."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import deglib
import numpy as np
from scipy.sparse import csr_matrix

from ann_bench import Algorithm
from ann_bench.tags import Postings, Share, shares

BLOCK = 1 << 16  # rows that are handed over at once
TINY = np.finfo(np.float32).tiny
TYPES = {"float32": "FP32", "float16": "FP16", "uint8": "Uint8", "int8": "Int8"}


class Deglib(Algorithm):
    """A graph of `degree` links each way, extended with `build_eps`; a search looks `eps` beyond the nearest."""

    def fit(self, base: np.ndarray, tags: csr_matrix | None = None, learn: np.ndarray | None = None) -> None:
        """Add block by block; note the rows of each tag."""
        kind = "FP32" if self.metric == "angular" else TYPES[self.dtype]
        metric = deglib.Metric[f"{kind}_{'L2' if self.metric == 'euclidean' else 'InnerProduct'}"]
        self.taken = {"FP32": "float32", "FP16": "float16"}.get(kind, self.dtype)
        space = deglib.FloatSpace.create(self.dim, metric)
        self.graph = deglib.create_empty(len(base), space, self.build["degree"])
        builder = deglib.GraphBuilder(self.graph, seed=1, extend_eps=self.build["build_eps"])
        builder.set_thread_count(self.threads)
        for start in range(0, len(base), BLOCK):
            block = self._vectors(base[start : start + BLOCK])
            builder.add_entry(np.arange(start, start + len(block), dtype=np.uint32), block)
            builder.build()
        self.postings = Postings(tags, len(base))
        self.pool = ThreadPoolExecutor(self.threads)

    def set_query_arguments(self, eps: float) -> None:
        """See the class."""
        self.eps = eps

    def query(self, queries: np.ndarray, k: int, tags: csr_matrix | None = None) -> np.ndarray:
        """One call of deglib for the queries that have the same tags; without tags, one for all."""
        vectors, answers = self._vectors(queries), np.full((len(queries), k), -1, np.int64)

        def answer(share: Share) -> None:
            for wanted, members in share:
                rows = self.postings.matching(wanted) if wanted else None
                self._search(vectors, answers, np.array(members), rows, 1)

        if tags is None:
            self._search(vectors, answers, np.arange(len(queries)), None, self.threads)
        else:
            list(self.pool.map(answer, shares(tags, len(queries), self.threads)))
        return answers

    def _search(
        self, vectors: np.ndarray, answers: np.ndarray, lines: np.ndarray, rows: np.ndarray | None, threads: int
    ) -> None:
        width = min(answers.shape[1], self.graph.size() if rows is None else len(rows))
        if width and len(lines):
            options = {"filter_labels": rows, "threads": threads, "return_distances": False}
            found = self.graph.search(vectors[lines], self.eps, width, **options).astype(np.int64)
            answers[lines, :width] = np.where(found < self.graph.size(), found, -1)

    def _vectors(self, vectors: np.ndarray) -> np.ndarray:
        """As deglib takes them; the angle is the inner product of vectors of length 1."""
        vectors = np.ascontiguousarray(vectors, self.taken)
        if self.metric == "angular":
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), TINY)
        return vectors.view(np.uint16) if self.taken == "float16" else vectors
