"""Exact maximum inner products over sparse rows, by inverted indexes of small blocks of rows.

The rows of a block are few enough that one float32 sum for each of them stays in a core's second cache. A posting is
four bytes, row and rounded weight together, so that lists are short to write and to read. The block's posting lists
are built once and serve all queries. For a query the lists of its terms are added to the sums, but for the terms that
cannot lift a row over the query's k-th score (by the largest weight of each term in the block, and by Cauchy-Schwarz):
the idea of MaxScore (Turtle and Flood, "Query evaluation: strategies and optimizations", 1995). Rows whose sum, plus
what was left out, plus the error of rounding, may exceed the k-th score are measured with the exact distance of
`distance.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from ann_bench.arrays import CsrRef
from ann_bench.errors import DataError
from ann_bench.progress import Progress
from ann_bench.truth.best import Best
from ann_bench.truth.model import Problem
from ann_bench.truth.points import Points
from ann_bench.truth.sparse_parts import BLOCK_ROWS, STRIP, Array, Asked, Kept, Scratch, Span
from ann_bench.truth.vectors import SparseRows, csr_rows

FEWEST_PAIRS = 200_000_000  # of query and row: below, products of blocks are done before the kernels are loaded
_MOST_DIMENSIONS = 1 << 22  # each thread holds one float64 for each
_SPAN_ENTRIES = 1 << 23  # of the rows that are indexed at once
_ENTRY_BYTES = 48  # that each of them takes
_BLOCK_ENTRIES = 1 << 22
_BLOCKS = 8  # of one span, at most
_ROW_BYTES = 17  # of the whole base: its indptr, which is read and may be copied, and a check of it
_UNUSED = 16  # slots of columns that no query uses
_QUERIES = 256  # of one portion of a thread's work
_SHARE = 0.3  # of the k-th score that the terms left out may make up, at first


@dataclass(frozen=True)
class Crew:
    """How many threads work, and who hears of the progress (in queries, from one thread)."""

    threads: int
    progress: Progress


def serves(problem: Problem) -> bool:
    """Whether this way answers the problem, and is worth what loading the kernels costs."""
    return (
        problem.metric == "ip"
        and isinstance(problem.base, CsrRef)
        and problem.query_tags is None
        and problem.radius is None
        and problem.base.shape[1] <= _MOST_DIMENSIONS
        and problem.base.shape[0] * problem.queries.shape[0] >= FEWEST_PAIRS
    )


def working_bytes(problem: Problem, threads: int) -> int:
    """What `search` takes of memory at most, besides its answers and what a live set takes.

    Rows that are not canonical, sorted anew, take the most: a float64, and copies of column and value for each entry.
    """
    rows, columns = problem.base.shape
    slots = min(columns, problem.queries.indices.shape[0]) + _UNUSED if isinstance(problem.queries, CsrRef) else 0
    return _ENTRY_BYTES * _SPAN_ENTRIES + 12 * _BLOCKS * slots + (8 * threads + 4) * columns + _ROW_BYTES * rows


def search(problem: Problem, points: Points, best: Best, crew: Crew) -> None:
    """Fill `best` with the k points of the largest inner product with each query.

    Memory: see `working_bytes`. Raises DataError where the base has column
    numbers that it cannot have.
    """
    queries = SparseRows(problem.queries.open()).take(slice(None))
    count, dim = queries.shape
    asked, slot_of = _asked(queries)
    kept = Kept(best.distances, best.points, np.full(count, _SHARE))
    free: SimpleQueue[Scratch] = SimpleQueue()
    for _ in range(crew.threads):
        free.put(_scratch(dim, problem.k))
    crew.progress("exact answers", 0, count)
    pool = ThreadPoolExecutor(crew.threads)
    try:
        for first, span in _Spans(problem.base.open(), points, slot_of).indexed(pool):
            if first == 0:
                asked = _cheapest_first(asked, span)
            task = partial(_portion, span, asked, kept, free, first)
            for done in pool.map(task, range(0, count, _QUERIES)):
                rows = first * count + (len(span.indptr) - 1) * done
                crew.progress("exact answers", min(count - 1, rows // points.count), count)
    finally:
        pool.shutdown(cancel_futures=True)
    order = np.lexsort((best.points, best.distances))
    best.points[...] = np.take_along_axis(best.points, order, axis=1)
    best.distances[...] = np.take_along_axis(best.distances, order, axis=1)
    crew.progress("exact answers", count, count)


def _portion(span: Span, asked: Asked, kept: Kept, free: SimpleQueue[Scratch], point: int, first: int) -> int:
    """Search a span, which begins at a point, for some queries from `first`; returns how many queries are done."""
    from ann_bench.truth import sparse_kernels

    last = min(first + _QUERIES, len(kept.shares))
    scratch = free.get()
    try:
        sparse_kernels.search(span, asked, kept, scratch, (first, last, point))
    finally:
        free.put(scratch)
    return last


def _asked(queries: csr_matrix) -> tuple[Asked, Array]:
    """The queries, canonical, and the slot of each column; those that no query uses share a few, which is cheaper
    than to tell them apart."""
    columns = queries.indices.astype(np.int32)
    used = np.unique(columns)
    slot_of = len(used) + np.arange(queries.shape[1], dtype=np.int32) % _UNUSED
    slot_of[used] = np.arange(len(used), dtype=np.int32)
    weights = queries.data.astype(np.float64)
    numbers = np.repeat(np.arange(queries.shape[0]), np.diff(queries.indptr))
    lengths = np.sqrt(np.bincount(numbers, weights=weights * weights, minlength=queries.shape[0]))
    return Asked(queries.indptr.astype(np.int64), columns, slot_of[columns], weights, lengths), slot_of


def _cheapest_first(asked: Asked, span: Span) -> Asked:
    """The terms of each query by what they can add for each posting of theirs, as far as this span can tell."""
    postings = (span.starts[:, 1:] - span.starts[:, :-1]).sum(axis=0)
    highest, lowest = span.highest.max(axis=0), span.lowest.min(axis=0)
    bounds = np.maximum(asked.weights * highest[asked.slots], asked.weights * lowest[asked.slots])
    numbers = np.repeat(np.arange(len(asked.lengths)), np.diff(asked.indptr))
    order = np.lexsort((bounds / (postings[asked.slots] + 1), numbers))
    return asked._replace(columns=asked.columns[order], slots=asked.slots[order], weights=asked.weights[order])


def _scratch(dim: int, k: int) -> Scratch:
    sums = np.full(-(-BLOCK_ROWS // STRIP) * STRIP, -0.0, dtype=np.float32)
    return Scratch(sums, np.zeros(dim), np.empty(k), np.zeros(k, dtype=np.int32))


class _Spans:
    """The points of a base in spans of some blocks, each indexed when its turn comes; one is held at a time."""

    def __init__(self, base: csr_matrix, points: Points, slot_of: Array) -> None:
        self._base, self._points, self._slot_of = base, points, slot_of
        self._indptr = base.indptr
        rows = points.rows(slice(0, points.count))
        if not isinstance(rows, slice):
            self._indptr = np.concatenate(([0], np.cumsum(np.diff(base.indptr)[rows], dtype=np.int64)))
        if (base.indptr[1:] < base.indptr[:-1]).any():
            raise DataError("the base's indptr goes back: its file is damaged")
        self._postings = np.empty(0, dtype=np.uint32)

    def indexed(self, pool: ThreadPoolExecutor) -> Iterator[tuple[int, Span]]:
        """Each span with its first point; it is valid until the next."""
        from ann_bench.truth import sparse_kernels

        first = 0
        while first < self._points.count:
            edges = self._edges(first)
            last = int(edges[-1])
            for canonical in (False, True):
                span = self._span(first, edges, canonical)
                build = partial(sparse_kernels.index_block, span, self._slot_of)
                if all(list(pool.map(build, range(len(edges) - 1)))):
                    break
                self._check(span.indices)
            yield first, span
            first = last

    def _check(self, columns: Array) -> None:
        if int(columns.min()) < 0 or int(columns.max()) >= self._base.shape[1]:
            raise DataError(f"the base has column numbers outside 0 to {self._base.shape[1] - 1}")

    def _edges(self, first: int) -> Array:
        """The first points of the blocks of a span, and where the last one ends."""
        edges = [first]
        while len(edges) <= _BLOCKS and edges[-1] < self._points.count:
            start = edges[-1]
            full = int(np.searchsorted(self._indptr, self._indptr[start] + _BLOCK_ENTRIES, side="right")) - 1
            stop = min(max(full, start + 1), start + BLOCK_ROWS, self._points.count)
            if len(edges) > 1 and self._indptr[stop] - self._indptr[first] > _SPAN_ENTRIES:
                break
            edges.append(stop)
        return np.array(edges, dtype=np.int64)

    def _span(self, first: int, edges: Array, canonical: bool) -> Span:
        """A span that is not indexed yet; the rows as they stand, or made canonical."""
        rows = self._points.rows(slice(first, int(edges[-1])))
        if canonical or self._base.data.dtype not in (np.float32, np.float64):
            block = SparseRows(self._base).take(rows)
            indptr, indices, values = block.indptr, block.indices, block.data
        else:
            indptr, where = csr_rows(self._base.indptr, rows)
            indices, values = self._base.indices[where], self._base.data[where]
        if len(indices) > len(self._postings):
            self._postings = np.empty(len(indices), dtype=np.uint32)
        blocks, slots = len(edges) - 1, int(self._slot_of.max(initial=-1)) + 1
        return Span(
            _plain(indptr, np.int64),
            _plain(indices, np.int32),
            _plain(values, values.dtype),
            edges - first,
            np.empty((blocks, slots + 1), dtype=np.int32),
            self._postings,
            np.empty((blocks, slots), dtype=np.float32),
            np.empty((blocks, slots), dtype=np.float32),
            np.zeros(len(indptr) - 1 + STRIP, dtype=np.float32),
            np.empty(blocks),
        )


def _plain(values: Array, dtype: npt.DTypeLike) -> Array:
    """The same values, of one layout whatever file they come from: each other one would be compiled anew."""
    plain: Array = np.require(values, dtype=dtype, requirements=["C", "A"]).view()
    plain.flags.writeable = False
    return plain
