"""Percentiles of latencies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ann_bench.stats.centre import centre
from ann_bench.stats.draws import DRAWS, ranks, students
from ann_bench.stats.estimate import LEVEL, NOTHING, Estimate
from ann_bench.stats.exact import Floats

_LEAST = 1e-12  # seconds: no clock here tells less from nothing


def percentile_estimate(values: Sequence[Sequence[npt.ArrayLike]], share: float, level: float = LEVEL) -> Estimate:
    """A percentile of latencies with its interval, from seconds: for each build, for each of its runs an array.

    The value is the median over builds of the percentile of all latencies of a build; `share` is 0.99 for p99. NaN
    marks a query that was never answered. A run that asked its queries several times has an array (rounds, queries).

    Builds are resampled where there are several, else runs (with all their rounds); and queries, for what is common to
    all rounds of all runs: where all of them have the same length, place q is taken for the same query in each. The
    deviations are added. To resample a
    percentile is to draw its rank. No interval (NaN) where queries are so few that it would
    end beyond the slowest one: p99 takes 368 of them, p99.9 takes 3,688.
    """
    tail = (1 - level) / 2
    builds = [runs for given in values if (runs := _runs(given))]
    if not builds:
        return NOTHING
    pools = [_pool(runs) for runs in builds]
    centres = np.array([_at(pool, share) for pool in pools])
    value = float(np.median(centres))
    spread = _Spread.of(builds, centres, share)
    if max(share, 1 - share) ** spread.queries > tail:
        return Estimate(value, math.nan, math.nan)
    units = centres if len(builds) > 1 else np.array([_at(_pool([run]), share) for run in builds[0]])
    deviations = np.zeros(DRAWS)
    if len(units) > 1:
        middle = centre([np.log(units)])
        deviations = middle.error * students(middle.freedom)
    common = spread.common if len(units) > 1 else spread.queries
    if math.isfinite(common):
        drawn = ranks(share, common)
        deviations = deviations + np.mean([np.log(_ranked(pool, drawn) / _at(pool, share)) for pool in pools], axis=0)
    low, high = value * np.exp(np.quantile(deviations, [tail, 1 - tail]))
    return Estimate(value, min(value, float(low)), max(value, float(high)))


@dataclass(frozen=True)
class _Spread:
    """How many independent queries all the rounds of all runs are worth.

    A query that is slow once may be slow always, or may have been unlucky. `queries` is how many queries of a single
    run would place the percentile as well as all runs do; `common` is the same for what the runs have in common only,
    infinite where they have nothing (the rest shows in how the runs differ).
    """

    queries: float
    common: float

    @classmethod
    def of(cls, builds: Sequence[list[Floats]], centres: Floats, share: float) -> _Spread:
        """From which latencies are below the percentile of their build."""
        placed = [(one, centre) for runs, centre in zip(builds, centres.tolist(), strict=True) for one in _rows(runs)]
        below = [one <= centre for one, centre in placed]
        known = [~np.isnan(one) for one, _ in placed]
        total, lengths = sum(int(one.sum()) for one in known), {len(one) for one in known}
        if len(lengths) > 1 or len(known) == 1 or lengths == {1}:
            return cls(total, math.inf)
        counts, hits = np.sum(known, axis=0), np.sum(below, axis=0)
        counts, hits = counts[counts > 0], hits[counts > 0]
        shares, alone = hits / counts, share * (1 - share)
        of_all = float(np.var(shares))
        # within a query: what two of its runs differ by
        own = shares * (1 - shares) * counts / np.maximum(counts - 1, 1)
        in_common = max(0.0, of_all - float(np.mean(own / counts)))
        queries = min(total, len(shares) * alone / of_all) if of_all > 0 else total
        significant = in_common > alone / len(shares)
        return cls(queries, len(shares) * alone / in_common if significant else math.inf)


def _runs(given: Sequence[npt.ArrayLike]) -> list[Floats]:
    """The runs of a build that have any latency, each as it came."""
    arrays = [np.asarray(run, dtype=np.float64) for run in given]
    return [np.maximum(run, _LEAST) for run in arrays if np.isfinite(run).any()]


def _rows(runs: Sequence[Floats]) -> list[Floats]:
    """All the rounds of these runs, each (queries,)."""
    return [one for run in runs for one in np.atleast_2d(run) if np.isfinite(one).any()]


def _pool(runs: Sequence[Floats]) -> Floats:
    """All latencies of a build that are known, ascending."""
    everything = np.concatenate([run.ravel() for run in runs])
    return np.sort(everything[~np.isnan(everything)])


def _at(pool: Floats, share: float) -> float:
    """The percentile of an ascending array, between two of its values in proportion."""
    return float(np.interp(share * (len(pool) - 1), np.arange(len(pool)), pool))


def _ranked(pool: Floats, ranks: Floats) -> Floats:
    """The values at these ranks, as shares of all; each value has the middle of its own share."""
    found: Floats = np.interp(ranks * len(pool) - 0.5, np.arange(len(pool)), pool)
    return found
