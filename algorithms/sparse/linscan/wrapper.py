"""An inverted index whose lists are scanned term by term within a budget; candidates are compared exactly."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import kernels
import numpy as np
from scipy.sparse import csr_matrix

from ann_bench import Algorithm

PARTS = 4  # pieces of work for each thread


class Linscan(Algorithm):
    """Adds up the largest products, `budget` of those that the query's lists hold; then compares `candidates` rows.

    The idea is that of S. Bruch et al., "An Approximate Algorithm for Maximum Inner Product Search over Streaming
    Sparse Vectors"; which postings the budget goes to is decided by their products, so that it ends in mid-list.
    """

    def fit(self, base: csr_matrix, tags: csr_matrix | None = None, learn: csr_matrix | None = None) -> None:
        """Two passes over the base: the largest weight of each term, then the lists of each block of rows."""
        if self.metric != "ip":
            raise ValueError(f"linscan finds the largest inner product; it cannot search by {self.metric}")
        self.pool = ThreadPoolExecutor(self.threads)
        indptr, terms, weights = kernels.fixed(base.indptr, np.int64), *map(kernels.fixed, (base.indices, base.data))
        self.base = indptr, terms, weights
        count, dim = base.shape
        blocks = [slice(start, min(start + kernels.ROWS, count)) for start in range(0, count, kernels.ROWS)]
        scales = np.zeros((self.threads, dim), np.float32)
        borders = np.linspace(0, len(terms), self.threads + 1).astype(np.int64)
        parts = [slice(start, stop) for start, stop in pairwise(borders)]
        list(self.pool.map(lambda part, scale: kernels.largest(terms[part], weights[part], scale), parts, scales))
        scale = scales.max(axis=0) / np.float32(kernels.LEVELS - 1)
        rows, codes = np.empty(len(terms), np.uint16), np.empty(len(terms), np.int8)
        starts = np.empty((len(blocks), dim + 1), np.int32)

        def sort(number: int) -> None:
            block = blocks[number]
            own = slice(indptr[block.start], indptr[block.stop])
            ends = indptr[block.start : block.stop + 1]
            kernels.sort_block((ends, terms[own], weights[own]), scale, rows[own], codes[own], starts[number])

        list(self.pool.map(sort, range(len(blocks))))
        offsets = indptr[[block.start for block in blocks]]
        counts = np.zeros((dim, kernels.LEVELS), np.int32)
        borders = np.linspace(0, dim, self.threads + 1).astype(np.int64)
        list(self.pool.map(lambda ends: kernels.count_sizes(*ends, offsets, starts, codes, counts), pairwise(borders)))
        self.index = offsets, starts, rows, codes, scale, counts
        self.set_query_arguments(budget=0.5, candidates=10)
        self.query(csr_matrix((1, dim), dtype=np.float32), 1)  # compiled now, not in the first batch

    def set_query_arguments(self, budget: float, candidates: int) -> None:
        """See the class."""
        self.budget, self.candidates = float(budget), candidates

    def query(self, queries: csr_matrix, k: int, tags: csr_matrix | None = None) -> np.ndarray:
        """Share out the queries among the threads."""
        count, dim = len(self.base[0]) - 1, queries.shape[1]
        answers = np.full((queries.shape[0], k), -1, np.int64)
        width = min(max(k, self.candidates), count)

        def answer(first: int, last: int) -> None:
            own = queries.indptr[first : last + 1].astype(np.int64)
            inside = slice(own[0], own[-1])
            given = own - own[0], queries.indices[inside].astype(np.int32), queries.data[inside].astype(np.float32)
            names = np.empty((last - first, width), np.int64)
            values = np.full(names.shape, -np.inf, np.float32)
            kernels.scan(self.index, count, given, self.budget, values, names)
            kernels.rescore(self.base, given, dim, names, answers[first:last])

        borders = np.linspace(0, len(answers), min(PARTS * self.threads, len(answers)) + 1).astype(int).tolist()
        list(self.pool.map(answer, borders[:-1], borders[1:]))
        return answers
