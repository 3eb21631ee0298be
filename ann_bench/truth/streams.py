"""The exact answers to many searches over a changing set of points, each distance computed once.

Points that live through the same searches are scanned together, once, for the `k` nearest among them to each query.
What a search asks for is then the merge of the lists of those groups that live at its time. The merges go down a
binary tree of times: a group joins at the few nodes whose whole span it lives through, and what a node holds is
shared by all searches below it. (This is offline divide and conquer over time with a segment tree.) A group
touches only the queries for which it has a point nearer than the k-th so far, which at depth are few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ann_bench.truth.lives import Lifetime

_CANDIDATES = 1 << 19  # candidates of all queries that are sorted at once


@dataclass(frozen=True)
class Tops:
    """For each query the nearest points, nearest first, ties to the smaller id.

    `ids` (queries, k) int32, -1 where there are fewer; `distances` (queries, k) float64, infinite there.
    """

    ids: npt.NDArray[np.int32]
    distances: npt.NDArray[np.float64]

    @staticmethod
    def empty(queries: int, k: int) -> Tops:
        """No point for any query."""
        return Tops(np.full((queries, k), -1, dtype=np.int32), np.full((queries, k), np.inf))


Find: TypeAlias = Callable[[Lifetime], Tops]


def answers(groups: Sequence[Lifetime], searches: int, find: Find, empty: Tops) -> Iterator[Tops]:
    """The answers to each of so many searches, in order of time.

    `find` gives the nearest points of one group; it is called once for each, when the first search needs it, and its
    lists are dropped after the last that does. `empty` has the shape of every answer.
    """
    return _Walk(find).down(0, searches, groups, empty)


class _Walk:
    """One way down the tree and back, from the first search to the last."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._found: dict[int, Tops] = {}

    def down(self, first: int, last: int, groups: Sequence[Lifetime], above: Tops) -> Iterator[Tops]:
        """The answers to the searches `first` to `last`; `groups` live at some of them, `above` holds the others."""
        if first == last:
            return
        through = [group for group in groups if group.birth <= first and group.death >= last]
        parts = [self._tops(group) for group in through]
        here = merged(above, parts)
        del parts
        for group in through:
            if group.death == last:
                self._found.pop(id(group), None)
        if last - first == 1:
            yield here
            return
        rest = [group for group in groups if group.birth > first or group.death < last]
        middle = (first + last) // 2
        for start, stop in ((first, middle), (middle, last)):
            yield from self.down(start, stop, [g for g in rest if g.birth < stop and g.death > start], here)

    def _tops(self, group: Lifetime) -> Tops:
        if id(group) not in self._found:
            self._found[id(group)] = self._find(group)
        return self._found[id(group)]


def merged(tops: Tops, others: Sequence[Tops]) -> Tops:
    """The nearest points of all lists together; the points of different lists must differ."""
    result: Tops | None = None
    waiting: list[_Candidates] = []
    count = 0
    for other in others:
        found = _nearer(result or tops, other)
        if not len(found.queries):
            continue
        waiting.append(found)
        count += len(found.queries)
        if count >= _CANDIDATES:
            result = _with(result or tops, waiting)
            waiting, count = [], 0
    if waiting:
        result = _with(result or tops, waiting)
    return result or tops


@dataclass(frozen=True)
class _Candidates:
    """Points offered to queries: three arrays of equal length."""

    queries: npt.NDArray[np.int64]
    ids: npt.NDArray[np.int32]
    distances: npt.NDArray[np.float64]


def _nearer(tops: Tops, other: Tops) -> _Candidates:
    """The points of another list that come before the k-th of this one."""
    last, last_id = tops.distances[:, -1], tops.ids[:, -1]
    near = other.distances[:, 0]
    touched = np.flatnonzero((near <= last) & (near < np.inf))
    ids, distances = other.ids[touched], other.distances[touched]
    last, last_id = last[touched, None], last_id[touched, None]
    row, column = np.nonzero((distances < last) | ((distances == last) & (ids < last_id) & (ids >= 0)))
    return _Candidates(touched[row], ids[row, column], distances[row, column])


def _with(tops: Tops, offered: Sequence[_Candidates]) -> Tops:
    """A new list with these candidates merged in."""
    k = tops.ids.shape[1]
    queries = np.concatenate([one.queries for one in offered])
    touched = np.unique(queries)
    place = np.searchsorted(touched, queries)
    queries = np.concatenate([np.repeat(np.arange(len(touched)), k), place])
    ids = np.concatenate([tops.ids[touched].ravel(), *(one.ids for one in offered)])
    distances = np.concatenate([tops.distances[touched].ravel(), *(one.distances for one in offered)])
    order = np.lexsort((ids, distances, queries))  # empty places come last: nothing else is infinitely far
    counts = np.bincount(queries, minlength=len(touched))
    starts = np.cumsum(counts) - counts
    best = order[starts[:, None] + np.arange(k)]
    result = Tops(tops.ids.copy(), tops.distances.copy())
    result.ids[touched], result.distances[touched] = ids[best], distances[best]
    return result
