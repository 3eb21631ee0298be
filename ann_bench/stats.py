"""Medians and 95 % intervals of what was measured, by the bootstrap.

Two figures are resampled, each in the way of its noise:

- Recall is a mean over queries, for each run of each build. Queries are crossed with runs (every run asks the
  same ones), so they are resampled once for all runs; builds are resampled, and runs within them. The two
  deviations are added. Both contain what queries and runs have in common, so that the interval errs on the wide
  side (as Owen's pigeonhole bootstrap does, Annals of Applied Statistics 1, 2007).
- Queries per second is a median over few runs. Builds are resampled, then runs within each.

Few values say little about their own spread. The part of a mean's interval that comes from n builds or runs is
widened as Hesterberg's expanded percentile interval is (The American Statistician 69, 2015). A median of
resampled values cannot leave the values: of 5 runs the interval is smallest to largest (which covers the true
median in 94 % of the cases), of 3 builds likewise (75 %). One value has no interval.

Everything is deterministic: the same values give the same interval on every call.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LEVEL = 0.95
RESAMPLES = 1000

_SEED = 20240229
_QUERIES, _BUILDS, _RUNS = range(3)  # streams of random numbers; every build has one of its own, from _RUNS on
_FINE, _COARSE = 4096, 64


@dataclass(frozen=True)
class Estimate:
    """A value and its 95 % interval; NaN where nothing was measured, or too little for an interval."""

    value: float
    low: float
    high: float


NOTHING = Estimate(math.nan, math.nan, math.nan)


def median(values: npt.ArrayLike) -> float:
    """The median of the values that are not NaN; NaN where there are none."""
    known = _known(np.asarray(values, dtype=np.float64).ravel())
    return float(np.median(known)) if len(known) else math.nan


def mean(values: npt.ArrayLike) -> float:
    """The mean of the values that are not NaN, without rounding on the way; NaN where there are none.

    A recall of 0.9 in every run is 0.9, not 0.8999999999999999, which would miss a bound of 0.9.
    """
    known = _known(np.asarray(values, dtype=np.float64).ravel()).tolist()
    if not known:
        return math.nan
    return float(known[0]) if min(known) == max(known) else math.fsum(known) / len(known)


def median_estimate(values: npt.ArrayLike) -> Estimate:
    """The median over builds of the medians over runs, with its bootstrap interval.

    `values` has shape (builds, runs); NaN marks what was not measured.
    """
    builds = _builds(values)
    if not builds:
        return NOTHING
    value = float(np.median([np.median(build) for build in builds]))
    if sum(map(len, builds)) < 2:
        return Estimate(value, math.nan, math.nan)
    medians = np.stack([np.median(_drawn(build, index), axis=1) for index, build in enumerate(builds)], axis=1)
    return _interval(value, np.median(_chosen(medians), axis=1))


def recall_estimate(runs: npt.ArrayLike, queries: npt.ArrayLike) -> Estimate:
    """Recall: a mean over queries, averaged over the runs of builds, with its bootstrap interval within 0 and 1.

    `runs` (builds, runs) holds the recall of every run (NaN: not measured), `queries` (queries,) for every query
    its mean over all the runs (NaN: the query has no true answer and does not count). The value follows from
    `runs`; `queries` matters for the spread only.

    With all queries alike (recall 1 throughout) and all runs alike the interval is a point; the true recall is
    then within about 3 / queries of it.
    """
    builds = _builds(runs)
    if not builds:
        return NOTHING
    value = mean([mean(build) for build in builds])
    deviations = _query_deviations(_known(np.asarray(queries, dtype=np.float64))) + _run_deviations(builds)
    return _interval(value, np.clip(value + deviations, 0.0, 1.0))


def _interval(value: float, resampled: Floats) -> Estimate:
    """The percentile interval, with the value itself in it."""
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail])
    return Estimate(value, min(value, float(low)), max(value, float(high)))


def _query_deviations(values: Floats) -> Floats:
    """By how much the mean changes when the values (queries,) are drawn anew; (RESAMPLES,).

    Equal values are drawn together: how often each distinct value comes up is multinomial, which is the same
    bootstrap at a cost that does not grow with the number of queries.
    """
    if len(values) < 2:
        return np.zeros(RESAMPLES)
    levels, counts = _distinct(values)
    if len(levels) == 1:
        return np.zeros(RESAMPLES)
    drawn = _generator(_QUERIES).multinomial(len(values), counts / len(values), size=RESAMPLES)
    deviations: Floats = (drawn - counts) @ levels / len(values)
    return deviations


def _distinct(values: Floats) -> tuple[Floats, Floats]:
    """The distinct values and how often each occurs.

    Values are sorted into 4096 bins of equal width, or 64 where more than 64 of these are filled; a bin stands
    for the mean of its values. This keeps the mean, and loses less than 0.1 % of the spread of a recall.
    """
    low, high = float(values.min()), float(values.max())
    if high - low < 1e-12:
        return np.array([low]), np.array([float(len(values))])
    place, counts = _binned(values, _FINE)
    if np.count_nonzero(counts) > _COARSE:
        place, counts = _binned(values, _COARSE)
    filled = counts > 0
    sums = np.bincount(place, weights=values, minlength=len(counts))
    return sums[filled] / counts[filled], counts[filled].astype(np.float64)


def _binned(values: Floats, bins: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The bin of each value, and how many each bin holds."""
    low, high = values.min(), values.max()
    place = np.minimum(((values - low) * (bins / (high - low))).astype(np.intp), bins - 1)
    return place, np.bincount(place, minlength=bins)


