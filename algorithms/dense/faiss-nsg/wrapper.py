"""faiss NSG: one flat graph over all rows, pruned so that walks towards a row are monotone."""

from __future__ import annotations

import faiss
import numpy as np

from ann_bench import Algorithm
from ann_bench.vectors import prepared

FEW = 300  # up to so many rows are all compared: too few for a graph of nearest neighbours
EXACT = 100_000  # up to so many rows their nearest neighbours are found by comparing all, beyond by descent
STORED = {
    "uint8": faiss.ScalarQuantizer.QT_8bit_direct,
    "int8": faiss.ScalarQuantizer.QT_8bit_direct_signed,
    "float16": faiss.ScalarQuantizer.QT_fp16,
}


class FaissNSG(Algorithm):
    """A graph of up to `degree` links a row, made of the `neighbors` nearest of each, searched with `width`."""

    def fit(self, base: np.ndarray, tags: None = None, learn: np.ndarray | None = None) -> None:
        """All distinct rows at once: faiss cannot add to the graph, and never ends where half of the rows are alike."""
        faiss.omp_set_num_threads(self.threads)
        metric = faiss.METRIC_L2 if self.metric == "euclidean" else faiss.METRIC_INNER_PRODUCT
        base = self._floats(base) if self.metric == "angular" else np.ascontiguousarray(base)
        rows = base.view(f"V{base.itemsize * self.dim}").ravel()
        _, first, of = np.unique(rows, return_index=True, return_inverse=True)
        self.rows = np.argsort(of, kind="stable")  # equal ones side by side
        self.counts = np.bincount(of, minlength=len(first))
        self.starts = np.cumsum(self.counts) - self.counts
        few, own = len(first) <= FEW, self.dtype in STORED and self.metric != "angular"
        if few:
            self.index = faiss.IndexFlat(self.dim, metric)
        elif own:
            self.index = faiss.IndexNSGSQ(self.dim, STORED[self.dtype], self.build["degree"], metric)
        else:
            self.index = faiss.IndexNSGFlat(self.dim, self.build["degree"], metric)
        if not few:
            self.index.is_trained = True
            self.index.build_type = int(len(first) > EXACT)
            self.index.GK = self.build["neighbors"]
        self.index.add(self._floats(base[first]))
        self.few = few

    def set_query_arguments(self, width: int) -> None:
        """See the class."""
        self.width = width

    def query(self, queries: np.ndarray, k: int, tags: None = None) -> np.ndarray:
        """One call of faiss for the whole batch; equal rows follow the one that was found."""
        if not self.few:
            self.index.nsg.search_L = max(self.width, k)
        found = self.index.search(self._floats(queries), k)[1]
        answers = np.where(found >= 0, self.rows[self.starts[found]], -1)
        for line in np.flatnonzero(((self.counts[found] > 1) & (found >= 0)).any(axis=1)):
            runs = [
                self.rows[self.starts[one] : self.starts[one] + self.counts[one]] for one in found[line] if one >= 0
            ]
            ids = np.concatenate(runs)[:k]
            answers[line, : len(ids)] = ids
        return answers

    def _floats(self, vectors: np.ndarray) -> np.ndarray:
        return prepared(vectors, self.metric)
