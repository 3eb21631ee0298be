"""Rows of 8-bit integers, scored by integer products: exact, and several times as fast as float32.

The products are numkong's, which chooses at run time what the CPU has (matrix units, dot product instructions).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numkong
import numpy as np
import numpy.typing as npt

from ann_bench.datasets.dataset import Metric
from ann_bench.truth.scan import Asking, Found

Numbers = npt.NDArray[Any]

_LARGEST = {"uint8": 255**2, "int8": 128**2}  # the largest product of two values
_FLOAT32 = 1 << 24  # float32 holds every integer up to here


def scored_in_integers(metric: Metric, base: np.dtype[Any], queries: np.dtype[Any], dim: int) -> bool:
    """Whether `IntegerBlock` can score them: one 8-bit type, no division, and sums that int32 holds."""
    if base != queries or base.name not in _LARGEST or metric == "angular":
        return False
    return 0 < dim * _LARGEST[base.name] * 2 < 2**31


@dataclass(frozen=True)
class IntegerBlock:
    """Rows against queries of the same 8-bit type; scores are int32.

        euclidean   floor(|x|^2 / 2) - q.x
        ip          -q.x

    `queries` (nq, d) and `rows` (count, d) C-contiguous; `packed` and `halves` are made of the rows by `of`.
    """

    metric: Metric
    asking: Asking
    queries: Numbers
    rows: Numbers
    packed: Any
    squares: npt.NDArray[np.int64]
    shift: npt.NDArray[np.int32]
    dtype: type[np.generic] = np.int32

    @staticmethod
    def of(metric: Metric, asking: Asking, queries: Numbers, rows: Numbers) -> IntegerBlock:
        """The block of these rows; `scored_in_integers` must hold."""
        rows = np.ascontiguousarray(rows)
        squares = np.zeros(len(rows), dtype=np.int64)
        if metric == "euclidean":
            small = rows.shape[1] * _LARGEST[rows.dtype.name] < _FLOAT32
            wide = rows.astype(np.float32 if small else np.float64)
            squares = np.einsum("ij,ij->i", wide, wide).astype(np.int64)
        return IntegerBlock(
            metric, asking, queries, rows, numkong.dots_pack(rows), squares, (squares // 2).astype(np.int32)
        )

    @property
    def count(self) -> int:
        """How many rows it has."""
        return len(self.rows)

    @property
    def width(self) -> int:
        """How many rows the tiles of its scores should have: all, which are packed together."""
        return self.count

    def write(self, queries: slice, out: Numbers, first: int = 0) -> None:
        """The scores of some of the queries against all rows, into `out` (queries, count) int32; `first` is 0."""
        products = out if self.queries.dtype == np.int8 else out.view(np.uint32)
        numkong.dots_packed(self.queries[queries], self.packed, out=numkong.from_dlpack(products))
        np.subtract(self.shift, out, out=out)

    def limits(self, running: npt.NDArray[np.float64]) -> Numbers:
        """For each query the score below which every row lies that is nearer than the distance `running`."""
        level = (running - self.asking.squares) / 2 if self.metric == "euclidean" else running
        # A score v is an integer, so v < level and v < ceil(level) say the same.
        return np.ceil(np.minimum(level, 2.0**31 - 1)).astype(np.int32)

    def near(self, bounds: Numbers, queries: slice) -> Numbers:
        """For some of the queries the score below which every row lies that no row of score `bounds` beats."""
        return np.minimum(bounds.astype(np.int64) + 1, 2**31 - 1).astype(np.int32)

    def errors(self) -> npt.NDArray[np.float64]:
        """None: a row with a larger score is never nearer."""
        return np.zeros(len(self.asking.squares))

    def distances(self, found: Found) -> npt.NDArray[np.float64]:
        """The exact distances of candidates."""
        if self.metric == "ip":
            return found.scores.astype(np.float64) + 0.0
        odd = self.squares[found.columns] & 1
        return 2 * found.scores.astype(np.float64) + odd + self.asking.squares[found.queries]
