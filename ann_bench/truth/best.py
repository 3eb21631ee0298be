"""The k nearest points of every query so far."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.integer[Any]]


class Best:
    """For each of `count` queries the `k` nearest points that were offered, nearest first, ties to the smaller.

    `distances` (count, k) float64, infinite where fewer were offered; `points` (count, k) int32, -1 there.
    """

    def __init__(self, count: int, k: int) -> None:
        self.distances = np.full((count, k), np.inf)
        self.points = np.full((count, k), -1, dtype=np.int32)
        self._k = k

    def kth(self, queries: Ints) -> npt.NDArray[np.float64]:
        """The k-th distance of each of these queries: what a new point must beat."""
        return np.asarray(self.distances[queries, self._k - 1])

    def insert(self, queries: Ints, points: Ints, distances: npt.NDArray[np.float64]) -> None:
        """The same as `offer` by a compiled loop, which takes a while to load."""
        from ann_bench.truth import dense_kernels

        dense_kernels.insert((self.points, self.distances), queries, points, distances)

    def offer(self, queries: Ints, points: Ints, distances: npt.NDArray[np.float64]) -> None:
        """Offer points to queries: three arrays of equal length.

        The points of one query must come in ascending order, and after all that it was offered before.
        """
        if not len(queries):
            return
        touched = np.unique(queries)
        if (self.points[touched, 0] >= 0).any():
            old = np.repeat(touched, self._k)
            queries = np.concatenate((old, queries))
            points = np.concatenate((self.points[touched].ravel(), points))
            distances = np.concatenate((self.distances[touched].ravel(), distances))
        order = np.lexsort((distances, queries))  # stable: equal distances stay in ascending order of points
        queries = queries[order]
        first = np.empty(len(queries), dtype=bool)
        first[0] = True
        np.not_equal(queries[1:], queries[:-1], out=first[1:])
        starts = np.flatnonzero(first)
        rank = np.arange(len(queries)) - np.repeat(starts, np.diff(np.append(starts, len(queries))))
        keep = rank < self._k
        queries, rank, order = queries[keep], rank[keep], order[keep]
        self.points[queries, rank] = points[order]
        self.distances[queries, rank] = distances[order]
