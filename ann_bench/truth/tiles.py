"""Many queries against a block of dense rows: scores tile by tile, and the candidates among them.

A tile of scores is one matrix product that holds the whole score, so that it is read once, while a cache holds it.
All that costs the same for one query as for thousands (limits, exact distances, the best lists) is done once for
the block of rows, not once for each tile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ann_bench.truth import scan
from ann_bench.truth.best import Best
from ann_bench.truth.scan import Asking, Found, kth_smallest, measure
from ann_bench.truth.score import Scorer

Ints = npt.NDArray[np.integer[Any]]
Numbers = npt.NDArray[Any]

SCORES = 1 << 18  # scores of one tile: 1 MiB, which the cache of one core holds
WIDTH = 1 << 9  # columns of one tile: products are fastest where both sides of a tile are of one size
_WORD = 64  # scores looked at together
_MOST_CANDIDATES = 1 << 18  # candidates held before they are measured
_ROOM = 1 << 14  # candidates of one tile that are expected at most


class Block(Protocol):
    """The rows of one block, ready to be scored; a smaller score is nearer."""

    @property
    def count(self) -> int:
        """How many rows it has."""

    @property
    def dtype(self) -> type[np.generic]:
        """The type of its scores: four bytes."""

    @property
    def width(self) -> int:
        """How many rows the tiles of its scores should have."""

    def write(self, queries: slice, out: Numbers, first: int = 0) -> None:
        """The scores of some of the queries against the rows from `first` on, into `out` (queries, rows)."""

    def limits(self, running: npt.NDArray[np.float64]) -> Numbers:
        """For each query the score below which every row lies that is nearer than the distance `running`."""

    def near(self, bounds: Numbers, queries: slice) -> Numbers:
        """For some of the queries the score below which every row lies that no row of score `bounds` beats."""

    def errors(self) -> npt.NDArray[np.float64]:
        """For each query how far a score may lie from the truth, other than by less than the next score."""

    def distances(self, found: Found) -> npt.NDArray[np.float64]:
        """The exact distances of candidates."""


class FloatBlock:
    """Rows scored by a product of float32: each gets its half squared length as one value more, each query a 1.

    The sum has one term more, at most |x|^2 / 2, which the error bound of `score.py` already counts.
    """

    dtype = np.float32

    def __init__(
        self,
        scores: Scorer,
        asking: Asking,
        queries: npt.NDArray[np.float32],
        integers: bool,
        compiled: bool = False,
    ) -> None:
        self.count = len(scores.base.vectors)
        self._scores, self._asking, self._queries = scores, asking, queries
        self._integers, self._compiled = integers, compiled
        self._rows = scores.whole_rows()

    @property
    def width(self) -> int:
        """How many rows the tiles of its scores should have."""
        return WIDTH

    def write(self, queries: slice, out: Numbers, first: int = 0) -> None:
        """The scores of some of the queries against the rows from `first` on, into `out` (queries, rows) float32."""
        np.matmul(self._queries[queries], self._rows[first : first + out.shape[1]].T, out=out)

    def limits(self, running: npt.NDArray[np.float64]) -> Numbers:
        """For each query the score below which every row lies that is nearer than the distance `running`."""
        return self._scores.limits(running, self._asking.squares)

    def near(self, bounds: Numbers, queries: slice) -> Numbers:
        """For some of the queries the score below which every row lies that no row of score `bounds` beats."""
        return self._scores.near(bounds.astype(np.float64), self._asking.squares[queries])

    def errors(self) -> npt.NDArray[np.float64]:
        """For each query how far a score may lie from the truth: dense rows have one bound for all scores."""
        return self._scores.errors(np.zeros(len(self._asking.squares)), self._asking.squares)

    def distances(self, found: Found) -> npt.NDArray[np.float64]:
        """The exact distances of candidates."""
        return measure(self._scores, self._asking, found, self._integers, self._compiled)


class Tiles:
    """Offers to `best` what may be among the nearest of many queries; one thread uses one."""

    def __init__(self, asking: Asking, best: Best, compiled: bool) -> None:
        """`compiled` says that there is enough to do to load the compiled loops; the answers are the same."""
        self._asking, self._best = asking, best
        self._k = best.points.shape[1]
        self._scores = np.empty(0, dtype=np.float32)
        self._below = _compiled_below() if compiled else _Masked().below
        self._insert = best.insert if compiled else best.offer

    def search(self, block: Block, points: Ints) -> None:
        """Search a block; `points` ascend and come after all that the queries were offered before."""
        running = self._best.kth(self._asking.numbers)
        limits, fresh = block.limits(running), np.isinf(running)
        parts: list[tuple[Ints, Ints, Numbers]] = []
        held = 0
        for tile, columns in _cut(block, len(running), bool(fresh.any())):
            places, scores = self._tile(block, (tile, columns), limits[tile], bool(fresh[tile].any()))
            width = columns.stop - columns.start
            parts.append((tile.start + places // width, columns.start + places % width, scores))
            held += len(places)
            if held > _MOST_CANDIDATES:
                self._offer(block, points, running, parts)
                parts, held = [], 0
        self._offer(block, points, running, parts)

    def _offer(
        self,
        block: Block,
        points: Ints,
        running: npt.NDArray[np.float64],
        parts: Sequence[tuple[Ints, Ints, Numbers]],
    ) -> None:
        """Measure candidates (queries, columns, scores) exactly and offer those that are nearer than `running`."""
        if not any(len(part[0]) for part in parts):
            return
        queries, columns, scores = (np.concatenate(column) for column in zip(*parts, strict=True))
        found = Found(queries, columns, points[columns], scores)
        distances = block.distances(found)
        keep = distances < running[queries]
        self._insert(self._asking.numbers[queries[keep]], found.points[keep], distances[keep])

    def _tile(self, block: Block, tile: tuple[slice, slice], limits: Numbers, fresh: bool) -> tuple[Ints, Numbers]:
        """Where the candidates of a tile (queries, columns) lie in it, and their scores."""
        queries, columns = tile
        width = columns.stop - columns.start
        size = len(limits) * width
        if size > len(self._scores):
            self._scores = np.empty(size, dtype=np.float32)
        flat = self._scores.view(block.dtype)[:size]
        scores = flat.reshape(-1, width)
        block.write(queries, scores, columns.start)
        if fresh:
            limits = np.minimum(limits, block.near(kth_smallest(scores, self._k), queries))
        places = self._below(scores, limits)
        if not fresh and len(places) > scan.CROWD * self._k * len(limits):
            places = self._below(scores, np.minimum(limits, block.near(kth_smallest(scores, self._k), queries)))
        return places, flat[places]


def _cut(block: Block, queries: int, whole: bool) -> Iterator[tuple[slice, slice]]:
    """Tiles of a block: queries and columns. With `whole` a tile has all columns: of what comes first for a query,
    all scores together bound best what may be near."""
    width = block.count if whole else min(block.count, block.width)
    step = max(1, SCORES // max(1, width))
    for first in range(0, queries, step):
        for start in range(0, block.count, width):
            yield slice(first, min(first + step, queries)), slice(start, min(start + width, block.count))


class _Masked:
    """Where scores lie that are below a limit, by numpy alone."""

    def __init__(self) -> None:
        self._mask = np.empty(0, dtype=bool)

    def below(self, scores: Numbers, limits: Numbers) -> Ints:
        """Where the scores lie that are below the limit of their query; looked for 64 at a time: most are not."""
        size = scores.size
        words = -(-size // _WORD) * _WORD
        if words > len(self._mask):
            self._mask = np.empty(words, dtype=bool)
        mask = self._mask[:words]
        mask[size:] = False
        np.less(scores, limits[:, None], out=mask[:size].reshape(scores.shape))
        held = np.flatnonzero(np.packbits(mask).view(np.uint64))
        inside = np.flatnonzero(mask.reshape(-1, _WORD)[held])
        return np.asarray(held[inside // _WORD] * _WORD + inside % _WORD)


def _compiled_below() -> Callable[[Numbers, Numbers], Ints]:
    """The same in one pass over the scores."""
    from ann_bench.truth import dense_kernels

    places = np.empty(_ROOM, dtype=np.int64)

    def below(scores: Numbers, limits: Numbers) -> Ints:
        nonlocal places
        found = dense_kernels.below(scores, limits, places)
        if found > len(places):
            places = np.empty(found, dtype=np.int64)
            dense_kernels.below(scores, limits, places)
        return np.array(places[:found])

    return below
