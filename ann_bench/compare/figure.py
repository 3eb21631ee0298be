"""What a comparison can be about: speed, a percentile of latencies, the time of a whole stream, or recall."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ann_bench.errors import unknown
from ann_bench.results.figures import Figures, repeats
from ann_bench.results.latency import SHARES, found_rates, latencies
from ann_bench.results.model import Bundle
from ann_bench.results.stages import whole_seconds
from ann_bench.stats import VERDICT_LEVEL, Estimate, Verdict, mean, median_estimate
from ann_bench.stats.goal import levels

Floats = npt.NDArray[np.float64]

_LEAST_SECONDS = 1e-12


@dataclass(frozen=True)
class Figure:
    """One figure: its name, how it is called and shown, and where it comes from.

    `values` gives it for every run, (builds, runs), NaN where it was not measured. `own` gives by how much each query,
    (queries,), moves its logarithm, its part in recall aside: NaN where there are too few queries to tell. `less` says
    that less of it is better.
    """

    name: str
    title: str
    words: str
    values: Callable[[Bundle], Floats]
    own: Callable[[Bundle], Floats | float] = lambda bundle: 0.0
    less: bool = False
    form: str = "{:,.0f}"

    def show(self, value: float) -> str:
        """A value with its unit."""
        return self.form.format(1e3 * value if self.form.endswith(" ms") else value)

    def merit(self, ratio: Estimate) -> Estimate:
        """A ratio turned so that more of it is better."""
        if not self.less:
            return ratio
        return Estimate(1 / ratio.value, 1 / ratio.high, 1 / ratio.low)

    def verdict(self, verdict: Verdict) -> str:
        """The verdict in words that fit."""
        if self.name != RECALL.name:
            return verdict.value
        return {Verdict.FASTER: "better", Verdict.SLOWER: "worse"}.get(verdict, verdict.value)

    def estimate(self, values: Floats, figures: Figures) -> Estimate:
        """The figure with its interval, as other commands show it."""
        if self.name == RECALL.name:
            return Estimate(figures.recall, figures.recall_low, figures.recall_high)
        return median_estimate(values, levels(stopped=figures.stopped)[0])


def _rates(bundle: Bundle) -> Floats:
    found = found_rates(bundle)
    return repeats(bundle).rates if found is None else found[:, None]


def _recalls(bundle: Bundle) -> Floats:
    return repeats(bundle).recalls


def _of_recall(bundle: Bundle) -> Floats:
    """Of several searches a query has its share in the mean recall, which may be counted from 0 (see `repeats`)."""
    found = repeats(bundle)
    known, middle = np.isfinite(found.queries), mean(found.recalls)
    if not (known.any() and middle > 0):
        return np.zeros_like(found.queries)
    centred: Floats = np.where(known, found.queries - found.queries[known].mean(), 0.0)
    return centred / middle


def _percentile(share: float) -> Callable[[Bundle], Floats]:
    def values(bundle: Bundle) -> Floats:
        found = np.full(bundle.seconds.shape[:2], np.nan)
        for place, seconds in latencies(bundle).items():
            found[place] = max(float(np.nanquantile(seconds, share)), _LEAST_SECONDS)
        return found

    return values


def _of_percentile(share: float) -> Callable[[Bundle], Floats | float]:
    def own(bundle: Bundle) -> Floats | float:
        return influence(list(latencies(bundle).values()), share)

    return own


def influence(runs: list[Floats], share: float) -> Floats | float:
    """By how much each query moves the logarithm of a percentile of the latencies of these runs, (queries,).

    `runs` have shape (rounds, queries). The influence function of a quantile: how often, of all the times that it was
    asked, a query lies above the percentile of its run, times the slope of the quantiles there, which is taken over two
    standard errors of the rank. NaN where the interval that a verdict takes would end beyond the slowest query: p99
    needs 597 queries.
    """
    count = runs[0].shape[-1] if runs else 0
    if not count or max(share, 1 - share) ** count > (1 - VERDICT_LEVEL) / 2:
        return math.nan
    levels = [max(float(np.nanquantile(run, share)), _LEAST_SECONDS) for run in runs]
    scaled = [np.maximum(np.atleast_2d(run), _LEAST_SECONDS) / level for run, level in zip(runs, levels, strict=True)]
    everything = np.concatenate(scaled)  # what was never answered is slower than anything
    below = np.mean(everything <= 1, axis=0)
    reach = math.sqrt(share * (1 - share) / count)
    ends = np.clip([share - reach, share + reach], 0.5 / count, 1 - 0.5 / count)
    low, high = np.nanquantile(everything, ends)
    slope = math.log(high / low) / float(ends[1] - ends[0])
    found = (share - below) * slope
    centred: Floats = found - found.mean()
    return centred


def _whole(bundle: Bundle) -> Floats:
    return whole_seconds(bundle)[:, None]


QPS = Figure("qps", "QPS", "queries per second", _rates)
RECALL = Figure("recall", "recall", "recall", _recalls, _of_recall, form="{:.4f}")
TOTAL = Figure("total_seconds", "time", "time of the whole stream", _whole, less=True, form="{:,.4g} s")
PERCENTILES = {
    name: Figure(
        name,
        f"p{100 * share:g}",
        f"p{100 * share:g} latency",
        _percentile(share),
        _of_percentile(share),
        less=True,
        form="{:,.4g} ms",
    )
    for name, share in SHARES.items()
}

#: All that can be asked for by name.
FIGURES: Mapping[str, Figure] = {one.name: one for one in (QPS, RECALL, TOTAL, *PERCENTILES.values())}


def find_figure(name: str) -> Figure:
    """The figure of a name; UsageError where there is none."""
    if name not in FIGURES:
        raise unknown("figure", name, FIGURES)
    return FIGURES[name]
