"""Many queries against a block of dense rows: scores tile by tile, and the candidates among them.

A tile of scores is one matrix product that holds the whole score, so that it is read once, while a cache holds it.
All that costs the same for one query as for thousands (limits, exact distances, the best lists) is done once for
the block of rows, not once for each tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ann_bench.truth import scan
from ann_bench.truth.best import Best
from ann_bench.truth.scan import Asking, Found, kth_smallest, measure
from ann_bench.truth.score import Scorer

Ints = npt.NDArray[np.integer[Any]]
Numbers = npt.NDArray[Any]

SCORES = 1 << 20  # scores of one tile: 4 MiB, which a shared cache holds
_WORD = 64  # scores looked at together
_MOST_CANDIDATES = 1 << 18  # candidates held before they are measured


class Block(Protocol):
    """The rows of one block, ready to be scored; a smaller score is nearer."""

    @property
    def count(self) -> int:
        """How many rows it has."""

    @property
    def dtype(self) -> type[np.generic]:
        """The type of its scores: four bytes."""

    def write(self, queries: slice, out: Numbers) -> None:
        """The scores of some of the queries against all rows, into `out` (queries, count)."""

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

    def __init__(self, scores: Scorer, asking: Asking, queries: npt.NDArray[np.float32], integers: bool) -> None:
        self.count = len(scores.base.vectors)
        self._scores, self._asking, self._queries, self._integers = scores, asking, queries, integers
        self._rows = scores.whole_rows()

    def write(self, queries: slice, out: Numbers) -> None:
        """The scores of some of the queries against all rows, into `out` (queries, count) float32."""
        np.matmul(self._queries[queries], self._rows.T, out=out)

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
        return measure(self._scores, self._asking, found, self._integers)


class Tiles:
    """Offers to `best` what may be among the nearest of many queries; one thread uses one."""

    def __init__(self, asking: Asking, best: Best) -> None:
        self._asking, self._best = asking, best
        self._k = best.points.shape[1]
        self._scores = np.empty(0, dtype=np.float32)
        self._mask = np.empty(0, dtype=bool)

    def search(self, block: Block, points: Ints) -> None:
        """Search a block; `points` ascend and come after all that the queries were offered before."""
        running = self._best.kth(self._asking.numbers)
        limits, fresh = block.limits(running), np.isinf(running)
        step = max(1, SCORES // block.count)
        parts: list[tuple[Ints, Ints, Numbers]] = []
        for first in range(0, len(running), step):
            tile = slice(first, min(first + step, len(running)))
            places, scores = self._tile(block, tile, limits[tile], bool(fresh[tile].any()))
            parts.append((first + places // block.count, places % block.count, scores))
            if sum(len(part[0]) for part in parts) > _MOST_CANDIDATES:
                self._offer(block, points, running, parts)
                parts = []
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
        self._best.offer(self._asking.numbers[queries[keep]], found.points[keep], distances[keep])

    def _tile(self, block: Block, tile: slice, limits: Numbers, fresh: bool) -> tuple[Ints, Numbers]:
        """Where the candidates of a tile lie in it, and their scores."""
        size = (tile.stop - tile.start) * block.count
        if size > len(self._scores):
            self._scores, self._mask = np.empty(size, dtype=np.float32), np.empty(size + _WORD, dtype=bool)
        flat = self._scores.view(block.dtype)[:size]
        scores = flat.reshape(-1, block.count)
        block.write(tile, scores)
        if fresh:
            limits = np.minimum(limits, block.near(kth_smallest(scores, self._k), tile))
        places = self._below(scores, limits)
        if not fresh and len(places) > scan.CROWD * self._k * len(limits):
            places = self._below(scores, np.minimum(limits, block.near(kth_smallest(scores, self._k), tile)))
        return places, flat[places]

    def _below(self, scores: Numbers, limits: Numbers) -> Ints:
        """Where the scores lie that are below the limit of their query; looked for 64 at a time: most are not."""
        size = scores.size
        mask = self._mask[: -(-size // _WORD) * _WORD]
        mask[size:] = False
        np.less(scores, limits[:, None], out=mask[:size].reshape(scores.shape))
        words = np.flatnonzero(np.packbits(mask).view(np.uint64))
        inside = np.flatnonzero(mask.reshape(-1, _WORD)[words])
        return np.asarray(words[inside // _WORD] * _WORD + inside % _WORD)
