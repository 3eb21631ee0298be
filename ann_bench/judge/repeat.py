"""How often to measure: warm-up batches, and going on until an interval is narrow enough."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from ann_bench.errors import UsageError
from ann_bench.stats.goal import LEAST_BUILDS, LEAST_RUNS, Watched, is_enough

#: The most runs of a batch where an interval is to be reached and nobody says how many may be made.
MOST_RUNS = 50


@dataclass(frozen=True)
class Repeat:
    """Wishes beside the numbers of builds and runs.

    `warmups` batches come before the runs of each query config of a build, and in no figure. `until` is half the
    width of the interval to be reached, as a share of the value; the numbers of runs (of builds, where there are
    several) are then the most that are made, and `seconds` bounds the turns of an entry. `canary` measures the machine
    itself before and after.
    """

    warmups: int = 0
    until: float | None = None
    canary: bool = False
    seconds: float | None = None

    def runs(self, wished: int | None, usual: int, builds: int) -> int:
        """The number of runs of a build, the most where an interval is to be reached by runs."""
        if self.until is None or builds > 1:
            return wished or usual
        return wished or MOST_RUNS

    def fitting(self, builds: int, *, mutates: bool, searches: bool = False) -> Repeat:
        """The same for a workload; UsageError where its interval can never be reached.

        `searches`: the runs look for the highest rate, so that a build has one figure.
        """
        if self.seconds is not None and self.until is None:
            raise UsageError("--for bounds how long --until goes on: give both, such as --until 2% --for 30m")
        if self.until is not None and searches and builds < LEAST_BUILDS:
            raise UsageError(
                "a search for the highest rate has one figure for each build, so that --until needs builds to repeat: "
                f"give --builds, {LEAST_BUILDS} at least"
            )
        if self.until is not None and mutates and builds < LEAST_BUILDS:
            raise UsageError(
                "a stream is measured once for each build, so that --until needs builds to repeat: "
                f"give --builds, {LEAST_BUILDS} at least"
            )
        return replace(self, warmups=0) if mutates else self

    def is_enough(self, watched: Sequence[Watched]) -> bool:
        """Whether all these figures are known as well as was asked for."""
        return self.until is not None and is_enough(watched, self.until)

    def is_late(self, spent: float) -> bool:
        """Whether nothing more is to be begun after so many seconds of an entry's turns."""
        return self.seconds is not None and spent >= self.seconds

    def to_json(self) -> dict[str, Any]:
        """What of it is part of a result's identity."""
        return {
            **({"warmups": self.warmups} if self.warmups else {}),
            **({"until": self.until} if self.until is not None else {}),
            **({"until_seconds": self.seconds} if self.seconds is not None else {}),
        }


@dataclass
class Spent:
    """What the query configs of an entry have in common: seconds that its worker had the turn, judge and all."""

    seconds: float = 0.0

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Add what goes on within."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.seconds += time.monotonic() - start


__all__ = ["LEAST_BUILDS", "LEAST_RUNS", "MOST_RUNS", "Repeat", "Spent"]
