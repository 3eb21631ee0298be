"""faiss IVF with an id selector per set of tags; few matching rows are compared one by one instead."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import faiss
import numpy as np
from lists import empty_index
from scipy.sparse import csr_matrix

from ann_bench import Algorithm
from ann_bench.tags import Postings, Share, shares
from ann_bench.vectors import prepared

BLOCK = 1 << 16  # rows that are cast to float32 at once, on their way into faiss


class FaissIVF(Algorithm):
    """`nlist` inverted lists (None: the square root of the rows), of which `nprobe` are searched.

    Up to `max_scan` matching rows are all compared: the fewer match, the fewer of them lie in the lists searched.
    """

    def fit(self, base: np.ndarray, tags: csr_matrix | None = None, learn: np.ndarray | None = None) -> None:
        """Train on a sample, add block by block, note the rows of each tag."""
        faiss.omp_set_num_threads(self.threads)
        self.base = np.asarray(base)
        wanted, rng = self.build["nlist"] or round(len(base) ** 0.5), np.random.default_rng(self.build.get("seed", 1))
        self.nlist = max(1, min(wanted, len(base) // 39))  # faiss wants 39 rows a list to learn from
        self.index = empty_index(self, self.nlist)
        sample = rng.choice(len(base), min(len(base), 50 * self.nlist), replace=False)
        self.index.train(prepared(self.base[np.sort(sample)], self.metric))
        for start in range(0, len(base), BLOCK):
            self.index.add(prepared(self.base[start : start + BLOCK], self.metric))
        self.postings = Postings(tags, len(base))
        # Whole groups are shared out among the threads, so inside of a call faiss itself is to use one.
        self.pool = ThreadPoolExecutor(self.threads, initializer=faiss.omp_set_num_threads, initargs=(1,))

    def set_query_arguments(self, nprobe: int, max_scan: int) -> None:
        """See the class."""
        self.nprobe, self.max_scan = min(nprobe, self.nlist), max_scan

    def query(self, queries: np.ndarray, k: int, tags: csr_matrix | None = None) -> np.ndarray:
        """Answer queries with the same tags together."""
        faiss.omp_set_num_threads(self.threads)
        queries = prepared(queries, self.metric)
        near, lists = self.index.quantizer.search(queries, self.nprobe)
        answers = np.full((len(queries), k), -1, np.int64)

        def answer(share: Share) -> None:
            for wanted, members in share:
                rows = self.postings.matching(wanted) if wanted else None
                if rows is not None and len(rows) <= self.max_scan:
                    answers[members] = self._scan(queries[members], k, rows)
                else:
                    answers[members] = self._probe(queries[members], k, rows, lists[members], near[members])

        list(self.pool.map(answer, shares(tags, len(queries), self.threads)))
        return answers

    def _scan(self, queries: np.ndarray, k: int, rows: np.ndarray) -> np.ndarray:
        if not len(rows):
            return np.full((len(queries), k), -1)
        matching = prepared(self.base.take(rows, axis=0), self.metric)
        _, places = faiss.knn(queries, matching, k, self.index.metric_type)
        return np.where(places < 0, -1, rows[places])

    def _probe(
        self, queries: np.ndarray, k: int, rows: np.ndarray | None, lists: np.ndarray, near: np.ndarray
    ) -> np.ndarray:
        selector = None if rows is None else faiss.IDSelectorBitmap(self.postings.bitmap(rows))
        parameters = faiss.SearchParametersIVF(nprobe=self.nprobe, sel=selector)
        ids, distances = np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.float32)
        # The lists of all queries were found at once. faiss's own Python method takes no parameters here.
        given = [faiss.swig_ptr(array) for array in (queries, lists, near, distances, ids)]
        self.index.search_preassigned_c(len(queries), given[0], k, *given[1:], False, parameters)
        return ids
