"""chroma-hnswlib: Chroma's hnswlib, one graph over all rows, as float32."""

from __future__ import annotations

import hnswlib
import numpy as np

from ann_bench import Algorithm

BLOCK = 1 << 16  # rows that are cast to float32 at once, on their way into hnswlib
SPACES = {"euclidean": "l2", "ip": "ip", "angular": "cosine"}


class ChromaHnswlib(Algorithm):
    """A graph of `degree` links a row (twice as many on the ground level), searched with width `ef`."""

    def fit(self, base: np.ndarray, tags: None = None, learn: np.ndarray | None = None) -> None:
        """Add block by block."""
        self.rows = len(base)
        self.index = hnswlib.Index(SPACES[self.metric], self.dim)
        build = {"M": self.build["degree"], "ef_construction": self.build["ef_construction"]}
        self.index.init_index(max_elements=len(base), random_seed=self.build.get("seed", 1), **build)
        for start in range(0, len(base), BLOCK):
            block = np.asarray(base[start : start + BLOCK], np.float32)
            self.index.add_items(block, np.arange(start, start + len(block)), num_threads=self.threads)

    def set_query_arguments(self, ef: int) -> None:
        """See the class."""
        self.ef = ef

    def query(self, queries: np.ndarray, k: int, tags: None = None) -> np.ndarray:
        """One call of hnswlib for the whole batch."""
        answers = np.full((len(queries), k), -1, np.int64)
        wanted = min(k, self.rows)
        self.index.set_ef(max(self.ef, wanted))
        found = self._nearest(np.asarray(queries, np.float32), wanted)
        answers[:, : found.shape[1]] = found
        return answers

    def _nearest(self, queries: np.ndarray, wanted: int) -> np.ndarray:
        """The nearest rows, -1 where the graph does not lead to so many.

        hnswlib raises then: each half of the batch is tried by itself, at last each query with half as many rows.
        """
        if not len(queries) or not wanted:
            return np.empty((len(queries), wanted), np.int64)
        try:
            return self.index.knn_query(queries, wanted, num_threads=self.threads)[0].astype(np.int64)
        except RuntimeError:
            if len(queries) > 1:
                halves = np.array_split(queries, 2)
                return np.concatenate([self._nearest(half, wanted) for half in halves])
            fewer = self._nearest(queries, wanted // 2)
            return np.pad(fewer, ((0, 0), (0, wanted - fewer.shape[1])), constant_values=-1)
