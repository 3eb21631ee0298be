"""Exact filtered search: the rows that hold a query's tags are found through posting lists, then all compared."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from pieces import first, products
from scipy.sparse import csr_matrix

from ann_bench import Algorithm
from ann_bench.tags import Postings, Share, shares

BLOCK = 8192  # rows that are compared at once: bounds the memory, and stays in the cache


class Exact(Algorithm):
    """Compares all matching rows. Recall is 1 by construction; ties go to the smaller id."""

    def fit(self, base: np.ndarray, tags: csr_matrix | None = None, learn: np.ndarray | None = None) -> None:
        """Leave the base where it is; note the rows of each tag and the length of each row."""
        self.base = np.asarray(base)
        self.number = self._number_type()
        self.squares = np.concatenate([self._squares(start) for start in range(0, len(base), BLOCK)])
        self.postings = Postings(tags, len(base))
        self.pool = ThreadPoolExecutor(self.threads)

    def query(self, queries: np.ndarray, k: int, tags: csr_matrix | None = None) -> np.ndarray:
        """Answer queries with the same tags together."""
        answers = np.full((len(queries), k), -1, np.int32)
        queries = np.asarray(queries, self.number)

        def answer(share: Share) -> None:
            for wanted, members in share:
                rows = self.postings.matching(wanted) if wanted else np.arange(len(self.base), dtype=np.int32)
                nearest = self._nearest(queries[members], rows, k)
                answers[members, : nearest.shape[1]] = nearest

        list(self.pool.map(answer, shares(tags, len(queries), self.threads)))
        return answers

    def _number_type(self) -> type:
        """Sums of products of bytes are whole numbers: below 2^24, float32 holds them exactly at half the cost."""
        dtype = np.dtype(self.dtype)
        largest = np.iinfo(dtype).max + 1.0 if dtype.kind in "iu" else np.inf
        return np.float32 if self.dim * largest**2 < 2**24 else np.float64

    def _squares(self, start: int) -> np.ndarray:
        rows = self.base[start : start + BLOCK].astype(self.number)
        return np.einsum("ij,ij->i", rows, rows)

    def _nearest(self, queries: np.ndarray, rows: np.ndarray, k: int) -> np.ndarray:
        blocks = [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]
        found = [first(self._distances(queries, block), block, k) for block in blocks]
        if len(found) > 1:
            distances, ids = (np.hstack(parts) for parts in zip(*found, strict=True))
            found = [first(distances, ids, k)]
        return found[0][1] if found else np.empty((len(queries), 0), np.int32)

    def _distances(self, queries: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Distances of the queries to these rows, up to what is the same for all rows of one query."""
        dots = products(queries, self.base.take(rows, axis=0).astype(self.number))
        if self.metric == "euclidean":
            return self.squares[rows] - 2 * dots
        if self.metric == "angular":
            return -dots / np.sqrt(np.maximum(self.squares[rows], np.finfo(np.float32).tiny))
        return -dots
