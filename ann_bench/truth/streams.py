"""The exact answers to many searches over a changing set of points, one group of points after the other.

Points that live through the same searches are scanned together, once, for the `k` nearest among them to each query.
What a search asks for is then the merge of the lists of those groups that live at its time (see `timeline.py`). A
group touches only the queries for which it has a point nearer than the k-th so far, which at depth are few.

It serves whatever `exact` does: tags, sparse rows, float64. Many dense queries have a faster way (`shortlist.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ann_bench.truth.lives import Lifetime
from ann_bench.truth.timeline import walk

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
    nodes = walk(groups, searches)
    last = {number: place for place, node in enumerate(nodes) for number in node.joining.tolist()}
    held, found = [empty], dict[int, Tops]()
    for place, node in enumerate(nodes):
        joining = node.joining.tolist()
        for number in joining:
            if number not in found:
                found[number] = find(groups[number])
        del held[node.level :]
        held.append(merged(held[-1], [found[number] for number in joining]))
        for number in joining:
            if last[number] == place:
                del found[number]
        if node.leaf:
            yield held[-1]


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
