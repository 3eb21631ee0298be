"""DiskANN: the Vamana graph in memory, from diskannpy."""

from __future__ import annotations

import tempfile

import diskannpy
import numpy as np

from ann_bench import Algorithm

FEW = 128  # up to so many rows are all compared: diskannpy refuses what is smaller than its width
TINY = np.finfo(np.float32).tiny
METRICS = {"euclidean": "l2", "ip": "mips", "angular": "l2"}


class DiskANN(Algorithm):
    """A graph of up to `degree` links a row, built with `width` and pruned with `alpha`, searched with `complexity`."""

    def fit(self, base: np.ndarray, tags: None = None, learn: np.ndarray | None = None) -> None:
        """Write the index into a folder that is gone once it is read."""
        self.count = len(base)
        rows = self._vectors(base)
        if len(base) <= FEW:
            self.index, self.rows = None, rows
            return
        with tempfile.TemporaryDirectory() as folder:
            width, degree, alpha = (self.build[name] for name in ("width", "degree", "alpha"))
            diskannpy.build_memory_index(
                rows, METRICS[self.metric], folder, width, degree, self.threads, alpha, False, 0, False
            )
            self.index = diskannpy.StaticMemoryIndex(folder, self.threads, width)

    def set_query_arguments(self, complexity: int) -> None:
        """See the class."""
        self.complexity = complexity

    def query(self, queries: np.ndarray, k: int, tags: None = None) -> np.ndarray:
        """One call of diskannpy for the whole batch."""
        answers = np.full((len(queries), k), -1, np.int64)
        if not len(queries):
            return answers
        vectors, wanted = self._vectors(queries), min(k, self.count)
        if self.index is None:
            left, right = vectors[:, None].astype(np.float64), self.rows.astype(np.float64)
            far = -(left * right).sum(axis=2) if self.metric == "ip" else ((left - right) ** 2).sum(axis=2)
            answers[:, :wanted] = far.argsort(axis=1, kind="stable")[:, :wanted]
        else:
            width = max(self.complexity, wanted)
            found = self.index.batch_search(vectors, wanted, width, self.threads).identifiers.astype(np.int64)
            answers[:, :wanted] = found
            # Where the graph leads to fewer rows, diskannpy leaves what was in memory in the rest of the line.
            ordered = np.sort(found, axis=1)
            repeated = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
            for line in np.flatnonzero(repeated | (ordered[:, -1] >= self.count)):
                kept = [row for row in dict.fromkeys(found[line].tolist()) if row < self.count]
                answers[line] = -1
                answers[line, : len(kept)] = kept
        return answers

    def _vectors(self, vectors: np.ndarray) -> np.ndarray:
        """As diskannpy takes them: bytes only for distances; the angle is the distance of vectors of length 1."""
        if self.metric == "euclidean" and self.dtype != "float16":
            return np.ascontiguousarray(vectors)
        vectors = np.ascontiguousarray(vectors, np.float32)
        if self.metric == "angular":
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), TINY)
        return vectors
