"""One scan of the rows of a stream for the nearest points of every group of equal lifetime to each query, by scores.

A block of rows holds pieces of many groups; a tile of scores is one matrix product, and each piece of it is offered
to the list of its group. The lists hold scores, which have an error: what is nearest is left to `shortlist.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.datasets.dataset import Metric
from ann_bench.truth.dense import Scored, block_rows
from ann_bench.truth.lives import Lifetime
from ann_bench.truth.scan import SCORES, Asking
from ann_bench.truth.vectors import DenseRows, Index

Numbers = npt.NDArray[np.int64]

_BLOCK_VALUES = 1 << 20  # of one block of rows, at most
_FEWEST_ROWS = 64


class Order:
    """The points of all groups in the order of their rows, numbered; a row that lives twice is two points."""

    def __init__(self, groups: Sequence[Lifetime]) -> None:
        runs = np.concatenate([group.runs for group in groups])
        group_of = np.repeat(np.arange(len(groups)), [len(group.runs) for group in groups])
        order = np.argsort(runs[:, 1], kind="stable")
        self._ids, self._rows, lengths = runs[order].T
        self._groups = group_of[order]
        self._ends = np.cumsum(lengths)
        self._starts = self._ends - lengths
        self.count = int(self._ends[-1])

    def blocks(self, step: int) -> Iterator[tuple[int, Index, Numbers]]:
        """Blocks of at most `step` points: the first point, the rows, and the pieces.

        Pieces are (m, 3) int64: first and last place in the block, and the group.
        """
        for first in range(0, self.count, step):
            last = min(first + step, self.count)
            runs = slice(*np.searchsorted(self._starts, (first + 1, last)).tolist())
            runs = slice(runs.start - 1, runs.stop)
            starts = np.maximum(self._starts[runs], first)
            stops = np.minimum(self._ends[runs], last)
            rows = self._rows[runs] + starts - self._starts[runs]
            pieces = np.column_stack([starts - first, stops - first, self._groups[runs]])
            if np.array_equal(rows[1:], (rows + stops - starts)[:-1]):
                yield first, slice(int(rows[0]), int(rows[0]) + last - first), pieces
            else:
                yield first, np.repeat(rows - pieces[:, 0], stops - starts) + np.arange(last - first), pieces

    def rows_and_ids(self, points: npt.NDArray[np.int32]) -> tuple[Numbers, Numbers]:
        """The base rows and the ids of these points."""
        run = np.searchsorted(self._starts, points, side="right") - 1
        within = points - self._starts[run]
        return self._rows[run] + within, self._ids[run] + within


@dataclass(frozen=True)
class Task:
    """What every portion of the queries shares: metric, vectors, groups of points.

    `told` hears, from any thread, of pairs of query and point that are done; it may raise to stop the work.
    """

    metric: Metric
    base: DenseRows
    queries: DenseRows
    groups: Sequence[Lifetime]
    told: Callable[[int], None]

    @cached_property
    def order(self) -> Order:
        """The points of all groups."""
        return Order(self.groups)


@dataclass(frozen=True)
class Lists:
    """For each group and query the `length` points with the least scores, ascending.

    `keys` (groups, queries, length), `none` where there are fewer; `points` int32 of the same shape. `errors`
    (queries,) float64: how far a score may lie from the truth, other than by less than the next score.
    """

    keys: npt.NDArray[Any]
    points: npt.NDArray[np.int32]
    none: Any
    errors: npt.NDArray[np.float64]


def sweep(task: Task, asking: Asking, length: int) -> Lists | None:
    """The lists of these queries; None where float32 does not hold what some block needs."""
    from ann_bench.truth import sweep_kernels

    scored = Scored(task.metric, task.base, task.queries, asking)
    count = len(asking.numbers)
    most = max(_FEWEST_ROWS, _BLOCK_VALUES // max(1, task.base.dim))
    step = block_rows(count, most, task.base.small_integers)
    lists: Lists | None = None
    values = np.empty(0, dtype=np.float32)
    for first, rows, pieces in task.order.blocks(step):
        block = scored.block(rows)
        if block is None:
            return None
        if lists is None:
            none = block.dtype(np.inf) if block.dtype is np.float32 else block.dtype(np.iinfo(np.int32).max)
            keys = np.full((len(task.groups), count, length), none, dtype=block.dtype)
            lists = Lists(keys, np.empty(keys.shape, dtype=np.int32), none, np.zeros(count))
        np.maximum(lists.errors, block.errors(), out=lists.errors)
        queries = max(1, SCORES // block.count)
        if min(queries, count) * block.count > len(values):
            values = np.empty(min(queries, count) * block.count, dtype=np.float32)
        for start in range(0, count, queries):
            tile = slice(start, min(start + queries, count))
            size = (tile.stop - tile.start) * block.count
            scores = values.view(block.dtype)[:size].reshape(-1, block.count)
            block.write(tile, scores)
            sweep_kernels.select(scores, pieces, (lists.keys, lists.points), start, first)
        task.told(count * block.count)
    return lists
