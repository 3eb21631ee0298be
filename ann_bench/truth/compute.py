"""The answers of one block of queries to all the searches of one kind, within a given memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ann_bench.arrays import CsrRef
from ann_bench.errors import UsageError
from ann_bench.progress import Progress
from ann_bench.truth.cores import threads
from ann_bench.truth.exact import MEMORY_BYTES, exact
from ann_bench.truth.lives import Lifetime, lifetimes, live_of, points_in
from ann_bench.truth.model import Problem
from ann_bench.truth.problems import Searches
from ann_bench.truth.streams import Tops, answers

Floats: TypeAlias = npt.NDArray[np.float64]

#: What `truth_for` may use where nobody says: with it the judge stays below 1 GiB.
DEFAULT_MEMORY = 768 << 20

_THREAD_BYTES = 48 << 20  # blocks of vectors and scores of one thread
_LISTS_BYTES = 64 << 20  # posting lists beyond this are mapped from a file
_FEWEST = 64  # queries of a block, however little memory there is
_PAIRS = 2 * 10**10  # pairs of query and point that make a block: tens of seconds
_QUERIES = (1 << 12, 1 << 14)  # fewer make slow products, more gain nothing
_FILTERED = 1 << 15  # filtered queries share the search for their rows: larger blocks
_SPARE_LISTS = 24  # lists of k that are held for each query besides those of the groups
_SEVERAL = 16  # groups; of so many the large ones are scanned first
_MOST = 0.7  # the share of all points that the large ones hold
_CELL = 12  # bytes of an id and a distance


@dataclass(frozen=True)
class Means:
    """What a computation may use: bytes of memory, a folder for temporary files."""

    memory_bytes: int
    scratch: Path


class Pass:
    """The searches of one kind: `searches` are their numbers, `problem` is what they ask, without a live set."""

    def __init__(self, problem: Problem, searches: Sequence[int], groups: Sequence[Lifetime]) -> None:
        self.problem, self.searches, self.groups = problem, tuple(searches), tuple(groups)
        self.queries = problem.queries.shape[0]
        self.points = sum(points_in(group.runs) for group in groups)

    @property
    def work(self) -> int:
        """Pairs of query and point, at least 1 a query."""
        return self.queries * max(1, self.points)

    def block_queries(self, memory_bytes: int) -> int:
        """The most queries of one block; raises UsageError, saying the least, where the memory is too small."""
        most = (
            _FILTERED if self.problem.query_tags else max(_QUERIES[0], min(_QUERIES[1], _PAIRS // max(1, self.points)))
        )
        fixed, each = self._fixed(), self._each()
        fewest = min(_FEWEST, max(1, self.queries))
        if memory_bytes < fixed + fewest * each:
            least = -(-(fixed + fewest * each) >> 20)
            raise UsageError(
                f"{memory_bytes >> 20} MiB of memory are too few for these exact answers: give at least {least}m"
            )
        return int(min(most, (memory_bytes - fixed) // each))

    def _fixed(self) -> int:
        """Bytes that any block takes: threads, lists, the largest live set."""
        largest = max((points_in(group.runs) for group in self.groups if len(group.runs) > 1), default=0)
        marks = max((points_in(group.runs) for group in self.groups), default=0) if self.problem.query_tags else 0
        lists = _LISTS_BYTES if self.problem.query_tags else 0
        return threads() * _THREAD_BYTES + lists + 16 * largest + marks + (16 << 20)

    def _each(self) -> int:
        """Bytes that each query of a block takes."""
        large = self._large()
        lists = min(len(self.groups), _alive(self.groups) + len(large)) + _SPARE_LISTS
        return _CELL * self.problem.k * lists + 8 * len(self.searches) * bool(large)

    def block(self, first: int, last: int, means: Means, progress: Progress) -> Iterator[Tops]:
        """The answers of the queries `first` to `last` to each search; `progress` counts points of `points`.

        The large groups are scanned first. How near their k-th points are, search by search, then says of each small
        one which points can matter at all: most of its scan would be spent on points that are never among the nearest.
        """
        asked = replace(
            self.problem,
            queries=self.problem.queries.part(first, last),
            query_tags=self.problem.query_tags.part(first, last) if self.problem.query_tags else None,
        )
        room = means.memory_bytes - self._fixed() - (last - first) * self._each()
        lists = _LISTS_BYTES + max(0, min(MEMORY_BYTES - _LISTS_BYTES, room))
        scan = _Scanner(asked, replace(means, memory_bytes=lists), progress, self.points)
        empty = Tops.empty(last - first, self.problem.k)
        large = self._large()
        found = {id(group): scan.nearest(group) for group in large}
        reach = np.empty((len(self.searches) if large else 0, last - first))
        for time, tops in enumerate(answers(large, len(reach), lambda group: found[id(group)], empty)):
            reach[time] = tops.distances[:, -1]

        def find(group: Lifetime) -> Tops:
            if id(group) in found:
                return found.pop(id(group))
            return scan.nearest(group, reach[group.birth : group.death].max(axis=0) if large else None)

        return answers(self.groups, len(self.searches), find, empty)

    def _large(self) -> list[Lifetime]:
        """The fewest groups that hold most of the points, where that helps: dense vectors, many groups."""
        if isinstance(self.problem.base, CsrRef) or len(self.groups) < _SEVERAL:
            return []
        found, points = [], 0
        for group in sorted(self.groups, key=lambda one: -points_in(one.runs)):
            if points >= _MOST * self.points:
                break
            found.append(group)
            points += points_in(group.runs)
        return found


def passes(searches: Searches) -> list[Pass]:
    """The searches of a workload by kind."""
    found = []
    for kind, problem in enumerate(searches.kinds):
        numbers = [number for number, of in enumerate(searches.kind_of) if of == kind]
        if numbers:
            found.append(Pass(problem, numbers, lifetimes([searches.lives[number] for number in numbers])))
    return found


class _Scanner:
    """Scans groups for the queries of one block."""

    def __init__(self, asked: Problem, means: Means, progress: Progress, points: int) -> None:
        self._asked, self._means, self._progress, self._points = asked, means, progress, points
        self._scanned = 0

    def nearest(self, group: Lifetime, reach: Floats | None = None) -> Tops:
        """The nearest points of one group; those farther than `reach` (one distance a query) may be left out."""
        asked, queries, points = self._asked, max(1, self._asked.queries.shape[0]), points_in(group.runs)
        within = None if reach is None else _beyond(asked, reach)

        def told(task: str, done: int, total: int | None) -> None:
            self._progress(task, self._scanned + points * done // queries, self._points)

        first_id = 0
        if len(group.runs) > 1:
            asked = replace(asked, live=live_of(group.runs, asked.base.shape[0]))
        else:
            first_id, row, count = group.runs[0].tolist()
            tags = asked.tags.part(row, row + count) if asked.tags else None
            asked = replace(asked, base=asked.base.part(row, row + count), tags=tags)
        ids, distances = exact(asked, told, self._means.memory_bytes, self._means.scratch, within)
        self._scanned += points
        return Tops(np.where(ids >= 0, ids + first_id, -1).astype(np.int32) if first_id else ids, distances)


def _beyond(asked: Problem, reach: Floats) -> Floats:
    """Distances that lie beyond these however they are rounded: what ties with them is not left out.

    A query without length has one distance to all points, and no score can tell more: nothing is left out for it.
    """
    queries = asked.queries.open()
    wide = reach + 2.0 if queries.dtype.kind in "iu" else np.nextafter(reach + 1e-6 * np.abs(reach), np.inf)
    return np.where(queries.any(axis=1), wide, np.inf)


def _alive(groups: Sequence[Lifetime]) -> int:
    """The most groups that live at one time: only their lists are held."""
    changes = sorted([(group.birth, 1) for group in groups] + [(group.death, -1) for group in groups])
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most
