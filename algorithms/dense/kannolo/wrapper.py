"""kANNolo: one HNSW graph over all rows, as 16-bit floats."""

from __future__ import annotations

import os

import numpy as np
from kannolo import DenseFlatIndex, DensePlainHNSW

from ann_bench import Algorithm
from ann_bench.vectors import prepared

FEW = 1000  # up to so many rows are all compared: of a single one kannolo makes no graph


class Kannolo(Algorithm):
    """A graph of `degree` links a row, built with width `ef_construction` and searched with width `ef`."""

    def fit(self, base: np.ndarray, tags: None = None, learn: np.ndarray | None = None) -> None:
        """One call of kannolo, which copies the rows."""
        os.environ["RAYON_NUM_THREADS"] = str(self.threads)  # kannolo builds with as many; read at its first call
        self.rows = len(base)
        rows, metric = self._floats(base).ravel(), "euclidean" if self.metric == "euclidean" else "dotproduct"
        if self.rows <= FEW:
            self.index = DenseFlatIndex.build_from_array(rows, self.dim, metric=metric)
        else:
            build = {"m": self.build["degree"], "ef_construction": self.build["ef_construction"]}
            self.index = DensePlainHNSW.build_from_array(rows, self.dim, metric=metric, **build)

    def set_query_arguments(self, ef: int) -> None:
        """See the class."""
        self.ef = ef

    def query(self, queries: np.ndarray, k: int, tags: None = None) -> np.ndarray:
        """One call of kannolo for the whole batch."""
        answers = np.full((len(queries), k), -1, np.int64)
        if len(queries):
            wanted = min(k, self.rows)
            width = {} if self.rows <= FEW else {"ef_search": max(self.ef, wanted)}
            found = self.index.batch_search(self._floats(queries).ravel(), wanted, num_threads=self.threads, **width)
            answers[:, :wanted] = found[1].reshape(-1, wanted)
        return answers

    def _floats(self, vectors: np.ndarray) -> np.ndarray:
        return prepared(vectors, self.metric)
