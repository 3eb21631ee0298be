"""Exact search: faiss compares every row, block by block, and the nearest are compared once more in float64."""

from __future__ import annotations

from collections.abc import Iterator

import faiss
import numpy as np
from compare import Pairs, nearest

from ann_bench import Algorithm
from ann_bench.vectors import prepared

BLOCK = 1 << 16  # rows that are cast to float32 and compared at once: bounds the memory
PIECE = 256  # queries whose nearest rows are compared in float64 at once
SPARE = 32  # more neighbours than asked for, so that rounding in float32 loses none
ROUNDING = 1e-5  # of the longest vectors: more than float32 can be wrong by


class Exact(Algorithm):
    """Compares all rows. Ties go to the smaller id."""

    def fit(self, base: np.ndarray, tags: None = None, learn: np.ndarray | None = None) -> None:
        """Leave the base where it is."""
        faiss.omp_set_num_threads(self.threads)
        self.base = np.asarray(base)
        self.pairs = Pairs(self.metric, self.base)
        self.space = faiss.METRIC_L2 if self.metric == "euclidean" else faiss.METRIC_INNER_PRODUCT

    def query(self, queries: np.ndarray, k: int, tags: None = None) -> np.ndarray:
        """The k nearest by float64 of the k + SPARE nearest by float32."""
        floats, wanted = self._floats(queries), min(k + SPARE, len(self.base))
        heap = faiss.ResultHeap(len(queries), wanted, self.space == faiss.METRIC_INNER_PRODUCT)
        for start, block in self._blocks():
            far, near = nearest(floats, block, min(wanted, len(block)), self.space)
            heap.add_result(far, np.where(near < 0, -1, near + start))
        heap.finalize()
        answers = np.full((len(queries), k), -1, np.int64)
        for start in range(0, len(queries), PIECE):
            ids = np.sort(heap.I[start : start + PIECE], axis=1)
            lines = np.repeat(np.arange(len(ids)), wanted)
            distances = self.pairs.distances(queries[start : start + PIECE], lines, ids.ravel()).reshape(ids.shape)
            order = distances.argsort(axis=1, kind="stable")[:, :k]
            answers[start : start + PIECE, : order.shape[1]] = np.take_along_axis(ids, order, axis=1)
        return answers

    def range_query(self, queries: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """All rows that float32 puts within a slightly wider radius and float64 within this one."""
        floats, lines, ids = self._floats(queries), [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        longest = np.linalg.norm(floats, axis=1).max(initial=0)
        bound = -radius if self.metric == "ip" else radius
        for start, block in self._blocks():
            index = faiss.IndexFlat(self.dim, self.space)
            index.add(block)
            slack = ROUNDING * (longest + np.linalg.norm(block, axis=1).max()) ** 2
            wider = bound + slack
            if self.metric != "euclidean":  # faiss is told the least inner product
                wider = (self.metric == "angular") - wider
            offsets, _, near = index.range_search(floats, float(wider))
            line = np.repeat(np.arange(len(queries)), np.diff(offsets.astype(np.int64)))
            within = self.pairs.distances(queries, line, near + start) < bound
            lines.append(line[within])
            ids.append(near[within] + start)
        line, found = np.concatenate(lines), np.concatenate(ids)
        offsets = np.searchsorted(np.sort(line), np.arange(len(queries) + 1))
        return offsets, found[np.lexsort((found, line))]

    def _blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        for start in range(0, len(self.base), BLOCK):
            yield start, self._floats(self.base[start : start + BLOCK])

    def _floats(self, vectors: np.ndarray) -> np.ndarray:
        return prepared(vectors, self.metric)
