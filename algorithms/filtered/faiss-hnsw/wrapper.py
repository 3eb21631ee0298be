"""faiss HNSW with an id selector per set of tags; few matching rows are compared one by one instead."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import faiss
import numpy as np
from scipy.sparse import csr_matrix

from ann_bench import Algorithm
from ann_bench.tags import Postings, Share, shares
from ann_bench.vectors import prepared

BLOCK = 1 << 16  # rows that are cast to float32 at once, on their way into faiss
BYTES = {"uint8": faiss.ScalarQuantizer.QT_8bit_direct, "int8": faiss.ScalarQuantizer.QT_8bit_direct_signed}


class FaissHNSW(Algorithm):
    """A graph of `degree` links a row, searched with width `ef`; up to `max_scan` matching rows are all compared.

    The search walks over all rows and keeps those that match: the fewer match, the fewer of them lie on its way.
    """

    def fit(self, base: np.ndarray, tags: csr_matrix | None = None, learn: np.ndarray | None = None) -> None:
        """Add block by block; note the rows of each tag."""
        faiss.omp_set_num_threads(self.threads)
        self.base = np.asarray(base)
        self.index = self._empty_index(self.build["degree"])
        self.index.hnsw.rng = faiss.RandomGenerator(self.build.get("seed", 1))  # of the levels
        self.index.hnsw.efConstruction = self.build["ef_construction"]
        for start in range(0, len(base), BLOCK):
            self.index.add(self._floats(self.base[start : start + BLOCK]))
        self.postings = Postings(tags, len(base))
        # Whole groups are shared out among the threads, so inside of a call faiss itself is to use one.
        self.pool = ThreadPoolExecutor(self.threads, initializer=faiss.omp_set_num_threads, initargs=(1,))

    def set_query_arguments(self, ef: int, max_scan: int) -> None:
        """See the class."""
        self.ef, self.max_scan = ef, max_scan

    def query(self, queries: np.ndarray, k: int, tags: csr_matrix | None = None) -> np.ndarray:
        """Answer queries with the same tags together."""
        queries = self._floats(queries)
        answers = np.full((len(queries), k), -1, np.int64)

        def answer(share: Share) -> None:
            for wanted, members in share:
                rows = self.postings.matching(wanted) if wanted else None
                few = rows is not None and len(rows) <= self.max_scan
                answers[members] = (self._scan if few else self._walk)(queries[members], k, rows)

        list(self.pool.map(answer, shares(tags, len(queries), self.threads)))
        return answers

    def _empty_index(self, degree: int) -> faiss.IndexHNSW:
        metric = faiss.METRIC_L2 if self.metric == "euclidean" else faiss.METRIC_INNER_PRODUCT
        if self.dtype not in BYTES or self.metric == "angular":
            return faiss.IndexHNSWFlat(self.dim, degree, metric)
        index = faiss.IndexHNSWSQ(self.dim, BYTES[self.dtype], degree, metric)
        index.is_trained = True  # bytes are stored as they are: there is nothing to learn
        return index

    def _floats(self, vectors: np.ndarray) -> np.ndarray:
        return prepared(vectors, self.metric)

    def _scan(self, queries: np.ndarray, k: int, rows: np.ndarray) -> np.ndarray:
        if not len(rows):
            return np.full((len(queries), k), -1)
        _, places = faiss.knn(queries, self._floats(self.base.take(rows, axis=0)), k, self.index.metric_type)
        return np.where(places < 0, -1, rows[places])

    def _walk(self, queries: np.ndarray, k: int, rows: np.ndarray | None) -> np.ndarray:
        selector = None if rows is None else faiss.IDSelectorBitmap(self.postings.bitmap(rows))
        parameters = faiss.SearchParametersHNSW(efSearch=self.ef, sel=selector)
        return self.index.search(queries, k, params=parameters)[1]
