"""hnswlib with post-filtering: ask for more neighbours than needed, keep those that match, ask for more still."""

from __future__ import annotations

import hnswlib
import numpy as np
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
        self.index.init_index(max_elements=len(base), random_seed=1, **build)
        for start in range(0, len(base), BLOCK):
            block = self.base[start : start + BLOCK].astype(np.float32)
            self.index.add_items(block, np.arange(start, start + len(block)), num_threads=self.threads)
        tags = csr_matrix((len(base), 0)) if tags is None else tags
        by_tag = csr_matrix((np.ones(tags.nnz, np.int8), tags.indices, tags.indptr), tags.shape).tocsc()
        by_tag.sum_duplicates()
        self.starts = by_tag.indptr.astype(np.int64)
        # Every (tag, row) that is there, as one sorted number: a binary search tells whether a row holds a tag.
        self.pairs = np.repeat(np.arange(tags.shape[1], dtype=np.int64), np.diff(self.starts))
        self.pairs *= len(base)
        self.pairs += by_tag.indices

    def set_query_arguments(self, factor: float, cap: int, scan: bool) -> None:
        """See the class."""
        self.factor, self.cap, self.scan = factor, cap, scan

    def query(self, queries: np.ndarray, k: int, tags: csr_matrix | None = None) -> np.ndarray:
        """In each round, one call of hnswlib for all the queries with the smallest k' that is left."""
        queries = np.asarray(queries, np.float32)
        wanted = _tag_sets(tags, len(queries))
        answers = np.full((len(queries), k), -1, np.int64)
        most = min(max(self.cap, k), len(self.base))
        matches = np.array([min(map(self._count, tag_set), default=len(self.base)) for tag_set in wanted])
        widths = k * 2 ** np.ceil(np.log2(np.maximum(self.factor * len(self.base) / np.maximum(matches, 1), 1)))
        # A query that would begin beyond the cap can hardly be answered below it.
        waiting = (matches > 0) & ((widths <= most) | (not self.scan))
        widths = np.minimum(widths, most).astype(np.int64)
        while waiting.any():
            width = int(widths[waiting].min())
            now = np.flatnonzero(waiting & (widths == width))
            ids = self._nearest(queries[now], width)
            found = _keep(ids, self._hold(ids, [wanted[query] for query in now]), answers, now)
            done = (found >= np.minimum(k, matches[now])) | (width == most)
            waiting[now[done]] = False
            widths[now[~done]] = min(2 * width, most)
        if self.scan:
            for query in np.flatnonzero((answers[:, -1] < 0) & (matches > 0)):
                best = self._compare_all(queries[query], wanted[query])[:k]
                answers[query, : len(best)] = best
        return answers

    def _count(self, tag: int) -> int:
        return self.starts[tag + 1] - self.starts[tag]

    def _nearest(self, queries: np.ndarray, width: int) -> np.ndarray:
        """The ids of the nearest rows without a filter; -1 where the graph does not lead to that many."""
        self.index.set_ef(width)
        try:
            return self.index.knn_query(queries, width, num_threads=self.threads)[0].astype(np.int64)
        except RuntimeError:  # one query of the batch found fewer rows than asked for
            fewer = self._nearest(queries, width // 2)
            return np.pad(fewer, ((0, 0), (0, width - fewer.shape[1])), constant_values=-1)

    def _hold(self, ids: np.ndarray, wanted: list[tuple[int, ...]]) -> np.ndarray:
        """Which ids of each line hold all the tags that are wanted in that line."""
        hold = ids >= 0
        for place in range(max(map(len, wanted))):
            lines = np.array([line for line, tag_set in enumerate(wanted) if len(tag_set) > place])
            tag = np.array([wanted[line][place] for line in lines], np.int64)
            pairs = tag[:, None] * len(self.base) + ids[lines]
            hold[lines] &= self.pairs.take(np.searchsorted(self.pairs, pairs), mode="clip") == pairs
        return hold

    def _compare_all(self, query: np.ndarray, wanted: tuple[int, ...]) -> np.ndarray:
        """All rows that hold these tags, nearest first."""
        rarest = min(wanted, key=self._count, default=None)
        if rarest is None:
            rows = np.arange(len(self.base))
        else:
            rows = self.pairs[self.starts[rarest] : self.starts[rarest + 1]] - rarest * len(self.base)
        rows = rows[self._hold(rows[None], [wanted])[0]]
        vectors = self.base.take(rows, axis=0).astype(np.float32)
        if self.metric == "euclidean":
            vectors -= query
            distances = np.einsum("ij,ij->i", vectors, vectors)
        else:
            lengths = np.linalg.norm(vectors, axis=1) if self.metric == "angular" else np.float32(1)
            distances = -(vectors @ query) / np.maximum(lengths, np.finfo(np.float32).tiny)
        return rows[distances.argsort(kind="stable")]


def _tag_sets(tags: csr_matrix | None, count: int) -> list[tuple[int, ...]]:
    """The tags that each query asks for."""
    if tags is None:
        return [()] * count
    ends, flat = tags.indptr.tolist(), tags.indices.tolist()
    return [tuple(set(flat[ends[query] : ends[query + 1]])) for query in range(count)]


def _keep(ids: np.ndarray, hold: np.ndarray, answers: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Write the first ids of each line that hold into the answers of these queries; how many there were."""
    rank = hold.cumsum(axis=1)
    line, place = np.nonzero(hold & (rank <= answers.shape[1]))
    answers[queries] = -1
    answers[queries[line], rank[line, place] - 1] = ids[line, place]
    return rank[:, -1]
