"""faiss IVF with 4-bit PQ codes scanned in registers; the best of them are compared exactly, with the base itself."""

from __future__ import annotations

import faiss
import numpy as np
from exact import Exact

from ann_bench import Algorithm
from ann_bench.vectors import prepared

BLOCK = 1 << 16  # rows that are cast to float32 at once, on their way into faiss
FEW = 1024  # up to so many rows are all compared: too few to learn codes from


class FaissIVFPQFastScan(Algorithm):
    """`nlist` lists (None: twice the square root of the rows) of codes, 4 bits for each `sub` dimensions.

    `nprobe` lists are searched, and the `rerank` x k best rows by their codes are compared exactly.
    """

    def fit(self, base: np.ndarray, tags: None = None, learn: np.ndarray | None = None) -> None:
        """Train on a sample, add block by block; the base stays where it is."""
        faiss.omp_set_num_threads(self.threads)
        self.base = np.asarray(base)
        self.index = None if len(base) <= FEW else self._trained_index()
        self.exact = Exact(self.base, self.metric, self.threads)
        for start in range(0, len(base) if self.index is not None else 0, BLOCK):
            self.index.add(self._coded(self.base[start : start + BLOCK]))

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
        return self.exact.best(queries, near, k)

    def _trained_index(self) -> faiss.IndexIVFPQFastScan:
        euclidean = self.metric == "euclidean"
        metric = faiss.METRIC_L2 if euclidean else faiss.METRIC_INNER_PRODUCT
        codes = -(-self.dim // self.build["sub"])
        self.padded = codes * self.build["sub"]
        nlist = max(1, min(self.build["nlist"] or 2 * round(len(self.base) ** 0.5), len(self.base) // 39))
        index = faiss.IndexIVFPQFastScan(faiss.IndexFlat(self.padded, metric), self.padded, nlist, codes, 4, metric)
        index.cp.spherical = not euclidean  # or long centroids would draw everything to themselves
        index.cp.seed = index.pq.cp.seed = self.build.get("seed", 1)
        rng, wanted = np.random.default_rng(index.cp.seed), min(len(self.base), 50 * nlist)
        sample = rng.choice(len(self.base), wanted, replace=False)
        index.train(self._coded(self.base[np.sort(sample)]))
        return index

    def _coded(self, vectors: np.ndarray) -> np.ndarray:
        """As the index takes them: zeros make the dimensions a multiple of `sub`, angles need vectors of length 1."""
        return np.pad(prepared(vectors, self.metric), ((0, 0), (0, self.padded - self.dim)))
