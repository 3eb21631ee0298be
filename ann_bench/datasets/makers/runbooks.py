"""Makers of runbooks, in the shapes that big-ann-benchmarks ships, over any number of rows.

They make no data set of their own: a manifest names one as `runbook: {make: {generator: runbook-..., rows: N, ...}}`.
Shapes with `clusters` suppose rows that are sorted by cluster. Same arguments, same bytes, on every machine.
"""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from ann_bench.datasets.files import atomic
from ann_bench.datasets.makers import register
from ann_bench.datasets.makers.book import Book, Dice, Sizes, cluster_ranges
from ann_bench.datasets.makers.maker import Maker, MakerArguments, Order, Part
from ann_bench.datasets.manifest import Manifest
from ann_bench.errors import UsageError

_STEP_BYTES = 100

Steps = Field(default=200, ge=2, le=10_000)
Percent = tuple[int, int]


class Arguments(MakerArguments):
    """`rows` of the data set's base; `searches` where fewer are wanted than the shape has places for."""

    rows: int = Field(ge=1, le=2**31 - 1)
    searches: int | None = Field(default=None, ge=1)

    @property
    def places(self) -> int:
        """Where a search may stand."""
        raise NotImplementedError

    @property
    def longest(self) -> int:
        """No more steps than this, searches included."""
        return 4 * self.places

    @model_validator(mode="after")
    def _enough_places(self) -> Arguments:
        if self.searches is not None and self.searches > self.places:
            raise ValueError(f"searches: at most {self.places} fit into this runbook, found {self.searches}")
        return self


class RunbookMaker(Maker):
    """A shape of runbooks."""

    version = 1
    tracks = ()

    def manifest_of(self, name: str, rows: int) -> Manifest:
        """See Maker."""
        raise UsageError(f"data set {name!r}: generator {self.name} makes runbooks, no data sets")

    def suffix(self, part: Part) -> str:
        """See Maker."""
        if part.group != "runbook":
            raise UsageError(f"generator {self.name} makes runbooks, not {part}")
        return ".yaml"

    def size(self, part: Part, arguments: Any) -> int:
        """See Maker."""
        return (1 + int(arguments.longest)) * _STEP_BYTES

    def write(self, order: Order, target: Path) -> None:
        """See Maker."""
        arguments, book = order.arguments, Book()
        self.fill(book, arguments, Dice(self.name, self.version, arguments.seed))
        with atomic(target) as stream:
            stream.write(book.text(order.dataset, arguments.searches).encode())

    @abstractmethod
    def fill(self, book: Book, arguments: Any, dice: Dice) -> None:
        """Add the steps."""


class ClusterArguments(Arguments):
    """`clusters` and how their `sizes` differ."""

    clusters: int = Field(default=64, ge=1, le=10_000)
    sizes: Sizes = "equal"

    @property
    def places(self) -> int:
        """One after each cluster."""
        return self.clusters

    @property
    def ranges(self) -> list[range]:
        """The rows of each cluster."""
        return cluster_ranges(self.rows, self.clusters, self.sizes)


class Clustered(RunbookMaker):
    """Cluster after cluster is inserted."""

    name = "runbook-clustered"
    description = "insert cluster by cluster, a search after each"
    model = ClusterArguments

    def fill(self, book: Book, arguments: ClusterArguments, dice: Dice) -> None:
        """See RunbookMaker."""
        for ids in arguments.ranges:
            book.insert(ids)
            book.place()


class RoundsArguments(ClusterArguments):
    """Of what is live in a cluster at the end of a round, `delete` percent goes, from the least to the most."""

    delete: Percent = (50, 90)

    @property
    def places(self) -> int:
        """One after each insert and each delete."""
        return 2 * self.clusters * len(Rounds.SHARES)

    @model_validator(mode="after")
    def _a_range(self) -> RoundsArguments:
        if not 0 <= self.delete[0] <= self.delete[1] <= 100:
            raise ValueError("delete: percent from the least to the most, such as [50, 90]")
        return self


class Rounds(RunbookMaker):
    """The shape of the final runbook of the NeurIPS 2023 competition, which has 64 clusters and 1,280 steps.

    Each cluster comes in five parts, one a round. Their shares are drawn from Dirichlet's distribution and shuffled,
    so that most clusters have one large part, in a round of their own. After each round the oldest of each go.
    """

    name = "runbook-rounds"
    description = "clusters that come in 5 uneven rounds; the oldest of each go after each round; searches throughout"
    model = RoundsArguments
    SHARES = (100, 15, 10, 5, 3)

    def fill(self, book: Book, arguments: RoundsArguments, dice: Dice) -> None:
        """See RunbookMaker."""
        clusters = arguments.ranges
        shares = [self._shares(dice) for _ in clusters]
        come = [cluster.start for cluster in clusters]
        gone = list(come)
        for turn in range(len(self.SHARES)):
            for at, cluster in enumerate(clusters):
                end = cluster.start + (len(cluster) * sum(shares[at][: turn + 1]) >> 64)
                book.insert(range(come[at], end))
                come[at] = end
                book.place()
            for at in range(len(clusters)):
                end = gone[at] + dice.share(come[at] - gone[at], *arguments.delete)
                book.delete(range(gone[at], end))
                gone[at] = end
                book.place()

    def _shares(self, dice: Dice) -> list[int]:
        drawn = dice.dirichlet(self.SHARES)
        return [drawn[at] for at in dice.shuffled(len(drawn))]


