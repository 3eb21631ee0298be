"""faiss HNSW: one graph over all rows."""

from __future__ import annotations

from pathlib import Path

import faiss
import numpy as np

from ann_bench import Algorithm
from ann_bench.vectors import prepared

BLOCK = 1 << 16  # rows that are cast to float32 at once, on their way into faiss
STORED = {
    "uint8": faiss.ScalarQuantizer.QT_8bit_direct,
    "int8": faiss.ScalarQuantizer.QT_8bit_direct_signed,
    "float16": faiss.ScalarQuantizer.QT_fp16,
}


class FaissHNSW(Algorithm):
    """A graph of `degree` links a row, built with width `ef_construction` and searched with width `ef`."""

    def fit(self, base: np.ndarray, tags: None = None, learn: np.ndarray | None = None) -> None:
        """Add block by block."""
        faiss.omp_set_num_threads(self.threads)
        self.index = self._empty_index(self.build["degree"])
        self.index.hnsw.rng = faiss.RandomGenerator(self.build.get("seed", 1))  # of the levels
        self.index.hnsw.efConstruction = self.build["ef_construction"]
        for start in range(0, len(base), BLOCK):
            self.index.add(self._floats(base[start : start + BLOCK]))

    def set_query_arguments(self, ef: int) -> None:
        """See the class."""
        self.index.hnsw.efSearch = ef

    def query(self, queries: np.ndarray, k: int, tags: None = None) -> np.ndarray:
        """One call of faiss for the whole batch; it widens the walk to k where `ef` is less."""
        return self.index.search(self._floats(queries), k)[1]

    def range_query(self, queries: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """All rows within the radius that the walk meets."""
        # Where faiss (1.15.1) can be interrupted it serves a large batch in parts, and ends the process at the second.
        faiss.InterruptCallback.clear_instance()
        bound = 1 - radius if self.metric == "angular" else radius
        offsets, _, ids = self.index.range_search(self._floats(queries), bound)
        return offsets.astype(np.int64), ids

    def save(self, folder: Path) -> None:
        """One file."""
        faiss.write_index(self.index, str(folder / "index"))

    def load(self, folder: Path) -> bool:
        """What `save` wrote."""
        faiss.omp_set_num_threads(self.threads)
        self.index = faiss.read_index(str(folder / "index"))
        return True

    def _empty_index(self, degree: int) -> faiss.IndexHNSW:
        metric = faiss.METRIC_L2 if self.metric == "euclidean" else faiss.METRIC_INNER_PRODUCT
        if self.dtype not in STORED or self.metric == "angular":
            return faiss.IndexHNSWFlat(self.dim, degree, metric)
        index = faiss.IndexHNSWSQ(self.dim, STORED[self.dtype], degree, metric)
        index.is_trained = True  # rows are stored as they are: there is nothing to learn
        return index

    def _floats(self, vectors: np.ndarray) -> np.ndarray:
        return prepared(vectors, self.metric)