def _run_deviations(builds: list[Floats]) -> Floats:
    """By how much the mean changes when builds, and runs within them, are drawn anew; (RESAMPLES,)."""
    count = len(builds) if len(builds) > 1 else len(builds[0])
    if count < 2:
        return np.zeros(RESAMPLES)
    means = np.stack([_drawn(build, index).mean(axis=1) for index, build in enumerate(builds)], axis=1)
    value = mean([mean(build) for build in builds])
    deviations: Floats = (_chosen(means).mean(axis=1) - value) * _widening(count)
    return deviations


def _drawn(values: Floats, build: int) -> Floats:
    """The runs of one build drawn anew: (RESAMPLES, runs)."""
    drawn: Floats = values[_indices(len(values), _RUNS + build)]
    return drawn


def _chosen(columns: Floats) -> Floats:
    """The builds drawn anew: (RESAMPLES, builds), from one column of resampled runs for each build."""
    count = columns.shape[1]
    # a build that is drawn twice brings two draws of its runs, not one draw twice: each place looks further down
    steps = np.arange(count) * (RESAMPLES // count)
    rows = (np.arange(RESAMPLES)[:, None] + steps) % RESAMPLES
    chosen: Floats = columns[rows, _indices(count, _BUILDS)]
    return chosen


@cache
def _indices(count: int, stream: int) -> npt.NDArray[np.intp]:
    drawn: npt.NDArray[np.intp] = _generator(stream).integers(0, count, size=(RESAMPLES, count))
    return drawn


@cache
def _widening(count: int) -> float:
    """By how much the spread of a bootstrapped mean of `count` values is too small for a 95 % interval."""
    from scipy.special import ndtri, stdtrit

    quantile = (1 + LEVEL) / 2
    return float(stdtrit(count - 1, quantile) / ndtri(quantile) * math.sqrt(count / (count - 1)))


def _generator(stream: int) -> np.random.Generator:
    return np.random.default_rng([_SEED, stream])


def _builds(values: npt.ArrayLike) -> list[Floats]:
    """What is known of each build that has anything."""
    rows = np.atleast_2d(np.asarray(values, dtype=np.float64))
    return [known for row in rows if len(known := _known(row))]


def _known(values: npt.NDArray[Any]) -> Floats:
    known: Floats = values[~np.isnan(values)]
    return known
