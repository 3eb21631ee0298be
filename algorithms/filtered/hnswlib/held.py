"""Which rows hold which tags: asked of many candidates at once, and of all rows."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from ann_bench.vectors import TINY


class Held:
    """The tags of the rows of `base`, as one sorted array of (tag, row) numbers: a binary search finds a pair."""

    def __init__(self, tags: csr_matrix | None, base: np.ndarray, metric: str) -> None:
        self.base, self.metric = base, metric
        tags = csr_matrix((len(base), 0)) if tags is None else tags
        by_tag = csr_matrix((np.ones(tags.nnz, np.int8), tags.indices, tags.indptr), tags.shape).tocsc()
        by_tag.sum_duplicates()
        self.starts = by_tag.indptr.astype(np.int64)
        self.pairs = np.repeat(np.arange(tags.shape[1], dtype=np.int64), np.diff(self.starts))
        self.pairs *= len(base)
        self.pairs += by_tag.indices

    def at_most(self, wanted: tuple[int, ...]) -> int:
        """How many rows hold the rarest of these tags; all, where there are none."""
        return min(map(self._count, wanted), default=len(self.base))

    def holds(self, ids: np.ndarray, wanted: list[tuple[int, ...]]) -> np.ndarray:
        """Which ids of each line hold all the tags that are wanted in that line."""
        hold = ids >= 0
        for place in range(max(map(len, wanted))):
            lines = np.array([line for line, tag_set in enumerate(wanted) if len(tag_set) > place])
            tag = np.array([wanted[line][place] for line in lines], np.int64)
            pairs = tag[:, None] * len(self.base) + ids[lines]
            hold[lines] &= self.pairs.take(np.searchsorted(self.pairs, pairs), mode="clip") == pairs
        return hold

    def nearest(self, query: np.ndarray, wanted: tuple[int, ...], k: int) -> np.ndarray:
        """The k nearest of all rows that hold these tags, all of which are compared."""
        rarest = min(wanted, key=self._count, default=None)
        if rarest is None:
            rows = np.arange(len(self.base))
        else:
            rows = self.pairs[self.starts[rarest] : self.starts[rarest + 1]] - rarest * len(self.base)
        rows = rows[self.holds(rows[None], [wanted])[0]]
        vectors = self.base.take(rows, axis=0).astype(np.float32)
        if self.metric == "euclidean":
            vectors -= query
            distances = np.einsum("ij,ij->i", vectors, vectors)
        else:
            lengths = np.linalg.norm(vectors, axis=1) if self.metric == "angular" else np.float32(1)
            distances = -(vectors @ query) / np.maximum(lengths, TINY)
        return rows[distances.argsort(kind="stable")[:k]]

    def _count(self, tag: int) -> int:
        return self.starts[tag + 1] - self.starts[tag]


def tag_sets(tags: csr_matrix | None, count: int) -> list[tuple[int, ...]]:
    """The tags that each query asks for."""
    if tags is None:
        return [()] * count
    ends, flat = tags.indptr.tolist(), tags.indices.tolist()
    return [tuple(set(flat[ends[query] : ends[query + 1]])) for query in range(count)]


def keep(ids: np.ndarray, hold: np.ndarray, answers: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Write the first ids of each line that hold into the answers of these queries; how many there were."""
    rank = hold.cumsum(axis=1)
    line, place = np.nonzero(hold & (rank <= answers.shape[1]))
    answers[queries] = -1
    answers[queries[line], rank[line, place] - 1] = ids[line, place]
    return rank[:, -1]
