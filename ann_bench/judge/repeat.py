"""How often to measure: warm-up batches, and going on until an interval is narrow enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.errors import UsageError
from ann_bench.stats.goal import LEAST_BUILDS, LEAST_RUNS, narrow_enough

Floats = npt.NDArray[np.float64]

#: The most runs of a batch where an interval is to be reached and nobody says how many may be made.
MOST_RUNS = 50


@dataclass(frozen=True)
class Repeat:
    """Wishes beside the numbers of builds and runs.

    `warmups` batches come before the runs of each query config of a build, and in no figure. `until` is half the
    width of the interval to be reached, as a share of the value; the numbers of runs (of builds, where there are
    several) are then the most that are made. `canary` measures the machine itself before and after.
    """

    warmups: int = 0
    until: float | None = None
    canary: bool = False

    def runs(self, wished: int | None, usual: int, builds: int) -> int:
        """The number of runs of a build, the most where an interval is to be reached by runs."""
        if self.until is None or builds > 1:
            return wished or usual
        return wished or MOST_RUNS

    def fitting(self, builds: int, *, mutates: bool) -> Repeat:
        """The same for a workload; UsageError where its interval can never be reached."""
        if self.until is not None and mutates and builds < LEAST_BUILDS:
            raise UsageError(
                "a stream is measured once for each build, so that --until needs builds to repeat: "
                f"give --builds, {LEAST_BUILDS} at least"
            )
        return Repeat(0, self.until, self.canary) if mutates else self

    def is_enough(self, rates: Floats) -> bool:
        """Whether rates (builds, runs) are known as well as was asked for; what was not measured is NaN."""
        return self.until is not None and narrow_enough(rates, self.until)

    def to_json(self) -> dict[str, Any]:
        """What of it is part of a result's identity."""
        return {
            **({"warmups": self.warmups} if self.warmups else {}),
            **({"until": self.until} if self.until is not None else {}),
        }


__all__ = ["LEAST_BUILDS", "LEAST_RUNS", "MOST_RUNS", "Repeat"]
