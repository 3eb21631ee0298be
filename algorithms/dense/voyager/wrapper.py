"""Voyager: one HNSW graph over all rows, as float32."""

from __future__ import annotations

import numpy as np
import voyager

from ann_bench import Algorithm

BLOCK = 1 << 16  # rows that are cast to float32 at once, on their way into voyager
SPACES = {
    "euclidean": voyager.Space.Euclidean,
    "ip": voyager.Space.InnerProduct,
    "angular": voyager.Space.Cosine,
}


class Voyager(Algorithm):
    """A graph of `degree` links a row, built with width `ef_construction` and searched with width `ef`."""

    def fit(self, base: np.ndarray, tags: None = None, learn: np.ndarray | None = None) -> None:
        """Add block by block."""
        self.rows = len(base)
        build = {"M": self.build["degree"], "ef_construction": self.build["ef_construction"]}
        self.index = voyager.Index(
            SPACES[self.metric], self.dim, random_seed=self.build.get("seed", 1), max_elements=len(base), **build
        )
        for start in range(0, len(base), BLOCK):
            block = np.require(base[start : start + BLOCK], np.float32, ["C", "W"])  # it takes none to read only
            self.index.add_items(block, range(start, start + len(block)), num_threads=self.threads)

    def set_query_arguments(self, ef: int) -> None:
        """See the class."""
        self.ef = ef

    def query(self, queries: np.ndarray, k: int, tags: None = None) -> np.ndarray:
        """One call of voyager for the whole batch."""
        answers = np.full((len(queries), k), -1, np.int64)
        found = self._nearest(np.require(queries, np.float32, ["C", "W"]), min(k, self.rows))
        answers[:, : found.shape[1]] = found
        return answers

    def _nearest(self, queries: np.ndarray, wanted: int) -> np.ndarray:
        """The nearest rows, -1 where the graph does not lead to so many.

        voyager raises then: each half of the batch is tried by itself, at last each query with half as many rows.
        """
        if not len(queries) or not wanted:
            return np.empty((len(queries), wanted), np.int64)
        try:
            found = self.index.query(queries, wanted, num_threads=self.threads, query_ef=max(self.ef, wanted))
            return found[0].astype(np.int64)
        except voyager.RecallError:
            if len(queries) > 1:
                halves = np.array_split(queries, 2)
                return np.concatenate([self._nearest(half, wanted) for half in halves])
            fewer = self._nearest(queries, wanted // 2)
            return np.pad(fewer, ((0, 0), (0, wanted - fewer.shape[1])), constant_values=-1)
