"""faiss IVF with 4-bit PQ codes scanned in registers; the best of them are compared exactly, with the base itself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import faiss
import numpy as np

from ann_bench import Algorithm

BLOCK = 1 << 16  # rows that are cast to float32 at once, on their way into faiss
CHUNK = 1 << 25  # bytes of rows that one thread has in hand while it compares them exactly
FEW = 1024  # up to so many rows are all compared: too few to learn codes from
TINY = np.finfo(np.float32).tiny


class FaissIVFPQFastScan(Algorithm):
    """`nlist` lists (None: twice the square root of the rows) of codes, 4 bits for each `sub` dimensions.

    `nprobe` lists are searched, and the `rerank` x k best rows by their codes are compared exactly.
    """

    def fit(self, base: np.ndarray, tags: None = None, learn: np.ndarray | None = None) -> None:
        """Train on a sample, add block by block; the base stays where it is."""
        faiss.omp_set_num_threads(self.threads)
        self.base = np.asarray(base)
        self.lengths = np.empty(len(base) if self.metric == "angular" else 0, np.float32)
        self.index = None if len(base) <= FEW else self._trained_index()
        for start in range(0, len(base), BLOCK):
            block = np.ascontiguousarray(self.base[start : start + BLOCK], np.float32)
            if self.metric == "angular":
                self.lengths[start : start + BLOCK] = np.maximum(np.linalg.norm(block, axis=1), TINY)
            if self.index is not None:
                self.index.add(self._coded(block))
        # The exact comparison is shared out among the threads, each of which uses one thread inside of faiss.
        self.pool = ThreadPoolExecutor(self.threads, initializer=faiss.omp_set_num_threads, initargs=(1,))

    def set_query_arguments(self, nprobe: int, rerank: int) -> None:
        """See the class."""
        self.nprobe, self.rerank = nprobe, rerank

    def query(self, queries: np.ndarray, k: int, tags: None = None) -> np.ndarray:
        """One call of faiss for the candidates of the whole batch, then the exact comparison."""
        queries = np.ascontiguousarray(queries, np.float32)
        if self.index is None:
            near = np.tile(np.arange(len(self.base)), (len(queries), 1))
        else:
            faiss.omp_set_num_threads(self.threads)
            parameters = faiss.IVFPQSearchParameters(nprobe=min(self.nprobe, self.index.nlist))
            wanted = min(self.rerank * k, len(self.base))
            near = self.index.search(self._coded(queries), wanted, params=parameters)[1]
            if self.metric != "euclidean":  # to a query of zeros all rows are alike, and faiss names none
                near[~queries.any(axis=1)] = np.arange(wanted)
        answers = np.full((len(queries), k), -1, np.int64)
        step = max(1, CHUNK // (4 * self.dim * near.shape[1]))

        def compare(start: int) -> None:
            ids = near[start : start + step]
            order = self._distances(queries[start : start + step], ids).argsort(axis=1, kind="stable")[:, :k]
            answers[start : start + step, : order.shape[1]] = np.take_along_axis(ids, order, axis=1)

        list(self.pool.map(compare, range(0, len(queries), step)))
        return answers

    def _trained_index(self) -> faiss.IndexIVFPQFastScan:
        euclidean = self.metric == "euclidean"
        metric = faiss.METRIC_L2 if euclidean else faiss.METRIC_INNER_PRODUCT
        codes = -(-self.dim // self.build["sub"])
        self.padded = codes * self.build["sub"]
        nlist = max(1, min(self.build["nlist"] or 2 * round(len(self.base) ** 0.5), len(self.base) // 39))
        index = faiss.IndexIVFPQFastScan(faiss.IndexFlat(self.padded, metric), self.padded, nlist, codes, 4, metric)
        index.cp.spherical = not euclidean  # or long centroids would draw everything to themselves
        sample = np.random.default_rng(1).choice(len(self.base), min(len(self.base), 50 * nlist), replace=False)
        index.train(self._coded(self.base[np.sort(sample)].astype(np.float32)))
        return index

    def _coded(self, vectors: np.ndarray) -> np.ndarray:
        """As the index takes them: zeros make the dimensions a multiple of `sub`, angles need vectors of length 1."""
        if self.metric == "angular":
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), TINY)
        return np.ascontiguousarray(np.pad(vectors, ((0, 0), (0, self.padded - self.dim))))

    def _distances(self, queries: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Of each query to the rows in its line; float32 rows are read where they lie, others are cast first."""
        distances = np.empty(ids.shape, np.float32)
        rows, places = self.base, ids
        if rows.dtype != np.float32 or not rows.flags.c_contiguous:
            rows = rows.take(ids.ravel(), axis=0, mode="clip").astype(np.float32)
            places = np.arange(ids.size).reshape(ids.shape)
        measure = faiss.fvec_L2sqr_by_idx if self.metric == "euclidean" else faiss.fvec_inner_products_by_idx
        given = [faiss.swig_ptr(np.ascontiguousarray(array)) for array in (queries, rows, places)]
        measure(faiss.swig_ptr(distances), *given, self.dim, *ids.shape)
        if self.metric == "angular":
            distances /= self.lengths.take(ids, mode="clip")
        if self.metric != "euclidean":
            distances *= -1
        distances[ids < 0] = np.inf
        return distances
