"""faiss IVF: inverted lists of the rows as they are, of which the nearest few are searched."""

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


class FaissIVF(Algorithm):
    """`nlist` inverted lists (None: twice the square root of the rows), of which `nprobe` are searched."""

    def fit(self, base: np.ndarray, tags: None = None, learn: np.ndarray | None = None) -> None:
        """Train on a sample, add block by block."""
        faiss.omp_set_num_threads(self.threads)
        wanted = self.build["nlist"] or 2 * round(len(base) ** 0.5)
        nlist = max(1, min(wanted, len(base) // 39))  # faiss wants 39 rows a list to learn from
        self.index = self._empty_index(nlist)
        self.index.cp.seed = self.build.get("seed", 1)
        sample = np.random.default_rng(self.index.cp.seed).choice(len(base), min(len(base), 50 * nlist), replace=False)
        self.index.train(self._floats(base[np.sort(sample)]))
        for start in range(0, len(base), BLOCK):
            self.index.add(self._floats(base[start : start + BLOCK]))

    def set_query_arguments(self, nprobe: int) -> None:
        """See the class."""
        self.index.nprobe = min(nprobe, self.index.nlist)

    def query(self, queries: np.ndarray, k: int, tags: None = None) -> np.ndarray:
        """One call of faiss for the whole batch."""
        return self.index.search(self._floats(queries), k)[1]

    def range_query(self, queries: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """All rows within the radius in the lists searched."""
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

    def _empty_index(self, nlist: int) -> faiss.IndexIVF:
        euclidean = self.metric == "euclidean"
        metric = faiss.METRIC_L2 if euclidean else faiss.METRIC_INNER_PRODUCT
        quantizer = faiss.IndexFlat(self.dim, metric)
        if self.dtype in STORED and self.metric != "angular":
            index = faiss.IndexIVFScalarQuantizer(quantizer, self.dim, nlist, STORED[self.dtype], metric, False)
        else:
            index = faiss.IndexIVFFlat(quantizer, self.dim, nlist, metric)
        index.cp.spherical = not euclidean  # or long centroids would draw everything to themselves
        return index

    def _floats(self, vectors: np.ndarray) -> np.ndarray:
        return prepared(vectors, self.metric)
