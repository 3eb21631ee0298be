"""A runbook while it is made: steps are added in order and counted, then written in the big-ann grammar."""

from __future__ import annotations

from itertools import accumulate
from typing import Literal

from ann_bench.datasets.makers.streams import Stream, zipf

Sizes = Literal["equal", "zipf"]

_ODD = 40_503  # odd: multiplying by it scatters the numbers below 2**16


class Book:
    """Steps of a stream over `rows` base rows; a step that would change nothing is left out.

    `place` marks where a search may stand; `text` puts as many as are asked for into these places, spread evenly.
    """

    def __init__(self) -> None:
        self._steps: list[str | None] = []
        self._live = 0
        self.most = 0

    def insert(self, ids: range) -> None:
        """Add base rows under their own numbers."""
        self._change(ids, f"{{operation: insert, start: {ids.start}, end: {ids.stop}}}")
        self._live += len(ids)
        self.most = max(self.most, self._live)

    def delete(self, ids: range) -> None:
        """Remove live ids."""
        self._change(ids, f"{{operation: delete, start: {ids.start}, end: {ids.stop}}}")
        self._live -= len(ids)

    def replace(self, tags: range, rows: range) -> None:
        """Give live ids the vectors of as many other rows."""
        told = f"tags_start: {tags.start}, tags_end: {tags.stop}, ids_start: {rows.start}, ids_end: {rows.stop}"
        self._change(tags, f"{{operation: replace, {told}}}")

    def place(self) -> None:
        """Here a search may stand."""
        self._steps.append(None)

    def _change(self, ids: range, step: str) -> None:
        if ids:
            self._steps.append(step)

    def text(self, dataset: str, searches: int | None) -> str:
        """The file for a data set of this name, with so many searches, the last in the last place; None: with all."""
        places = self._steps.count(None)
        kept = set(range(places)) if searches is None else {(i + 1) * places // searches - 1 for i in range(searches)}
        lines, place = [f'"{dataset}":', f"  max_pts: {self.most}"], 0
        for step in self._steps:
            if step is None:
                place += 1
                if place - 1 not in kept:
                    continue
            lines.append(f"  {len(lines) - 1}: {step or '{operation: search}'}")
        return "\n".join(lines) + "\n"


def cluster_ranges(rows: int, clusters: int, sizes: Sizes) -> list[range]:
    """The rows of each cluster, of a data set that is sorted by cluster.

    Sizes are equal, or fall like 1 / (rank + clusters / 4), large and small ones mixed.
    """
    weights = [1] * clusters
    if sizes == "zipf":
        ranked = zipf(clusters, 1 + clusters // 4).tolist()
        mixed = sorted(range(clusters), key=lambda at: at * _ODD % 65_536)
        weights = [ranked[rank] for rank in mixed]
    total = sum(weights)
    ends = [rows * up_to // total for up_to in accumulate(weights)]
    return [range(start, end) for start, end in zip([0, *ends], ends, strict=False)]


class Dice:
    """Fair draws in whole numbers, the same on every machine."""

    def __init__(self, *purpose: object) -> None:
        self._stream = Stream(*purpose)

    def below(self, count: int) -> int:
        """A number from 0 to below `count`."""
        return int(self._stream.words(1)[0]) * count >> 64

    def share(self, of: int, low: int, high: int) -> int:
        """Between `low` and `high` percent of a count, rounded down."""
        return of * ((low << 32) + self.below((high - low) << 32)) // (100 << 32)

    def shuffled(self, count: int) -> list[int]:
        """The numbers below `count` in random order (Fisher and Yates)."""
        order = list(range(count))
        for last in range(count - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order

    def dirichlet(self, weights: tuple[int, ...]) -> list[int]:
        """Shares of 2**64 under Dirichlet's distribution with whole weights, in the order of the weights.

        Uniform points, one fewer than the weights add up to, cut an interval into pieces that are Dirichlet(1, 1, ...);
        neighbours put together add their weights (Devroye, Non-Uniform Random Variate Generation, 1986).
        """
        cuts = sorted(self._stream.words(sum(weights) - 1).tolist())
        ends = [cuts[up_to - 1] for up_to in accumulate(weights[:-1])] + [1 << 64]
        return [end - start for start, end in zip([0, *ends], ends, strict=False)]
