"""Recall: a mean over queries that every run of every build asks."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ann_bench.stats.centre import builds_of, known_of, mean
from ann_bench.stats.draws import DRAWS, students
from ann_bench.stats.estimate import LEVEL, NOTHING, Estimate
from ann_bench.stats.exact import Floats

_SEED = 20240229
_FINE, _COARSE = 4096, 64


def recall_estimate(runs: npt.ArrayLike, queries: npt.ArrayLike, level: float = LEVEL) -> Estimate:
    """Recall: a mean over queries, averaged over the runs of builds, with its bootstrap interval within 0 and 1.

    `runs` (builds, runs) holds the recall of every run (NaN: not measured), `queries` (queries,) for every query
    its mean over all the runs (NaN: the query has no true answer and does not count). The value follows from
    `runs`; `queries` matters for the spread only.

    Queries are crossed with runs (every run asks the same ones), so they are resampled once for all runs; builds are
    resampled beside them (runs where there is one build), by Student's t. The two deviations are added. Both contain
    what queries and runs have in common, so that the interval errs on the wide side (as Owen's pigeonhole bootstrap
    does, Annals of Applied Statistics 1, 2007).

    With all queries alike (recall 1 throughout) and all runs alike the interval is a point; the true recall is
    then within about 3 / queries of it.
    """
    builds = builds_of(runs)
    if not builds:
        return NOTHING
    value = mean([mean(build) for build in builds])
    deviations = _query_deviations(known_of(np.asarray(queries, dtype=np.float64))) + _run_deviations(builds)
    tail = (1 - level) / 2
    low, high = np.quantile(np.clip(value + deviations, 0.0, 1.0), [tail, 1 - tail])
    return Estimate(value, min(value, float(low)), max(value, float(high)))


def _run_deviations(builds: list[Floats]) -> Floats:
    """By how much the mean changes with other builds, or with other runs of the only one; (DRAWS,)."""
    units = np.array([mean(build) for build in builds]) if len(builds) > 1 else builds[0]
    if len(units) < 2 or units.min() == units.max():
        return np.zeros(DRAWS)
    return float(np.std(units, ddof=1)) / math.sqrt(len(units)) * students(len(units) - 1)


def _query_deviations(values: Floats) -> Floats:
    """By how much the mean changes when the values (queries,) are drawn anew; (DRAWS,).

    Equal values are drawn together: how often each distinct value comes up is multinomial, which is the same
    bootstrap at a cost that does not grow with the number of queries.
    """
    if len(values) < 2:
        return np.zeros(DRAWS)
    levels, counts = _distinct(values)
    if len(levels) == 1:
        return np.zeros(DRAWS)
    drawn = np.random.default_rng([_SEED, 0]).multinomial(len(values), counts / len(values), size=DRAWS)
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
