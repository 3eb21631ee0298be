"""Compiled loops of `sweep.py` and `shortlist.py`.

Lists are kept for each group and query: `keys` (groups, queries, length) the least scores, ascending, `NONE` of their
type where there are fewer, and `points` (of the same shape) whose they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ann_bench.compiled import compiled

Array = Any
STRIP = 32  # scores that one vectorised test covers


@compiled
def _place(keys: Array, items: Array, key: Any, item: int) -> None:
    """Put an item into an ascending list; the last one, which must have a larger key, leaves it."""
    at = len(keys) - 1
    while at > 0 and key < keys[at - 1]:
        keys[at] = keys[at - 1]
        items[at] = items[at - 1]
        at -= 1
    keys[at] = key
    items[at] = item


@compiled
def _any_below(scores: Array, start: int, stop: int, limit: Any) -> bool:
    """A function of its own, without writes, so that the compiler can use vector instructions."""
    hit = False
    for column in range(start, stop):
        hit |= scores[column] < limit
    return hit


@compiled
def select(scores: Array, pieces: Array, lists: tuple[Array, Array], first: int, point: int) -> None:
    """Offer a tile of scores (queries, columns) to the lists of the queries from `first` on.

    `pieces` (m, 3) int64: first and last column, and the group that they belong to; column 0 is `point`.
    """
    keys, points = lists
    last = keys.shape[2] - 1
    for row in range(scores.shape[0]):
        line = scores[row]
        query = first + row
        for piece in range(len(pieces)):
            group = pieces[piece, 2]
            own, ids = keys[group, query], points[group, query]
            for start in range(pieces[piece, 0], pieces[piece, 1], STRIP):
                stop = min(start + STRIP, pieces[piece, 1])
                if not _any_below(line, start, stop, own[last]):
                    continue
                for column in range(start, stop):
                    if line[column] < own[last]:
                        _place(own, ids, line[column], point + column)


@compiled
def join_scores(keys: Array, joining: Array, above: tuple[Array, Array], here: tuple[Array, Array]) -> None:
    """The list of a node, (queries, length) keys and places; a place is group * length + rank."""
    here[0][...] = above[0]
    here[1][...] = above[1]
    queries, length = here[0].shape
    for number in range(len(joining)):
        group = joining[number]
        for query in range(queries):
            own = here[0][query]
            for rank in range(length):
                key = keys[group, query, rank]
                if not key < own[length - 1]:
                    break
                _place(own, here[1][query], key, group * length + rank)


@compiled
def mark(here: tuple[Array, Array], k: int, sure: tuple[Array, Any], found: tuple[Array, Array]) -> None:
    """Mark what may be among the k nearest of a search.

    `sure`: the errors of the scores of each query, and the key of no point. `found`: marks (groups, queries, length),
    and how many more each query may have; -1 where it has too many, or once its list was not long enough.
    """
    marks, room = found
    errors, none = sure
    queries, length = here[0].shape
    for query in range(queries):
        own, places = here[0][query], here[1][query]
        limit = np.float64(own[k - 1]) + 2 * errors[query]
        few = own[k - 1] == none
        for rank in range(length):
            if room[query] < 0 or own[rank] == none or not (few or np.float64(own[rank]) <= limit):
                break
            if rank == length - 1:
                room[query] = -1
                break
            group, place = places[rank] // length, places[rank] % length
            if not marks[group, query, place]:
                marks[group, query, place] = True
                room[query] -= 1


@compiled
def count_marks(marks: Array, whole: Array, counts: Array) -> None:
    """How many are marked in each list: `counts` (groups, queries); none of the queries that are not `whole`."""
    for group in range(marks.shape[0]):
        for query in range(marks.shape[1]):
            count = 0
            if whole[query]:
                for rank in range(marks.shape[2]):
                    count += marks[group, query, rank]
            counts[group, query] = count


@compiled
def gather(marks: Array, whole: Array, points: Array, found: tuple[Array, Array]) -> None:
    """Query and point of all that `count_marks` counts, list by list."""
    queries_of, points_of = found
    at = 0
    for group in range(marks.shape[0]):
        for query in range(marks.shape[1]):
            if not whole[query]:
                continue
            for rank in range(marks.shape[2]):
                if marks[group, query, rank]:
                    queries_of[at] = query
                    points_of[at] = points[group, query, rank]
                    at += 1


@compiled
def _before(distance: float, number: int, other: float, other_number: int) -> bool:
    """The order of answers; -1, of no answer, comes after every other."""
    return distance < other or (distance == other and (number < other_number or other_number < 0))


@compiled
def _put(distances: Array, ids: Array, distance: float, number: int) -> None:
    at = len(ids) - 1
    while at > 0 and _before(distance, number, distances[at - 1], ids[at - 1]):
        distances[at] = distances[at - 1]
        ids[at] = ids[at - 1]
        at -= 1
    distances[at] = distance
    ids[at] = number


@compiled
def join_exact(
    offsets: Array, found: tuple[Array, Array], joining: Array, above: tuple[Array, Array], here: tuple[Array, Array]
) -> None:
    """The list of a node, (queries, k) distances and ids.

    The group's are `found` (distances, ids), those of its list for a query between two of `offsets`
    (groups * queries + 1).
    """
    here[0][...] = above[0]
    here[1][...] = above[1]
    queries, k = here[0].shape
    for number in range(len(joining)):
        start = joining[number] * queries
        for query in range(queries):
            for place in range(offsets[start + query], offsets[start + query + 1]):
                distance, point = found[0][place], found[1][place]
                if _before(distance, point, here[0][query, k - 1], here[1][query, k - 1]):
                    _put(here[0][query], here[1][query], distance, point)
