"""The answers of one block of queries to all the searches of one kind, within a given memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ann_bench.arrays import Held
from ann_bench.errors import UsageError
from ann_bench.progress import Progress
from ann_bench.truth import inverted
from ann_bench.truth.cores import threads
from ann_bench.truth.exact import MEMORY_BYTES, exact
from ann_bench.truth.lives import Lifetime, lifetimes, live_of, points_in
from ann_bench.truth.model import Problem
from ann_bench.truth.problems import Searches
from ann_bench.truth.shortlist import answers as together
from ann_bench.truth.shortlist import shortlists
from ann_bench.truth.streams import Tops, answers
from ann_bench.truth.sweep import Task
from ann_bench.truth.vectors import DenseRows
from ann_bench.truth.way import Way

#: What `truth_for` may use where nobody says: with it the judge stays below 1 GiB.
DEFAULT_MEMORY = 768 << 20

_THREAD_BYTES = 48 << 20  # blocks of vectors and scores of one thread
_LISTS_BYTES = 64 << 20  # posting lists beyond this are mapped from a file
_FEWEST = 64  # queries of a block, however little memory there is
_PAIRS = 2 * 10**10  # pairs of query and point that make a block: tens of seconds
_QUERIES = (1 << 12, 1 << 14)  # fewer make slow products, more gain nothing
_FILTERED = 1 << 15  # filtered queries share the search for their rows: larger blocks
_SPARE_LISTS = 24  # lists of k that are held for each query besides those of the groups
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
        self._in_vain = False  # scores did not tell what is near

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
        way, room = self._way(memory_bytes), memory_bytes - fixed
        # What is left unanswered by the one scan is answered beside what it found.
        return int(min(most, room // each) if way is None else min(most, room // 2 // each, way.most))

    def _fixed(self) -> int:
        """Bytes that any block takes: threads, lists, the largest live set."""
        largest = max((points_in(group.runs) for group in self.groups if len(group.runs) > 1), default=0)
        marks = max((points_in(group.runs) for group in self.groups), default=0) if self.problem.query_tags else 0
        lists = _LISTS_BYTES if self.problem.query_tags else 0
        working = threads() * _THREAD_BYTES
        if inverted.serves(self.problem):
            working = max(working, inverted.working_bytes(self.problem, threads()) + 24 * largest)
        return working + lists + 16 * largest + marks + (16 << 20)

    def _each(self) -> int:
        """Bytes that each query of a block takes."""
        return _CELL * self.problem.k * (_alive(self.groups) + _SPARE_LISTS)

    def _way(self, memory_bytes: int) -> Way | None:
        return Way.of(self.problem, self.groups, len(self.searches), memory_bytes - self._fixed())

    def block(self, first: int, last: int, means: Means, progress: Progress) -> Iterator[Tops]:
        """The answers of the queries `first` to `last` to each search; `progress` counts points of `points`."""
        asked = replace(
            self.problem,
            queries=self.problem.queries.part(first, last),
            query_tags=self.problem.query_tags.part(first, last) if self.problem.query_tags else None,
        )
        way = None if self._in_vain else self._way(means.memory_bytes)
        if way is None:
            return self._by_group(asked, means, progress)
        return self._at_once(asked, way, means, progress)

    def _at_once(self, asked: Problem, way: Way, means: Means, progress: Progress) -> Iterator[Tops]:
        """One scan for all groups; what it leaves unanswered goes group by group."""
        queries = DenseRows(asked.queries.open())
        told = _Pairs(queries.count, self.points, progress)
        task = Task(asked.metric, DenseRows(asked.base.open()), queries, self.groups, told)
        found, rest = shortlists(task, way)
        self._in_vain = 2 * len(rest) > queries.count
        tops = together(found, way, queries.count)
        if not len(rest):
            yield from tops
            return

        def again(task: str, done: int, total: int | None) -> None:
            progress("near ties", done, total)

        left = replace(asked, queries=Held.of(queries.raw(rest)))
        for top, other in zip(tops, self._by_group(left, means, again), strict=True):
            top.ids[rest], top.distances[rest] = other.ids, other.distances
            yield top

    def _by_group(self, asked: Problem, means: Means, progress: Progress) -> Iterator[Tops]:
        """A scan for each group: tags, sparse rows, float64, little to do, many points at nearly one distance."""
        queries = asked.queries.shape[0]
        room = means.memory_bytes - self._fixed() - queries * self._each()
        lists = _LISTS_BYTES + max(0, min(MEMORY_BYTES - _LISTS_BYTES, room))
        scanned = 0

        def find(group: Lifetime) -> Tops:
            nonlocal scanned
            points = points_in(group.runs)

            def told(task: str, done: int, total: int | None) -> None:
                progress(task, scanned + points * done // max(1, queries), self.points)

            found = _nearest(asked, group, told, replace(means, memory_bytes=lists))
            scanned += points
            return found

        return answers(self.groups, len(self.searches), find, Tops.empty(queries, self.problem.k))


class _Pairs:
    """Counts pairs of query and point, from any thread, and tells them as points."""

    def __init__(self, queries: int, points: int, progress: Progress) -> None:
        self._queries, self._points, self._progress = queries, points, progress
        self._lock, self._done = threading.Lock(), 0

    def __call__(self, pairs: int) -> None:
        """So many pairs more are done."""
        with self._lock:
            self._done += pairs
            self._progress("exact answers", self._done // self._queries, self._points)


def passes(searches: Searches) -> list[Pass]:
    """The searches of a workload by kind."""
    found = []
    for kind, problem in enumerate(searches.kinds):
        numbers = [number for number, of in enumerate(searches.kind_of) if of == kind]
        if numbers:
            found.append(Pass(problem, numbers, lifetimes([searches.lives[number] for number in numbers])))
    return found


def _nearest(asked: Problem, group: Lifetime, progress: Progress, means: Means) -> Tops:
    """The nearest points of one group: one scan."""
    if len(group.runs) > 1:
        live = live_of(group.runs, asked.base.shape[0])
        return Tops(*exact(replace(asked, live=live), progress, means.memory_bytes, means.scratch))
    first_id, first_row, count = group.runs[0].tolist()
    rows = first_row, first_row + count
    part = replace(asked, base=asked.base.part(*rows), tags=asked.tags.part(*rows) if asked.tags else None)
    ids, distances = exact(part, progress, means.memory_bytes, means.scratch)
    if first_id:
        ids[ids >= 0] += first_id
    return Tops(ids, distances)


def _alive(groups: Sequence[Lifetime]) -> int:
    """The most groups that live at one time: only their lists are held."""
    changes = sorted([(group.birth, 1) for group in groups] + [(group.death, -1) for group in groups])
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most
