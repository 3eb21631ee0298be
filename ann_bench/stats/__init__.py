"""Medians, ratios and their 95 % intervals, from repeats at two levels: builds of an index, runs within each build.

docs/repeats.md says what the intervals mean, and how often they were seen to hold the truth. Everything is
deterministic: the same values give the same interval on every call.
"""

from ann_bench.stats.centre import mean, median, median_estimate
from ann_bench.stats.estimate import LEVEL, NOTHING, VERDICT_LEVEL, Estimate
from ann_bench.stats.latency import percentile_estimate
from ann_bench.stats.ratio import Verdict, differs, log_centre, ratio_estimate, tiers
from ann_bench.stats.recall import recall_estimate

__all__ = [
    "LEVEL",
    "NOTHING",
    "VERDICT_LEVEL",
    "Estimate",
    "Verdict",
    "differs",
    "log_centre",
    "mean",
    "median",
    "median_estimate",
    "percentile_estimate",
    "ratio_estimate",
    "recall_estimate",
    "tiers",
]
