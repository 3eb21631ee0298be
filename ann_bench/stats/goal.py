"""When intervals are narrow enough, from when on they were, and how sure what was stopped for that is.

Who stops as soon as an interval is narrow stops more often while it is narrow by chance, and what is reported then
holds the truth too seldom (Anscombe, Proceedings of the Cambridge Philosophical Society 48, 1952; Chow and Robbins,
Annals of Mathematical Statistics 36, 1965: right in the limit only). Three things are done about it. An interval is
one of STOPPED_LEVEL, for stopping and for showing. Once it is narrow, half as many repeats again are made, which had no
part in the choice (Simons, Annals of Mathematical Statistics 39, 1968: some more observations make up for it). And it
must be narrow then too. `python -m benchmarks coverage` says how often that holds the truth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ann_bench.stats.centre import median_estimate
from ann_bench.stats.estimate import LEVEL, VERDICT_LEVEL
from ann_bench.stats.recall import recall_estimate

Floats = npt.NDArray[np.float64]

#: No fewer builds or runs are believed: few values that happen to lie close together say that they are precise.
LEAST_BUILDS, LEAST_RUNS = 3, 5

#: What an interval of results that were stopped by it is, so that it holds the truth as often as one of LEVEL does.
STOPPED_LEVEL = 0.96
#: The same for verdicts on them, in the place of VERDICT_LEVEL.
STOPPED_VERDICT_LEVEL = 0.997

_MORE = 1.5  # times as many repeats as when it was narrow first


def levels(*, stopped: bool) -> tuple[float, float]:
    """Of intervals and of verdicts, so that they are right as often as they say."""
    return (STOPPED_LEVEL, STOPPED_VERDICT_LEVEL) if stopped else (LEVEL, VERDICT_LEVEL)


@dataclass(frozen=True)
class Watched:
    """A figure that is to be known well: its name, and what was measured of it, (builds, runs), NaN where nothing was.

    Of an `average` the mean counts (recall), else the median. What its queries contribute is left out: no repeat
    changes that.
    """

    name: str
    values: Floats
    average: bool = False

    def width(self, units: int) -> float:
        """Half of the interval as a share of the value, by the first builds (of one build: runs) only."""
        part = self.values[:units] if self.values.shape[0] > 1 else self.values[:, :units]
        found = recall_estimate(part, (), STOPPED_LEVEL) if self.average else median_estimate(part, STOPPED_LEVEL)
        return 0.0 if found.low == found.high else found.width


def counted(watched: Sequence[Watched]) -> tuple[int, int]:
    """How many builds (where there are several) or runs have been measured, and the least number of them."""
    shape = watched[0].values.shape
    known = ~np.isnan(watched[0].values)
    if shape[0] > 1:
        return int(known.any(axis=1).sum()), LEAST_BUILDS
    return int(known.sum()), LEAST_RUNS


def narrow(watched: Sequence[Watched], goal: float, units: int) -> bool:
    """Whether half of each interval is at most this share of its value, by the first builds or runs only."""
    return all(one.width(units) <= goal for one in watched)


def is_enough(watched: Sequence[Watched], goal: float) -> bool:
    """Whether nothing more needs to be measured; to be asked after every build or run."""
    count, least = counted(watched)
    return _enough_at(watched, goal, count, least)


def needed(watched: Sequence[Watched], goal: float) -> int | None:
    """The number of builds or runs that would have been enough; None where it never was."""
    count, least = counted(watched)
    return next((units for units in range(least, count + 1) if _enough_at(watched, goal, units, least)), None)


def _enough_at(watched: Sequence[Watched], goal: float, units: int, least: int) -> bool:
    first = int(units / _MORE)
    if first < least or math.ceil(_MORE * first) != units:
        return False
    return narrow(watched, goal, first) and narrow(watched, goal, units)
