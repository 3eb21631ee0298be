"""Many queries against dense rows, block by block: in integers where all values are bytes, else in float32."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.datasets.dataset import Metric
from ann_bench.truth.integers import IntegerBlock, scored_in_integers
from ann_bench.truth.scan import Asking, Cell, Scan
from ann_bench.truth.score import scorer, side, whole_queries
from ann_bench.truth.tiles import Block, FloatBlock, Tiles
from ann_bench.truth.vectors import DenseRows, Index

Ints = npt.NDArray[np.integer[Any]]

FEWEST_QUERIES = 16  # for fewer, preparing the rows costs more than it saves
# Scores of one block of rows. The product of floats is fastest where a tile has as many queries as rows; bytes are
# so fast that what is done once for a block counts more.
_BLOCK_SCORES = 1 << 22
_BLOCK_SCORES_OF_BYTES = 1 << 24
_FEWEST_ROWS = 1 << 10
#: Pairs of query and row; for fewer, loading compiled loops costs more than they save.
FEWEST_PAIRS = 250_000_000


@dataclass(frozen=True)
class Asked:
    """The numbers of the queries of one job, and with how many pairs of query and row the work goes on as this does."""

    numbers: Ints
    pairs: int


class Scored:
    """Makes blocks of rows that score against the same queries. One thread uses one."""

    def __init__(
        self, metric: Metric, base: DenseRows, queries: DenseRows, asking: Asking, compiled: bool = False
    ) -> None:
        """`compiled` says that there is enough to do to load compiled loops; the answers are the same."""
        self._metric, self._base, self._asking, self._compiled = metric, base, asking, compiled
        self._bytes = base.small_integers and queries.small_integers
        self._integers = scored_in_integers(metric, base.dtype, queries.dtype, base.dim)
        if self._integers:
            self._queries = np.ascontiguousarray(queries.raw(asking.numbers))
        else:
            self._queries = whole_queries(metric, asking.side)

    def block(self, rows: Index) -> Block | None:
        """The block of these rows; None where float32 does not hold what it needs."""
        if self._integers:
            return IntegerBlock.of(self._metric, self._asking, self._queries, self._base.raw(rows))
        scores = scorer(self._metric, self._asking.side, side(self._base.take(rows)), self._bytes)
        if scores.base.vectors.dtype != np.float32:
            return None
        return FloatBlock(scores, self._asking, self._queries, self._bytes, self._compiled)


class Dense:
    """The search of one job: all its queries, whatever rows come. One thread uses one."""

    def __init__(self, scan: Scan, base: DenseRows, queries: DenseRows, asked: Asked) -> None:
        self._scan, self._base = scan, base
        self._asking = Asking.of(asked.numbers, queries)
        compiled = asked.pairs >= FEWEST_PAIRS
        self._tiles = Tiles(self._asking, scan.best, compiled)
        self._scored = Scored(scan.metric, base, queries, self._asking, compiled)

    def search(self, rows: Index, points: Ints) -> None:
        """Offer the points of these rows to the queries; `points` ascend and come after all before them."""
        block = self._scored.block(rows)
        if block is not None:
            self._tiles.search(block, points)
        else:
            cells = [Cell(0, len(self._asking.numbers), 0, len(points))]
            self._scan.cells(self._asking, self._base.take(rows), points, cells)


def block_rows(queries: int, most: int, values_of_bytes: bool) -> int:
    """How many rows a block should have for so many queries, at most `most`."""
    scores = _BLOCK_SCORES_OF_BYTES if values_of_bytes else _BLOCK_SCORES
    return min(most, max(_FEWEST_ROWS, scores // queries))
