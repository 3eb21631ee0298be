"""From scores to exact answers: choose the candidates of each query, measure them exactly, keep the best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from ann_bench.datasets.dataset import Metric
from ann_bench.truth.best import Best
from ann_bench.truth.distance import chunk_pairs, measured, paired
from ann_bench.truth.score import Scorer, Side, scorer, side
from ann_bench.truth.vectors import Block, Rows

Ints = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.floating[Any]]

SCORES = 1 << 20  # scores held at once by one thread: 4 MiB, which a shared cache holds
CROWD = 16  # more candidates than this many times k for each query: worth a second look at the threshold


@dataclass(frozen=True)
class Cell:
    """Queries `first` to `last` of a block of queries against the rows `start` to `stop` of a block of rows."""

    first: int
    last: int
    start: int
    stop: int

    @property
    def size(self) -> int:
        """How many scores it has."""
        return (self.last - self.first) * (self.stop - self.start)


@dataclass(frozen=True)
class Asking:
    """A block of queries: their numbers among all queries, vectors, and squared lengths in float64."""

    numbers: Ints
    side: Side
    squares: npt.NDArray[np.float64]

    @staticmethod
    def of(numbers: Ints, queries: Rows) -> Asking:
        """The queries with these numbers."""
        block = queries.take(numbers)
        wide = paired("ip", block.astype(np.float64), block.astype(np.float64), False)
        return Asking(numbers, side(block), -wide)


@dataclass(frozen=True)
class Found:
    """Candidates: place of the query in its block, column in the block of rows, point and score of each."""

    queries: Ints
    columns: Ints
    points: Ints
    scores: Floats


class Scan:
    """Offers to `best` every point that may be among the nearest of a query, with its exact distance."""

    def __init__(self, metric: Metric, integers: bool, best: Best) -> None:
        self.metric = metric
        self.integers = integers
        self.best = best
        self._k = best.points.shape[1]

    def cells(self, asking: Asking, block: Block, points: Ints, cells: Sequence[Cell]) -> None:
        """Search these cells; `block` holds the vectors of `points`, which ascend within each cell."""
        scores = scorer(self.metric, asking.side, side(block), self.integers)
        for run in _runs(cells):
            self._run(asking, scores, points, run)

    def _run(self, asking: Asking, scores: Scorer, points: Ints, cells: Sequence[Cell]) -> None:
        queries = slice(cells[0].first, cells[-1].last)
        running = self.best.kth(asking.numbers[queries])
        squares = asking.squares[queries]
        values = np.empty(sum(c.size for c in cells), dtype=scores.base.squares.dtype)
        views = _views(values, cells)
        for cell, view in zip(cells, views, strict=True):
            scores.write(slice(cell.first, cell.last), slice(cell.start, cell.stop), view)
        fresh = bool(np.isinf(running).any())
        bounds = self._bounds(views) if fresh else None
        limits = scores.limits(running, squares)
        if bounds is not None:
            limits = np.minimum(limits, scores.near(bounds, squares))
        mask = _below(cells, views, limits)
        if not fresh and np.count_nonzero(mask) > CROWD * self._k * len(running):
            mask = _below(cells, views, np.minimum(limits, scores.near(self._bounds(views), squares)))
        found = _found(cells, values, np.flatnonzero(mask), points)
        if len(found.queries):
            self._offer(asking, scores, found, running[found.queries - queries.start])

    def _bounds(self, views: Sequence[Floats]) -> npt.NDArray[np.float64]:
        """For each query at least the k-th smallest score of its row of scores, infinite where it has fewer."""
        parts = [kth_smallest(view, self._k) for view in views]
        return np.concatenate(parts).astype(np.float64)

    def _offer(self, asking: Asking, scores: Scorer, found: Found, running: npt.NDArray[np.float64]) -> None:
        """Measure the candidates exactly and offer them."""
        distances = measure(scores, asking, found, self.integers)
        keep = distances < running
        self.best.offer(asking.numbers[found.queries[keep]], found.points[keep], distances[keep])


def measure(
    scores: Scorer, asking: Asking, found: Found, integers: bool, compiled: bool = False
) -> npt.NDArray[np.float64]:
    """The exact distances of candidates; `integers` says that all values are 8-bit integers.

    `compiled` says that there is enough to do to load compiled loops; the distances are the same.
    """
    if scores.exact:
        distances = found.scores.astype(np.float64) + 0.0
        return 2 * distances + asking.squares[found.queries] if scores.metric == "euclidean" else distances
    rows = scores.base.vectors
    if compiled and not integers and not isinstance(rows, csr_matrix):
        return measured(scores.metric, asking.side.vectors, rows, (found.queries, found.columns))
    distances = np.empty(len(found.queries))
    pairs = chunk_pairs(rows.nnz / max(1, rows.shape[0]) if isinstance(rows, csr_matrix) else rows.shape[1])
    for start in range(0, len(distances), pairs):
        part = slice(start, start + pairs)
        left, right = asking.side.vectors[found.queries[part]], rows[found.columns[part]]
        distances[part] = paired(scores.metric, left, right, integers)
    return distances


def _runs(cells: Sequence[Cell]) -> Iterator[list[Cell]]:
    """The cells in runs of at most `SCORES` scores; a cell that is larger is cut into blocks of queries."""
    run: list[Cell] = []
    size = 0
    for cell in cells:
        width = max(1, cell.stop - cell.start)
        step = max(1, SCORES // width)
        for first in range(cell.first, cell.last, step):
            part = Cell(first, min(first + step, cell.last), cell.start, cell.stop)
            if run and size + part.size > SCORES:
                yield run
                run, size = [], 0
            run.append(part)
            size += part.size
    if run:
        yield run


def _views(values: Floats, cells: Sequence[Cell]) -> list[Floats]:
    views = []
    start = 0
    for cell in cells:
        views.append(values[start : start + cell.size].reshape(cell.last - cell.first, cell.stop - cell.start))
        start += cell.size
    return views


def kth_smallest(view: npt.NDArray[Any], k: int) -> npt.NDArray[Any]:
    """For each row of scores a value that at least `k` of them do not exceed; the largest where there are fewer."""
    rows, columns = view.shape
    if columns < k:
        return np.full(rows, np.inf if view.dtype.kind == "f" else np.iinfo(view.dtype).max, dtype=view.dtype)
    groups = columns // 32
    if groups >= 16 * k:
        # k of the least scores of disjoint groups are k scores: their maximum bounds the k-th of all, and
        # finding it reads the scores once.
        view = view[:, : groups * 32].reshape(rows, 32, groups).min(axis=1)
    return np.asarray(np.partition(view, k - 1, axis=1)[:, k - 1])


def _below(cells: Sequence[Cell], views: Sequence[Floats], limits: Floats) -> npt.NDArray[np.bool_]:
    """Which scores lie below the limit of their query, in the order of the scores."""
    mask = np.empty(sum(view.size for view in views), dtype=bool)
    columns = limits[:, None]
    start = 0
    base = cells[0].first
    for cell, view in zip(cells, views, strict=True):
        part = mask[start : start + view.size].reshape(view.shape)
        np.less(view, columns[cell.first - base : cell.last - base], out=part)
        start += view.size
    return mask


def _found(cells: Sequence[Cell], values: Floats, places: Ints, points: Ints) -> Found:
    """The candidates at these places of a run's scores."""
    table = np.array([(c.size, c.first, c.start, max(1, c.stop - c.start)) for c in cells], dtype=np.int64)
    ends = np.cumsum(table[:, 0])
    cell = np.searchsorted(ends, places, side="right")
    local = places - (ends - table[:, 0])[cell]
    width = table[cell, 3]
    columns = table[cell, 2] + local % width
    return Found(table[cell, 1] + local // width, columns, points[columns], values[places])
