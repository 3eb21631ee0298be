"""Exact range search: all rows within a radius, dense, filtered, sparse and over live sets, by one code.

Scores with a proven error (see `score.py`) choose the candidates, as for the nearest neighbours; the exact distance
of each decides. Here the threshold is the same from the first block to the last.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ann_bench.progress import Progress, silent
from ann_bench.ragged import Ragged, offsets_of
from ann_bench.truth import blas
from ann_bench.truth.cores import threads
from ann_bench.truth.exact import MEMORY_BYTES, check, matching
from ann_bench.truth.model import Problem, RangeTruth
from ann_bench.truth.points import Points
from ann_bench.truth.scan import Asking, Found, measure
from ann_bench.truth.score import Scorer, scorer, side
from ann_bench.truth.vectors import Rows, rows_of

Ints = npt.NDArray[np.integer[Any]]

_BLOCK_BYTES = 1 << 22  # vectors of one block of rows
_FEWEST_ROWS, _MOST_ROWS = 64, 1 << 14
_QUERIES = 1 << 10  # queries of one job
_SCORES = 1 << 20  # scores held at once by one thread

#: Bytes that each answer takes until it is handed over: it is held twice, while lists are put in order.
ANSWER_BYTES = 56


class TooManyError(Exception):
    """More answers than the caller has room for."""


@dataclass(frozen=True)
class Within:
    """The answers to some queries: ids as in `RangeTruth.found`, and the distance of each."""

    found: Ragged
    distances: npt.NDArray[np.float64]

    def part(self, first: int, last: int) -> Within:
        """The answers to the queries `first` to `last`, without `last`."""
        offsets = self.found.offsets[first : last + 1]
        span = slice(int(offsets[0]), int(offsets[-1]))
        return Within(Ragged(offsets - offsets[0], self.found.ids[span]), self.distances[span])

    def truth(self, key: str) -> RangeTruth:
        """As truth, under a key."""
        return RangeTruth(self.found, self.distances, key)


def within(
    problem: Problem, progress: Progress = silent, scratch: Path | None = None, most: int | None = None
) -> Within:
    """All live points strictly within the problem's radius that hold ALL tags of the query, exactly.

    Answers are ordered by distance, ties by id. Raises TooManyError where there are more than `most` (never for a
    single query), and as `exact` does.
    """
    check(problem)
    base, queries = rows_of(problem.base.open()), rows_of(problem.queries.open())
    points = Points(base.count, problem.live)
    work = _Work(problem, base, queries, points)
    gathered = _Gathered(queries.count, most, progress)
    jobs = _jobs(problem, points, scratch)

    def serve() -> None:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # the scorer turns to float64 then
            while (job := gathered.next(jobs)) is not None:
                for part in work.search(*job):
                    gathered.add(part)
                gathered.tell(len(job[0]))

    gathered.tell(0)
    with blas.one_thread(), ThreadPoolExecutor(threads()) as pool:
        futures = [pool.submit(serve) for _ in range(threads())]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            gathered.stop()
    for future in futures:
        future.result()
    return _ordered(gathered.lists, points, queries.count)


@dataclass(frozen=True)
class _List:
    """Answers in no order: three arrays of one length."""

    queries: npt.NDArray[np.int64]
    points: npt.NDArray[np.int32]
    distances: npt.NDArray[np.float64]


_Job: TypeAlias = "tuple[Ints, Ints | None]"  # queries, and the points that hold all their tags (None: every point)


class _Gathered:
    """What the threads have found; hands out the jobs to them."""

    def __init__(self, queries: int, most: int | None, progress: Progress) -> None:
        self.lists: list[_List] = []
        self._queries, self._progress = queries, progress
        self._most = most if most is not None and queries > 1 else None
        self._held = self._done = 0
        self._lock = threading.Lock()
        self._stopped = False

    def next(self, jobs: Iterator[_Job]) -> _Job | None:
        """The next job, if there is one and nobody has stopped."""
        with self._lock:
            return None if self._stopped else next(jobs, None)

    def add(self, part: _List) -> None:
        """Keep a part; TooManyError where there is no room for it."""
        with self._lock:
            self._held += len(part.points)
            if self._most is not None and self._held > self._most:
                self._stopped = True
                raise TooManyError
            self.lists.append(part)

    def tell(self, queries: int) -> None:
        """So many queries more are done."""
        with self._lock:
            self._done += queries
            self._progress("exact answers", self._done, self._queries)

    def stop(self) -> None:
        """No thread begins another job."""
        self._stopped = True


def _jobs(problem: Problem, points: Points, scratch: Path | None) -> Iterator[_Job]:
    share = max(1, -(-problem.queries.shape[0] // (2 * threads())))
    for group, matched in matching(problem, points, MEMORY_BYTES, scratch):
        step = min(_QUERIES, share)
        for first in range(0, len(group.queries), step):
            yield group.queries[first : first + step], matched


class _Work:
    """Searches for some of the queries; many threads may call it."""

    def __init__(self, problem: Problem, base: Rows, queries: Rows, points: Points) -> None:
        self._metric, self._reach = problem.metric, problem.reach
        self._base, self._queries, self._points = base, queries, points
        self._integers = base.small_integers and queries.small_integers
        rows = _BLOCK_BYTES / (4 * max(1.0, base.values_per_row))
        self._rows = int(max(_FEWEST_ROWS, min(_MOST_ROWS, rows)))

    def search(self, numbers: Ints, matched: Ints | None) -> Iterator[_List]:
        """The answers to these queries among the points `matched` (None: all), piece by piece."""
        count = self._points.count if matched is None else len(matched)
        if not count:
            return
        asking = Asking.of(numbers, self._queries)
        for start in range(0, count, self._rows):
            part = slice(start, min(start + self._rows, count))
            points: Ints = np.arange(part.start, part.stop) if matched is None else matched[part]
            block = self._base.take(self._points.rows(part if matched is None else points))
            scores = scorer(self._metric, asking.side, side(block), self._integers)
            yield from self._block(asking, scores, points)

    def _block(self, asking: Asking, scores: Scorer, points: Ints) -> Iterator[_List]:
        limits = _limits(scores, self._reach, asking.squares)
        step = max(1, _SCORES // len(points))
        for first in range(0, len(asking.numbers), step):
            last = min(first + step, len(asking.numbers))
            values = np.empty((last - first, len(points)), dtype=scores.base.squares.dtype)
            scores.write(slice(first, last), slice(0, len(points)), values)
            queries, columns = np.nonzero(values < limits[first:last, None])
            if not len(queries):
                continue
            found = Found(queries + first, columns, points[columns], values[queries, columns])
            distances = measure(scores, asking, found, self._integers)
            keep = distances < self._reach
            yield _List(
                asking.numbers[found.queries[keep]].astype(np.int64),
                found.points[keep].astype(np.int32),
                distances[keep],
            )


def _limits(scores: Scorer, reach: float, squares: npt.NDArray[np.float64]) -> npt.NDArray[np.floating[Any]]:
    """For each query the score below which every row lies that is nearer than `reach`; some others may, too."""
    dtype = scores.base.squares.dtype
    level = scores.score(np.full(len(squares), reach), squares)
    limits = (level + scores.errors(level, squares)).astype(dtype)
    # Rounded to the type of the scores it may lie below what it was.
    limits = np.nextafter(limits, dtype.type(np.inf))
    if scores.metric == "angular":  # a query of zeros has the distance 1, and the score 0, to every row
        limits = np.where((squares == 0) & (reach > 1), dtype.type(np.inf), limits)
    return np.asarray(limits)


def _ordered(lists: list[_List], points: Points, count: int) -> Within:
    """The answers query by query, nearest first, ties to the smaller point."""
    if not lists:
        return Within(Ragged(offsets_of(np.zeros(count, dtype=np.int64)), np.zeros(0, np.int32)), np.zeros(0))
    queries = np.concatenate([one.queries for one in lists])
    found = np.concatenate([one.points for one in lists])
    distances = np.concatenate([one.distances for one in lists])
    lists.clear()
    order = np.lexsort((found, distances, queries))
    offsets = offsets_of(np.bincount(queries, minlength=count))
    return Within(Ragged(offsets, points.ids(found[order])), distances[order])
