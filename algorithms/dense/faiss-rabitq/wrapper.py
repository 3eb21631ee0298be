"""faiss IVF with RaBitQ codes scanned in registers; the best of them are compared exactly, with the base itself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import faiss
import numpy as np

from ann_bench import Algorithm
from ann_bench.vectors import prepared

BLOCK = 1 << 16  # rows that are cast to float32 at once, on their way into faiss
CHUNK = 1 << 25  # bytes of rows that one thread has in hand while it compares them exactly
FEW = 1024  # up to so many rows are all compared: too few to learn lists from


class FaissRaBitQ(Algorithm):
    """`nlist` lists (None: twice the square root of the rows) of codes, `bits` bits a dimension.

    `nprobe` lists are searched, and the `rerank` x k best rows by their codes are compared exactly.
    """

    def fit(self, base: np.ndarray, tags: None = None, learn: np.ndarray | None = None) -> None:
        """Train on a sample, add block by block; the base stays where it is."""
        faiss.omp_set_num_threads(self.threads)
        self.base, self.index = np.asarray(base), None
        self.pool = ThreadPoolExecutor(self.threads)
        if len(base) <= FEW:
            return
        metric = faiss.METRIC_L2 if self.metric == "euclidean" else faiss.METRIC_INNER_PRODUCT
        nlist = max(1, min(self.build["nlist"] or 2 * round(len(base) ** 0.5), len(base) // 39))
        lists = faiss.IndexFlat(self.dim, metric)
        inner = faiss.IndexIVFRaBitQFastScan(lists, self.dim, nlist, metric, 32, True, self.build["bits"])
        inner.cp.spherical = metric == faiss.METRIC_INNER_PRODUCT
        turn = faiss.RandomRotationMatrix(self.dim, self.dim)  # RaBitQ counts on dimensions that are alike
        inner.cp.seed = self.build.get("seed", 1)
        turn.init(inner.cp.seed)
        self.index, self.inner, self.parts = faiss.IndexPreTransform(turn, inner), inner, (turn, lists)
        sample = np.random.default_rng(inner.cp.seed).choice(len(base), min(len(base), 50 * nlist), replace=False)
        self.index.train(self._floats(self.base[np.sort(sample)]))
        for start in range(0, len(base), BLOCK):
            self.index.add(self._floats(self.base[start : start + BLOCK]))

    def set_query_arguments(self, nprobe: int, rerank: int) -> None:
        """See the class."""
        self.nprobe, self.rerank = nprobe, rerank

    def query(self, queries: np.ndarray, k: int, tags: None = None) -> np.ndarray:
        """One call of faiss for the candidates of the whole batch, then the exact comparison."""
        floats, wanted = self._floats(queries), min(self.rerank * k, len(self.base))
        if self.index is None:
            near = np.tile(np.arange(len(self.base)), (len(queries), 1))
        else:
            self.inner.nprobe = min(self.nprobe, self.inner.nlist)
            near = self.index.search(floats, wanted)[1]
        answers = np.full((len(queries), k), -1, np.int64)
        step = max(1, CHUNK // (4 * self.dim * near.shape[1]))

        def compare(start: int) -> None:
            ids = near[start : start + step]
            order = self._distances(floats[start : start + step], ids).argsort(axis=1, kind="stable")[:, :k]
            answers[start : start + step, : order.shape[1]] = np.take_along_axis(ids, order, axis=1)

        list(self.pool.map(compare, range(0, len(queries), step)))
        return answers

    def _distances(self, queries: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Of each query to the rows in its line; those that are not there are farthest."""
        rows = self._floats(self.base.take(ids.ravel(), axis=0, mode="clip")).reshape(*ids.shape, self.dim)
        if self.metric == "euclidean":
            rows -= queries[:, None]
            distances = np.einsum("qrd,qrd->qr", rows, rows)
        else:
            distances = -np.einsum("qrd,qd->qr", rows, queries)
        return np.where(ids < 0, np.inf, distances)

    def _floats(self, vectors: np.ndarray) -> np.ndarray:
        return prepared(vectors, self.metric)
