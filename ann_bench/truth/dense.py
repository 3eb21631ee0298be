"""Many queries against dense rows, block by block: in integers where all values are bytes, else in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.truth.integers import IntegerBlock, scored_in_integers
from ann_bench.truth.scan import Asking, Cell, Scan
from ann_bench.truth.score import scorer, side, whole_queries
from ann_bench.truth.tiles import FloatBlock, Tiles
from ann_bench.truth.vectors import DenseRows, Index

Ints = npt.NDArray[np.integer[Any]]

FEWEST_QUERIES = 16  # for fewer, preparing the rows costs more than it saves
# Scores of one block of rows. The product of floats is fastest where a tile has as many queries as rows; bytes are
# so fast that what is done once for a block counts more.
_BLOCK_SCORES = 1 << 22
_BLOCK_SCORES_OF_BYTES = 1 << 24
_FEWEST_ROWS = 1 << 10


class Dense:
    """The search of one job: all its queries, whatever rows come. One thread uses one."""

    def __init__(self, scan: Scan, base: DenseRows, queries: DenseRows, numbers: Ints) -> None:
        self._scan, self._base = scan, base
        self._asking = Asking.of(numbers, queries)
        self._tiles = Tiles(self._asking, scan.best)
        self._integers = scored_in_integers(scan.metric, base.dtype, queries.dtype, base.dim)
        if self._integers:
            self._queries = np.ascontiguousarray(queries.raw(numbers))
        else:
            self._queries = whole_queries(scan.metric, self._asking.side)

    def search(self, rows: Index, points: Ints) -> None:
        """Offer the points of these rows to the queries; `points` ascend and come after all before them."""
        if self._integers:
            rows_of_bytes = self._base.raw(rows)
            self._tiles.search(IntegerBlock.of(self._scan.metric, self._asking, self._queries, rows_of_bytes), points)
            return
        block = self._base.take(rows)
        scores = scorer(self._scan.metric, self._asking.side, side(block), self._scan.integers)
        if scores.base.vectors.dtype == np.float32:
            self._tiles.search(FloatBlock(scores, self._asking, self._queries, self._scan.integers), points)
        else:
            self._scan.cells(self._asking, block, points, [Cell(0, len(self._asking.numbers), 0, len(points))])


def block_rows(queries: int, most: int, values_of_bytes: bool) -> int:
    """How many rows a block should have for so many queries, at most `most`."""
    scores = _BLOCK_SCORES_OF_BYTES if values_of_bytes else _BLOCK_SCORES
    return min(most, max(_FEWEST_ROWS, scores // queries))
