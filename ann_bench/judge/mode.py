"""How queries are put where whole batches are not wanted: one at a time, by clients that wait, or at a rate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ann_bench.entries.entry import Entry
from ann_bench.errors import UsageError, unknown
from ann_bench.judge.pattern import Pattern, poisson, rounds_at
from ann_bench.judge.quest import next_rate
from ann_bench.results.trials import Trial
from ann_bench.workload import Workload

#: The kinds, and the options that each of them takes.
KINDS: dict[str, tuple[str, ...]] = {
    "batch": (),
    "latency": ("recall", "seconds"),
    "concurrent": ("clients", "recall", "seconds"),
    "load": ("rate", "p99", "recall", "seconds"),
}

#: How long a run goes on where nothing else is wished for.
SECONDS = 2.0

#: What stands in the place of a rate where the highest one is looked for.
HIGHEST = math.inf

#: Trials of a search for the highest rate, the first one with clients that wait included.
TRIALS = 12


@dataclass(frozen=True)
class Wish:
    """What was asked for; None stands for what was not said."""

    mode: str = "batch"
    clients: int | None = None
    rate: float | None = None
    p99: float | None = None
    recall: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Mode:
    """`latency`, `concurrent` with `clients`, or `load` with a `rate` a second.

    A rate of HIGHEST looks for the highest one whose 99th percentile is at most `p99` seconds. A pass asks the whole
    query set again, in another order, until `seconds` are over (0: every query once).
    """

    kind: str
    clients: int = 1
    rate: float = math.nan
    p99: float = math.nan
    seconds: float = 0.0

    @property
    def searches(self) -> bool:
        """Whether the rate is to be found."""
        return self.rate == HIGHEST

    def to_json(self) -> dict[str, Any]:
        """As part of an identity."""
        fields: dict[str, Any] = {"kind": self.kind}
        if self.kind == "concurrent":
            fields["clients"] = self.clients
        if self.kind == "load":
            fields |= {"rate": "max", "p99": self.p99} if self.searches else {"rate": self.rate}
        return {**fields, **({"seconds": self.seconds} if self.seconds else {})}

    @staticmethod
    def from_json(fields: Mapping[str, Any]) -> Mode:
        """The mode of an identity."""
        return Mode(
            str(fields["kind"]),
            clients=int(fields.get("clients", 1)),
            rate=HIGHEST if fields.get("rate") == "max" else float(fields.get("rate", math.nan)),
            p99=float(fields.get("p99", math.nan)),
            seconds=float(fields.get("seconds", 0.0)),
        )

    def callers(self, entry: Entry, cpus: int) -> int:
        """How many threads of the worker may call the entry at once."""
        if not entry.config.answers_at_once:
            return 1
        return cpus if self.kind == "load" else min(cpus, self.clients)

    def pattern(self, callers: int, count: int, seed: Sequence[int], before: Sequence[Trial] = ()) -> Pattern | None:
        """The next pass of so many queries, `before` being those of this build; None where nothing is left to try."""
        if self.kind != "load":
            return Pattern(callers, self.clients, seconds=self.seconds)
        if self.searches and not before:
            return Pattern(callers, clients=2 * callers, seconds=self.seconds)
        rate = next_rate(before, self.p99) if self.searches else self.rate
        if rate is None:
            return None
        asks = count * rounds_at(rate, count, self.seconds)
        return Pattern(callers, schedule=poisson(rate, asks, seed), rate=rate, seconds=self.seconds)


def mode_of(wish: Wish, workload: Workload, track: str, cpus: int) -> Mode | None:
    """The mode that is asked for, None for whole batches; UsageError where it makes no sense or does not apply."""
    if wish.mode not in KINDS:
        raise unknown("mode", wish.mode, KINDS)
    for name in ("clients", "rate", "p99", "recall", "seconds"):
        if getattr(wish, name) is not None and name not in KINDS[wish.mode]:
            fitting = " or ".join(kind for kind, options in KINDS.items() if name in options)
            raise UsageError(f"--{name} is for --mode {fitting}")
    if wish.mode == "batch":
        return None
    if workload.mutates:
        raise UsageError(
            f"--mode {wish.mode} does not apply to the track {track!r}: its searches stand between changes of the "
            "index; leave --mode out"
        )
    if any(search.radius is not None for search in workload.searches):
        raise UsageError(
            f"--mode {wish.mode} does not apply to this data set: its queries ask for all rows within a radius; "
            "leave --mode out"
        )
    fewest = min((search.queries for search in workload.searches), default=0)
    if wish.clients is not None and wish.clients > fewest:
        raise UsageError(
            f"--clients {wish.clients}: the query set has {fewest:,} queries; give at most as many clients"
        )
    seconds = SECONDS if wish.seconds is None else wish.seconds
    if wish.mode == "load":
        return _load(wish, seconds)
    return Mode(wish.mode, clients=(wish.clients or cpus) if wish.mode == "concurrent" else 1, seconds=seconds)


def _load(wish: Wish, seconds: float) -> Mode:
    if wish.rate is None:
        raise UsageError("--mode load needs a rate: give --rate 1000 (queries a second), or --rate max with --p99 10ms")
    if wish.rate == HIGHEST and wish.p99 is None:
        raise UsageError("--rate max needs the latency that is to be kept: give --p99, such as --p99 10ms")
    if wish.rate != HIGHEST and wish.p99 is not None:
        raise UsageError("--p99 is for --rate max")
    return Mode("load", rate=wish.rate, p99=math.nan if wish.p99 is None else wish.p99, seconds=seconds)
