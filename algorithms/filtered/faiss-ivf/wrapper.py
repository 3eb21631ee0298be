"""faiss IVF with an id selector per set of tags; few matching rows are compared one by one instead."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import faiss
import numpy as np
from scipy.sparse import csr_matrix

from ann_bench import Algorithm
from ann_bench.tags import Postings, Share, shares

BLOCK = 1 << 16  # rows that are cast to float32 at once, on their way into faiss
BYTES = {"uint8": faiss.ScalarQuantizer.QT_8bit_direct, "int8": faiss.ScalarQuantizer.QT_8bit_direct_signed}


class FaissIVF(Algorithm):
    """`nlist` inverted lists (None: the square root of the rows), of which `nprobe` are searched.

    Up to `max_scan` matching rows are all compared: the fewer match, the fewer of them lie in the lists searched.
    """

    def fit(self, base: np.ndarray, tags: csr_matrix | None = None, learn: np.ndarray | None = None) -> None:
        """Train on a sample, add block by block, note the rows of each tag."""
        faiss.omp_set_num_threads(self.threads)
        self.base = np.asarray(base)
        wanted = self.build["nlist"] or round(len(base) ** 0.5)
        self.nlist = max(1, min(wanted, len(base) // 39))  # faiss wants 39 rows a list to learn from
        self.index = self._empty_index()
        sample = np.random.default_rng(1).choice(len(base), min(len(base), 50 * self.nlist), replace=False)
        self.index.train(self._floats(self.base[np.sort(sample)]))
        for start in range(0, len(base), BLOCK):
            self.index.add(self._floats(self.base[start : start + BLOCK]))
        self.postings = Postings(tags, len(base))
        # Whole groups are shared out among the threads, so inside of a call faiss itself is to use one.
        self.pool = ThreadPoolExecutor(self.threads, initializer=faiss.omp_set_num_threads, initargs=(1,))

    def set_query_arguments(self, nprobe: int, max_scan: int) -> None:
        """See the class."""
        self.nprobe, self.max_scan = min(nprobe, self.nlist), max_scan

    def query(self, queries: np.ndarray, k: int, tags: csr_matrix | None = None) -> np.ndarray:
        """Answer queries with the same tags together."""
        faiss.omp_set_num_threads(self.threads)
        queries = self._floats(queries)
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

    def _empty_index(self) -> faiss.IndexIVF:
        euclidean = self.metric == "euclidean"
        metric = faiss.METRIC_L2 if euclidean else faiss.METRIC_INNER_PRODUCT
        quantizer = faiss.IndexFlatL2(self.dim) if euclidean else faiss.IndexFlatIP(self.dim)
        if self.dtype in BYTES and self.metric != "angular":
            index = faiss.IndexIVFScalarQuantizer(quantizer, self.dim, self.nlist, BYTES[self.dtype], metric, False)
        else:
            index = faiss.IndexIVFFlat(quantizer, self.dim, self.nlist, metric)
        index.cp.spherical = not euclidean
        return index

    def _floats(self, vectors: np.ndarray) -> np.ndarray:
        """As faiss takes them; the angle is the inner product of vectors of length 1."""
        vectors = np.ascontiguousarray(vectors, np.float32)
        if self.metric == "angular":
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return vectors

    def _scan(self, queries: np.ndarray, k: int, rows: np.ndarray) -> np.ndarray:
        if not len(rows):
            return np.full((len(queries), k), -1)
        _, places = faiss.knn(queries, self._floats(self.base.take(rows, axis=0)), k, self.index.metric_type)
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
