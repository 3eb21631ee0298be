"""What a measurement tells while it goes on; whoever watches draws it. Nothing is told within a timed batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ann_bench.results.figures import Figures
from ann_bench.results.model import Step

if TYPE_CHECKING:
    from ann_bench.judge.plan import Setting

#: Of a line in the log: events tell the same, so that whoever draws them need not write it.
REPORTED = {"reported": True}

Query: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Work:
    """One thing that the worker of an entry does, for one of its query configs where it has to do with one.

    `kind` is one of STEP_KINDS, or `start`, `score`, or `stream` for all the operations of a stream. `number` of
    `total` counts builds, warm-ups, runs, or the operations of a stream, from 1; 0 where there is nothing to count.
    Where an interval or a search decides how many there will be, `total` is the most. `step`: it is one of the
    operations of a stream, of whose end nobody tells.
    """

    entry: str
    kind: str
    query: Query | None = None
    number: int = 0
    total: int = 0
    step: bool = False


@dataclass(frozen=True)
class Planned:
    """A run is about to measure these entries, each with these query configs; `found` results were there before."""

    setting: Setting
    wanted: Sequence[tuple[str, Sequence[Query]]]
    found: int = 0


@dataclass(frozen=True)
class TakesTurns:
    """The workers of these entries are about to start; they live at once."""

    entries: Sequence[str]


@dataclass(frozen=True)
class Began:
    """Work begins."""

    work: Work


@dataclass(frozen=True)
class GoesOn:
    """A call other than a batch of queries goes on: told about once a second, with the memory that is held now."""

    work: Work
    memory_bytes: int


@dataclass(frozen=True)
class Ended:
    """Work has ended well; `steps` are the calls that it took."""

    work: Work
    steps: Sequence[Step] = field(default_factory=tuple)


@dataclass(frozen=True)
class Left:
    """The worker of an entry has ended."""

    entry: str


@dataclass(frozen=True)
class Kept:
    """A result is complete, and stored; these are its figures."""

    query: Query
    figures: Figures


Event: TypeAlias = Planned | TakesTurns | Began | GoesOn | Ended | Left | Kept


class Watch(Protocol):
    """Called with each event as it happens, in the judge's own thread; must be cheap."""

    def __call__(self, event: Event) -> None:
        """Take notice."""


def unwatched(event: Event) -> None:
    """Nobody watches."""


class Teller:
    """Tells what one worker does."""

    def __init__(self, watch: Watch = unwatched) -> None:
        self.watch = watch
        self._work: Work | None = None

    @property
    def is_heard(self) -> bool:
        """Whether anybody watches."""
        return self.watch is not unwatched

    def begins(self, work: Work) -> None:
        """Work begins."""
        self._work = work
        self.watch(Began(work))

    def goes_on(self, memory_bytes: int) -> None:
        """The same work goes on."""
        if self._work is not None:
            self.watch(GoesOn(self._work, memory_bytes))

    def ended(self, work: Work, steps: Sequence[Step] = ()) -> None:
        """Work has ended well."""
        self.watch(Ended(work, tuple(steps)))
