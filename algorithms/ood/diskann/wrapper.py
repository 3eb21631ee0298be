"""DiskANN: the Vamana graph in memory, from diskannpy."""

from __future__ import annotations

import tempfile

import diskannpy
import numpy as np

from ann_bench import Algorithm

BLOCK = 1 << 16  # rows that are cast to float32 at once
FEW = 128  # up to so many rows are all compared: diskannpy refuses what is smaller than its width


class DiskANN(Algorithm):
    """A graph of up to `degree` links a row, built with width `width` and pruned with `alpha`, searched with `complexity`.

    The graph is one of euclidean distances. The largest inner products are the nearest rows in a space of one more
    dimension, in which all rows are equally long (Bachrach et al., RecSys 2014), the angle that of rows of length 1.
    """

    def fit(self, base: np.ndarray, tags: None = None, learn: np.ndarray | None = None) -> None:
        """Write the index into a folder that is gone once it is read."""
        self.base = np.asarray(base)
        rows = self._rows()
        if len(base) <= FEW:
            self.index, self.rows = None, rows
            return
        with tempfile.TemporaryDirectory() as folder:
            width, degree, alpha = (self.build[name] for name in ("width", "degree", "alpha"))
            diskannpy.build_memory_index(rows, "l2", folder, width, degree, self.threads, alpha, False, 0, False)
            self.index = diskannpy.StaticMemoryIndex(folder, self.threads, width)

    def set_query_arguments(self, complexity: int) -> None:
        """See the class."""
        self.complexity = complexity

    def query(self, queries: np.ndarray, k: int, tags: None = None) -> np.ndarray:
        """One call of diskannpy for the whole batch."""
        answers = np.full((len(queries), k), -1, np.int64)
        if not len(queries):
            return answers
        vectors, wanted = self._queries(queries), min(k, len(self.base))
        if self.index is None:
            far = ((vectors[:, None].astype(np.float64) - self.rows) ** 2).sum(axis=2)
            answers[:, :wanted] = far.argsort(axis=1, kind="stable")[:, :wanted]
        else:
            width = max(self.complexity, wanted)
            found = self.index.batch_search(vectors, wanted, width, self.threads).identifiers.astype(np.int64)
            answers[:, :wanted] = found
        return answers

    def _rows(self) -> np.ndarray:
        """What the graph is made of: the rows themselves, or float32 with the metric turned into distances."""
        if self.metric == "euclidean" and self.dtype != "float16":
            return np.ascontiguousarray(self.base)
        if self.metric != "ip":
            return self._queries(self.base)
        rows = np.zeros((len(self.base), self.dim + 1), np.float32)
        for start in range(0, len(rows), BLOCK):
            rows[start : start + BLOCK, :-1] = self.base[start : start + BLOCK]
        squares = np.einsum("ij,ij->i", rows, rows)
        rows[:, -1] = np.sqrt(squares.max() - squares)
        return rows

    def _queries(self, vectors: np.ndarray) -> np.ndarray:
        if self.metric == "euclidean" and self.dtype != "float16":
            return np.ascontiguousarray(vectors)
        vectors = np.asarray(vectors, np.float32)
        if self.metric == "ip":
            return np.pad(vectors, ((0, 0), (0, 1)))
        if self.metric == "angular":
            return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return vectors
