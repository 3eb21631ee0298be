"""faiss NSG: one flat graph over all rows, pruned so that walks towards a row are monotone."""

from __future__ import annotations

import faiss
import numpy as np

from ann_bench import Algorithm

FEW = 300  # up to so many rows are all compared: too few for a graph of nearest neighbours
EXACT = 100_000  # up to so many rows their nearest neighbours are found by comparing all, beyond by descent
TINY = np.finfo(np.float32).tiny
STORED = {
    "uint8": faiss.ScalarQuantizer.QT_8bit_direct,
    "int8": faiss.ScalarQuantizer.QT_8bit_direct_signed,
    "float16": faiss.ScalarQuantizer.QT_fp16,
}


class FaissNSG(Algorithm):
    """A graph of up to `degree` links a row, made of the `neighbors` nearest of each, searched with `width`."""

    def fit(self, base: np.ndarray, tags: None = None, learn: np.ndarray | None = None) -> None:
        """All rows at once: faiss cannot add to the graph."""
        faiss.omp_set_num_threads(self.threads)
        metric = faiss.METRIC_L2 if self.metric == "euclidean" else faiss.METRIC_INNER_PRODUCT
        few, own = len(base) <= FEW, self.dtype in STORED and self.metric != "angular"
        if few:
            self.index = faiss.IndexFlat(self.dim, metric)
        elif own:
            self.index = faiss.IndexNSGSQ(self.dim, STORED[self.dtype], self.build["degree"], metric)
        else:
            self.index = faiss.IndexNSGFlat(self.dim, self.build["degree"], metric)
        if not few:
            self.index.is_trained = True
            self.index.build_type = int(len(base) > EXACT)
            self.index.GK = self.build["neighbors"]
        self.index.add(self._floats(base))
        self.few = few

    def set_query_arguments(self, width: int) -> None:
        """See the class."""
        self.width = width

    def query(self, queries: np.ndarray, k: int, tags: None = None) -> np.ndarray:
        """One call of faiss for the whole batch."""
        if not self.few:
            self.index.nsg.search_L = max(self.width, k)
        return self.index.search(self._floats(queries), k)[1]

    def _floats(self, vectors: np.ndarray) -> np.ndarray:
        """As faiss takes them; the angle is the inner product of vectors of length 1."""
        vectors = np.ascontiguousarray(vectors, np.float32)
        if self.metric == "angular":
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), TINY)
        return vectors
