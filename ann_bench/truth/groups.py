"""Queries that ask for the same tags are one group, answered together over the points that match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from ann_bench.truth.postings import Postings

Ints = npt.NDArray[np.integer[Any]]
Numbers = npt.NDArray[np.int32]

_LOOKUPS = 1 << 21  # points looked up at once while posting lists are intersected
_SEARCH_COST = 16  # finding a point in a sorted list costs about as much as this many marks


@dataclass(frozen=True)
class Group:
    """A set of tags (ascending, distinct) and the numbers of the queries that ask for it."""

    tags: tuple[int, ...]
    queries: Ints


# A group and the points that hold all its tags, ascending; None where it asks for no tag: every point matches.
Match: TypeAlias = tuple[Group, Numbers | None]


def groups_of(query_tags: csr_matrix) -> list[Group]:
    """The groups of the queries with these tags (nq, vocabulary); a tag that a query names twice counts once."""
    ends, tags = query_tags.indptr.tolist(), query_tags.indices.tolist()
    found: dict[tuple[int, ...], list[int]] = {}
    for number in range(len(ends) - 1):
        key = tuple(sorted(set(tags[ends[number] : ends[number + 1]])))
        found.setdefault(key, []).append(number)
    return [Group(key, np.array(numbers, dtype=np.int64)) for key, numbers in found.items()]


def matches(groups: Sequence[Group], postings: Postings, points: int) -> Iterator[Match]:
    """Every group with its points.

    Of the tags of a group the rarest one's points are looked up in the list of the commonest, its pivot. Groups
    with one pivot come together, so that its list is marked once. `points` is how many points there are.
    """
    for group in groups:
        if len(group.tags) < 2:
            yield group, postings.of(group.tags[0]) if group.tags else None
    several = [(sorted(g.tags, key=lambda t: (postings.count(t), t)), g) for g in groups if len(g.tags) > 1]
    several.sort(key=lambda pair: (pair[0][-1], pair[0][0]))
    marks = np.zeros(points, dtype=bool)
    for pivot, members in groupby(several, key=lambda pair: pair[0][-1]):
        yield from _with_pivot(postings, postings.of(pivot), list(members), marks)


Member: TypeAlias = tuple[list[int], Group]  # its tags from the rarest to the commonest


def _with_pivot(
    postings: Postings, pivot: Numbers, members: Sequence[Member], marks: npt.NDArray[np.bool_]
) -> Iterator[Match]:
    lookups = sum(postings.count(tags[0]) for tags, _ in members)
    marked = lookups * _SEARCH_COST > len(pivot)
    if marked:
        marks[pivot] = True
    for portion in _portions(postings, members):
        lists = [postings.of(tags[0]) for tags, _ in portion]
        offsets = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum([len(points) for points in lists], out=offsets[1:])
        points = lists[0] if len(lists) == 1 else np.concatenate(lists)
        kept = np.flatnonzero(marks[points] if marked else _held(points, pivot))
        points, ends = points[kept], np.searchsorted(kept, offsets).tolist()
        for (tags, group), start, stop in zip(portion, ends[:-1], ends[1:], strict=True):
            part = points[start:stop]
            for tag in tags[1:-1]:
                part = part[_held(part, postings.of(tag))]
            yield group, part
    if marked:
        marks[pivot] = False


def _portions(postings: Postings, members: Sequence[Member]) -> Iterator[list[Member]]:
    portion: list[Member] = []
    size = 0
    for member in members:
        count = postings.count(member[0][0])
        if portion and size + count > _LOOKUPS:
            yield portion
            portion, size = [], 0
        portion.append(member)
        size += count
    if portion:
        yield portion


def _held(points: Numbers, by: Numbers) -> npt.NDArray[np.bool_]:
    """Which of the points the ascending list `by` holds."""
    if not len(by):
        return np.zeros(len(points), dtype=bool)
    places = np.searchsorted(by, points)
    places[places == len(by)] = len(by) - 1
    return np.asarray(by[places] == points)
