"""The middle of what was measured, and how well it is known."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ann_bench.stats.estimate import LEVEL, NOTHING, Estimate
from ann_bench.stats.exact import Floats, bootstrap_spread, by_size, quantile

_FARTHEST = 700.0  # exp of more is no float


@dataclass(frozen=True)
class Centre:
    """A median, its standard error, and the degrees of freedom of that; the error is NaN where one value is all."""

    value: float
    error: float
    freedom: float

    def margin(self, level: float) -> float:
        """By how much the truth may differ from the value."""
        return self.error * quantile(self.freedom, level)

    def less(self, other: Centre) -> Centre:
        """The difference of two medians that were measured apart (degrees of freedom after Welch and Satterthwaite)."""
        one, two = self.error**2, other.error**2
        parts = one**2 / self.freedom + two**2 / other.freedom
        freedom = (one + two) ** 2 / parts if parts > 0 else self.freedom + other.freedom
        return Centre(self.value - other.value, math.sqrt(one + two), freedom)


def median(values: npt.ArrayLike) -> float:
    """The median of the values that are not NaN; NaN where there are none."""
    known = known_of(np.asarray(values, dtype=np.float64).ravel())
    return float(np.median(known)) if len(known) else math.nan


def mean(values: npt.ArrayLike) -> float:
    """The mean of the values that are not NaN, without rounding on the way; NaN where there are none.

    A recall of 0.9 in every run is 0.9, not 0.8999999999999999, which would miss a bound of 0.9.
    """
    known = known_of(np.asarray(values, dtype=np.float64).ravel()).tolist()
    if not known:
        return math.nan
    return float(known[0]) if min(known) == max(known) else math.fsum(known) / len(known)


def median_estimate(values: npt.ArrayLike, level: float = LEVEL) -> Estimate:
    """The median over builds of the medians over runs, with its interval.

    `values` has shape (builds, runs); NaN marks what was not measured. Builds are resampled where there are several,
    else the runs of the only one: its interval is then about this one index. (Davison and Hinkley, Bootstrap Methods
    and their Application, 1997, 3.8: what is resampled on the upper level brings its lower level along as it is.)
    Positive values are resampled as logarithms, so that twice as fast is as far as half as fast.
    """
    builds = builds_of(values)
    if not builds:
        return NOTHING
    value = median([np.median(build) for build in builds])
    if min(build.min() for build in builds) > 0:
        middle = centre([np.log(build) for build in builds])
        return around(value, middle, level)
    middle = centre(builds)
    margin = middle.margin(level)
    return Estimate(value, value - margin, value + margin)


def around(value: float, middle: Centre, level: float) -> Estimate:
    """The interval of a positive value whose logarithm has this centre."""
    margin = middle.margin(level)
    low, high = (math.exp(max(-_FARTHEST, min(_FARTHEST, middle.value + side))) for side in (-margin, margin))
    if math.isnan(margin):
        return Estimate(value, math.nan, math.nan)
    return Estimate(value, min(value, low), max(value, high))


def centre(builds: list[Floats]) -> Centre:
    """The median over builds of the medians over runs, and its error by the bootstrap of the highest level there is."""
    units = np.array([np.median(build) for build in builds]) if len(builds) > 1 else builds[0]
    value = float(np.median(units))
    if len(units) < 2:
        return Centre(value, math.nan, 1.0)
    freedom, factor = by_size(len(units))
    return Centre(value, float(bootstrap_spread(units)) * factor, freedom)


def builds_of(values: npt.ArrayLike) -> list[Floats]:
    """What is known of each build that has anything."""
    rows = np.atleast_2d(np.asarray(values, dtype=np.float64))
    return [known for row in rows if len(known := known_of(row))]


def known_of(values: Floats) -> Floats:
    """The values that are not NaN."""
    known: Floats = values[~np.isnan(values)]
    return known
