"""Exact nearest neighbours: dense, filtered, sparse and over live sets, by one code.

Queries that ask for the same tags are answered together over the points that match. Their vectors are gathered
block by block, scored by matrix products, and every point that may be among the nearest (see `score.py`) is
measured exactly. The answer is the same on every machine, whatever its BLAS.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.arrays import CsrRef
from ann_bench.errors import DataError, UsageError
from ann_bench.progress import Progress, silent
from ann_bench.truth import blas, cores, dense, inverted, postings
from ann_bench.truth.best import Best
from ann_bench.truth.groups import Group, Match, groups_of, matches
from ann_bench.truth.model import Problem
from ann_bench.truth.points import Points
from ann_bench.truth.scan import Asking, Cell, Scan
from ann_bench.truth.vectors import DenseRows, Index, Rows, rows_of

Answers = tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]

_BLOCK_BYTES = 1 << 22  # vectors of one block of rows
_FEWEST_ROWS = 64
_QUERIES = 1 << 14  # queries of one block
_SHARED = 32  # fewer queries than this are not shared among threads: each would gather the same rows
MEMORY_BYTES = 448 << 20


def exact(
    problem: Problem, progress: Progress = silent, memory_bytes: int = MEMORY_BYTES, scratch: Path | None = None
) -> Answers:
    """The k nearest live points of each query that hold ALL its tags, exactly.

    Returns ids (nq, k) int32, -1 where fewer match, and distances (nq, k) float64 as in `Truth`, infinite there;
    nearest first, ties to the smaller id. A tag that a query names twice counts once; a query without tags matches
    every live point. Posting lists of more than `memory_bytes` are mapped from a temporary file in `scratch`;
    blocks take some 40 MB for each thread besides. `progress` counts queries and is called by one thread at a
    time. Raises UsageError where k < 1, DataError where the arrays do not fit each other, StorageError where the
    temporary file cannot be written.
    """
    check(problem)
    base, queries = rows_of(problem.base.open()), rows_of(problem.queries.open())
    points = Points(base.count, problem.live)
    best = Best(queries.count, problem.k)
    if inverted.serves(problem):
        inverted.search(problem, points, best, inverted.Crew(cores.threads(), progress))
        return points.ids(best.points), best.distances
    work = _Work(problem, base, queries, points, best)
    jobs = _Jobs(matching(problem, points, memory_bytes, scratch), work, queries.count, progress)
    with blas.one_thread():
        jobs.run()
    return points.ids(best.points), best.distances


def check(problem: Problem) -> None:
    """Raise UsageError or DataError, one line, where the parts of a problem do not fit each other."""
    if problem.k < 1:
        raise UsageError(f"k must be at least 1 (found {problem.k})")
    if isinstance(problem.base, CsrRef) is not isinstance(problem.queries, CsrRef):
        raise DataError("base and queries must both be dense or both be sparse")
    dims = problem.base.shape[1], problem.queries.shape[1]
    if dims[0] != dims[1]:
        raise DataError(f"the base has {dims[0]} dimensions, the queries have {dims[1]}")
    if problem.query_tags is None:
        return
    if problem.tags is None:
        raise DataError("the queries have tags, the base has none")
    pairs = (("base", problem.tags, problem.base), ("query set", problem.query_tags, problem.queries))
    for name, tags, vectors in pairs:
        if tags.shape[0] != vectors.shape[0]:
            raise DataError(f"the {name} has {vectors.shape[0]} vectors, its tags are for {tags.shape[0]}")


def matching(problem: Problem, points: Points, memory_bytes: int, scratch: Path | None) -> Iterator[Match]:
    """The groups of the queries with the points that hold all their tags; one of all where nothing is filtered."""
    if problem.query_tags is None or problem.tags is None:
        everyone = Group((), np.arange(problem.queries.shape[0]))
        yield everyone, None
        return
    query_tags = problem.query_tags.open()
    groups = groups_of(query_tags)
    used = np.unique(np.asarray(query_tags.indices))
    lists = postings.build(problem.tags.open(), points, used, memory_bytes, scratch)
    yield from matches(groups, lists, points.count)


class _Work:
    """Searches one match; many threads may call it, each for other queries."""

    def __init__(self, problem: Problem, base: Rows, queries: Rows, points: Points, best: Best) -> None:
        self._base, self._queries, self._points = base, queries, points
        self._scan = Scan(problem.metric, base.small_integers and queries.small_integers, best)
        self.block_rows = int(max(_FEWEST_ROWS, min(1 << 16, _BLOCK_BYTES / (4 * max(1.0, base.values_per_row)))))

    def small(self, found: Sequence[Match]) -> None:
        """Groups whose points fit one block together."""
        cells, lists, queries, first, start = [], [], [], 0, 0
        for group, points in found:
            if points is not None and len(points):
                cells.append(Cell(first, first + len(group.queries), start, start + len(points)))
                first, start = cells[-1].last, cells[-1].stop
                queries.append(group.queries)
                lists.append(points)
        if cells:
            numbers = np.concatenate(lists)
            block = self._base.take(self._points.rows(numbers))
            self._scan.cells(Asking.of(np.concatenate(queries), self._queries), block, numbers, cells)

    def large(self, found: Match, told: Callable[[float], None]) -> None:
        """One group with any number of points; `told` hears of each part done, as a share of all."""
        group, points = found
        count = self._points.count if points is None else len(points)
        search = self._search(group.queries, count)
        step = self._step(len(group.queries))
        for start in range(0, count, step):
            part = slice(start, min(start + step, count))
            numbers: npt.NDArray[Any] = np.arange(part.start, part.stop) if points is None else points[part]
            search(self._points.rows(part if points is None else numbers), numbers)
            told(len(numbers) / count)

    def _search(self, queries: npt.NDArray[Any], count: int) -> Callable[[Index, npt.NDArray[Any]], None]:
        """How to offer the points of some rows, `count` in all, to these queries."""
        if self._many(len(queries)) and isinstance(self._base, DenseRows) and isinstance(self._queries, DenseRows):
            asked = dense.Asked(queries, len(queries) * count)
            return dense.Dense(self._scan, self._base, self._queries, asked).search
        asking = Asking.of(queries, self._queries)

        def search(rows: Index, points: npt.NDArray[Any]) -> None:
            self._scan.cells(asking, self._base.take(rows), points, [Cell(0, len(queries), 0, len(points))])

        return search

    def _step(self, queries: int) -> int:
        if not self._many(queries):
            return self.block_rows
        return dense.block_rows(queries, self.block_rows, self._base.small_integers)

    def _many(self, queries: int) -> bool:
        return isinstance(self._base, DenseRows) and queries >= dense.FEWEST_QUERIES


class _StopError(Exception):
    """Another thread failed, or the user interrupted."""


class _Jobs:
    """Shares the matches among threads."""

    def __init__(self, found: Iterator[Match], work: _Work, queries: int, progress: Progress) -> None:
        self._found, self._work, self._progress = found, work, progress
        self._threads = cores.threads()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._jobs = self._cut()
        self._done, self._queries = 0.0, queries

    def run(self) -> None:
        """Do all jobs; an error, or an interruption from the keyboard, stops every thread first."""
        self._tell(0)
        with ThreadPoolExecutor(self._threads) as pool:
            futures = [pool.submit(self._serve) for _ in range(self._threads)]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
            finally:
                self._stop.set()
        for error in [f.exception() for f in futures]:
            if error is not None and not isinstance(error, _StopError):
                raise error

    def _serve(self) -> None:
        # Where float32 overflows or vanishes the scorer turns to float64; no warning is due.
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            while True:
                with self._lock:
                    job = next(self._jobs, None)
                if job is None:
                    return
                count = sum(len(group.queries) for group, _ in job)
                if self._fits(job[0]):
                    self._work.small(job)
                    self._tell(count)
                else:
                    self._work.large(job[0], self._teller(count))

    def _fits(self, found: Match) -> bool:
        group, points = found
        return points is not None and len(points) <= self._work.block_rows and len(group.queries) <= _QUERIES

    def _cut(self) -> Iterator[list[Match]]:
        """Jobs: many small groups together, or some of the queries of a large one."""
        job: list[Match] = []
        rows = queries = 0
        for group, points in self._found:
            if points is None or not self._fits((group, points)):
                step = max(_SHARED, min(_QUERIES, -(-len(group.queries) // self._threads)))
                for first in range(0, len(group.queries), step):
                    yield [(Group(group.tags, group.queries[first : first + step]), points)]
                continue
            if job and (rows + len(points) > self._work.block_rows or queries + len(group.queries) > _QUERIES):
                yield job
                job, rows, queries = [], 0, 0
            job.append((group, points))
            rows += len(points)
            queries += len(group.queries)
        if job:
            yield job

    def _teller(self, queries: int) -> Callable[[float], None]:
        return lambda share: self._tell(share * queries)

    def _tell(self, queries: float) -> None:
        if self._stop.is_set():
            raise _StopError
        with self._lock:
            self._done += queries
            self._progress("exact answers", min(round(self._done), self._queries), self._queries)
