"""hnswlib with post-filtering: ask for more neighbours than needed, keep those that match, ask for more still."""

from __future__ import annotations

import hnswlib
import numpy as np
from held import Held, keep, tag_sets
from scipy.sparse import csr_matrix

from ann_bench import Algorithm

BLOCK = 1 << 16  # rows that are cast to float32 at once, on their way into hnswlib
SPACES = {"euclidean": "l2", "ip": "ip", "angular": "cosine"}


class Hnswlib(Algorithm):
    """Looks at k' neighbours without a filter; k' doubles for the queries that k matches were not found for.

    k' begins at `factor` x k / (share of the rows that hold the query's rarest tag) and ends at `cap`. Queries
    that end short of k answers stay so, unless `scan` has all their matching rows compared.
    """

    def fit(self, base: np.ndarray, tags: csr_matrix | None = None, learn: np.ndarray | None = None) -> None:
        """Add block by block; note the rows of each tag."""
        self.base = np.asarray(base)
        self.index = hnswlib.Index(SPACES[self.metric], self.dim)
        build = {"M": self.build["degree"], "ef_construction": self.build["ef_construction"]}
        self.index.init_index(max_elements=len(base), random_seed=self.build.get("seed", 1), **build)
        for start in range(0, len(base), BLOCK):
            block = self.base[start : start + BLOCK].astype(np.float32)
            self.index.add_items(block, np.arange(start, start + len(block)), num_threads=self.threads)
        self.held = Held(tags, self.base, self.metric)

    def set_query_arguments(self, factor: float, cap: int, scan: bool) -> None:
        """See the class."""
        self.factor, self.cap, self.scan = factor, cap, scan

    def query(self, queries: np.ndarray, k: int, tags: csr_matrix | None = None) -> np.ndarray:
        """In each round, one call of hnswlib for all the queries with the smallest k' that is left."""
        queries = np.asarray(queries, np.float32)
        wanted = tag_sets(tags, len(queries))
        answers = np.full((len(queries), k), -1, np.int64)
        most = min(max(self.cap, k), len(self.base))
        matches = np.array([self.held.at_most(tag_set) for tag_set in wanted])
        widths = k * 2 ** np.ceil(np.log2(np.maximum(self.factor * len(self.base) / np.maximum(matches, 1), 1)))
        # A query that would begin beyond the cap can hardly be answered below it.
        waiting = (matches > 0) & ((widths <= most) | (not self.scan))
        widths = np.minimum(widths, most).astype(np.int64)
        while waiting.any():
            width = int(widths[waiting].min())
            now = np.flatnonzero(waiting & (widths == width))
            ids = self._nearest(queries[now], width)
            found = keep(ids, self.held.holds(ids, [wanted[query] for query in now]), answers, now)
            done = (found >= np.minimum(k, matches[now])) | (width == most)
            waiting[now[done]] = False
            widths[now[~done]] = min(2 * width, most)
        if self.scan:
            for query in np.flatnonzero((answers[:, -1] < 0) & (matches > 0)):
                best = self.held.nearest(queries[query], wanted[query], k)
                answers[query, : len(best)] = best
        return answers

    def _nearest(self, queries: np.ndarray, width: int) -> np.ndarray:
        """The ids of the nearest rows without a filter; -1 where the graph does not lead to that many."""
        self.index.set_ef(width)
        try:
            return self.index.knn_query(queries, width, num_threads=self.threads)[0].astype(np.int64)
        except RuntimeError:  # one query of the batch found fewer rows than asked for
            fewer = self._nearest(queries, width // 2)
            return np.pad(fewer, ((0, 0), (0, width - fewer.shape[1])), constant_values=-1)
