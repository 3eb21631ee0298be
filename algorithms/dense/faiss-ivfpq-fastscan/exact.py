"""The exact comparison of candidates, with the base itself, shared out among threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import faiss
import numpy as np

from ann_bench.vectors import TINY

BLOCK = 1 << 16  # rows that are cast to float32 at once
CHUNK = 1 << 25  # bytes of rows that one thread has in hand


class Exact:
    """Compares queries with rows of `base` (n, dim), which stays where it is; angles need the lengths of its rows."""

    def __init__(self, base: np.ndarray, metric: str, threads: int) -> None:
        self.base, self.metric = base, metric
        self.lengths = np.empty(len(base) if metric == "angular" else 0, np.float32)
        for start in range(0, len(self.lengths), BLOCK):
            block = np.asarray(base[start : start + BLOCK], np.float32)
            self.lengths[start : start + BLOCK] = np.maximum(np.linalg.norm(block, axis=1), TINY)
        # Pieces are shared out among the threads, each of which uses one thread inside of faiss.
        self.pool = ThreadPoolExecutor(threads, initializer=faiss.omp_set_num_threads, initargs=(1,))

    def best(self, queries: np.ndarray, near: np.ndarray, k: int) -> np.ndarray:
        """The k nearest of the candidates in each line of `near`, where -1 is none: ids (queries, k)."""
        answers = np.full((len(queries), k), -1, np.int64)
        step = max(1, CHUNK // (4 * self.base.shape[1] * near.shape[1]))

        def compare(start: int) -> None:
            ids = near[start : start + step]
            order = self._distances(queries[start : start + step], ids).argsort(axis=1, kind="stable")[:, :k]
            answers[start : start + step, : order.shape[1]] = np.take_along_axis(ids, order, axis=1)

        list(self.pool.map(compare, range(0, len(queries), step)))
        return answers

    def _distances(self, queries: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Of each query to the rows in its line; float32 rows are read where they lie, others are cast first."""
        distances = np.empty(ids.shape, np.float32)
        rows, places = self.base, ids
        if rows.dtype != np.float32 or not rows.flags.c_contiguous:
            rows = rows.take(ids.ravel(), axis=0, mode="clip").astype(np.float32)
            places = np.arange(ids.size).reshape(ids.shape)
        measure = faiss.fvec_L2sqr_by_idx if self.metric == "euclidean" else faiss.fvec_inner_products_by_idx
        given = [faiss.swig_ptr(np.ascontiguousarray(array)) for array in (queries, rows, places)]
        measure(faiss.swig_ptr(distances), *given, self.base.shape[1], *ids.shape)
        if self.metric == "angular":
            distances /= self.lengths.take(ids, mode="clip")
        if self.metric != "euclidean":
            distances *= -1
        distances[ids < 0] = np.inf
        return distances