class WindowArguments(Arguments):
    """`steps` blocks of rows, of which the last `window` are live; None: half of them."""

    steps: int = Steps
    window: int | None = Field(default=None, ge=1)

    @property
    def live(self) -> int:
        """How many blocks are live once the window is full."""
        return self.window or self.steps // 2

    @property
    def places(self) -> int:
        """One after each block that pushes another out."""
        return max(0, self.steps - self.live)

    @property
    def longest(self) -> int:
        """An insert for each block, a delete and a search for some."""
        return 3 * self.steps

    @model_validator(mode="after")
    def _moves(self) -> WindowArguments:
        if self.live >= self.steps:
            raise ValueError(f"window: fewer than the {self.steps} steps, else nothing is ever deleted")
        return self


class SlidingWindow(RunbookMaker):
    """Blocks come one by one; when the window is full, the oldest goes first and a search follows."""

    name = "runbook-sliding-window"
    description = "blocks come and the oldest goes, a search after each once the window is full"
    model = WindowArguments

    def fill(self, book: Book, arguments: WindowArguments, dice: Dice) -> None:
        """See RunbookMaker."""
        blocks = cluster_ranges(arguments.rows, arguments.steps, "equal")
        for at, block in enumerate(blocks):
            if at >= arguments.live:
                book.delete(blocks[at - arguments.live])
            book.insert(block)
            if at >= arguments.live:
                book.place()


class ExpirationArguments(Arguments):
    """A block stays for ever, for `lifetimes[0]` or for `lifetimes[1]` steps, in the proportions of `weights`.

    With `replace`, a part of each block gets new vectors at half its life.
    """

    steps: int = Steps
    lifetimes: tuple[int, int] = (100, 20)
    weights: tuple[int, int, int] = (1, 3, 15)
    delete: bool = True
    replace: bool = False

    @property
    def places(self) -> int:
        """One a step."""
        return self.steps

    @model_validator(mode="after")
    def _lives(self) -> ExpirationArguments:
        if min(self.lifetimes) < 1:
            raise ValueError("lifetimes: steps from 1 on, such as [100, 20]")
        if min(self.weights) < 0 or not 0 < sum(self.weights) < 2**31:
            raise ValueError("weights: whole numbers from 0 on that are not all 0, such as [1, 3, 15]")
        return self


class ExpirationTime(RunbookMaker):
    """Every block has a lifetime of its own."""

    name = "runbook-expiration-time"
    description = "blocks that live for ever, long or shortly; with deletes, replaces or both; a search a step"
    model = ExpirationArguments

    def fill(self, book: Book, arguments: ExpirationArguments, dice: Dice) -> None:
        """See RunbookMaker."""
        deletes: dict[int, list[range]] = {}
        replaces: dict[int, list[tuple[range, range]]] = {}
        for step, block in enumerate(cluster_ranges(arguments.rows, arguments.steps, "equal")):
            end = block.stop - dice.share(len(block), 10, 50) if arguments.replace else block.stop
            live = range(block.start, end)
            book.insert(live)
            life = self._life(arguments, dice)
            if arguments.delete and life is not None:
                deletes.setdefault(step + life, []).append(live)
            if arguments.replace:
                half = (arguments.steps - step if life is None else life) // 2
                spare = range(end, block.stop)
                replaces.setdefault(step + half, []).append((live[: len(spare)], spare))
            for old in deletes.pop(step, []):
                book.delete(old)
            for tags, rows in replaces.pop(step, []):
                book.replace(tags, rows)
            book.place()

    def _life(self, arguments: ExpirationArguments, dice: Dice) -> int | None:
        never, long, _ = arguments.weights
        drawn = dice.below(sum(arguments.weights))
        return None if drawn < never else arguments.lifetimes[0 if drawn < never + long else 1]


class ReplaceArguments(ClusterArguments):
    """`source`: the vectors that come are of the cluster itself, or of another at random."""

    source: Literal["same", "random"] = "same"

    @property
    def places(self) -> int:
        """One after each insert and each replace."""
        return 2 * self.clusters


class ReplaceClusters(RunbookMaker):
    """Half to nine tenths of each cluster are inserted, then a part of each gets vectors that were left over."""

    name = "runbook-replace"
    description = "insert part of each cluster, then replace with the rest of it or of another; searches throughout"
    model = ReplaceArguments

    def fill(self, book: Book, arguments: ReplaceArguments, dice: Dice) -> None:
        """See RunbookMaker."""
        clusters = arguments.ranges
        live = [range(ids.start, ids.stop - dice.share(len(ids), 10, 50)) for ids in clusters]
        for ids in live:
            book.insert(ids)
            book.place()
        sources = list(range(len(clusters))) if arguments.source == "same" else dice.shuffled(len(clusters))
        for ids, source in zip(live, sources, strict=True):
            left = range(live[source].stop, clusters[source].stop)
            count = min(len(ids), dice.share(len(left), 0, 100))
            book.replace(ids[:count], left[:count])
            book.place()


for _maker in (Clustered, Rounds, SlidingWindow, ExpirationTime, ReplaceClusters):
    register(_maker())
