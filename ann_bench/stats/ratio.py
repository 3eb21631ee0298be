"""Two results beside each other: their ratio, whether they differ, and which of many cannot be told apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum

import numpy as np
import numpy.typing as npt

from ann_bench.stats.centre import Centre, around, builds_of, centre, median
from ann_bench.stats.estimate import LEVEL, NOTHING, VERDICT_LEVEL, Estimate


class Verdict(str, Enum):
    """What can be said of the first of two results."""

    FASTER = "faster"
    SLOWER = "slower"
    CANNOT_TELL = "cannot tell"


def ratio_estimate(a: npt.ArrayLike, b: npt.ArrayLike, *, paired: bool = False, level: float = LEVEL) -> Estimate:
    """How many times `b` is `a`, with its interval, from positive measurements of shape (builds, runs).

    NaN marks what was not measured. The value is the ratio of the medians (over builds, of the medians over runs).
    Where the two were measured in turn and have the same shape, `paired` takes the median of the ratios of what was
    measured at about the same time instead, so that a drift of the machine, which both have, cancels. Where one of the
    two has a single build, the interval leaves out how builds differ: it is about that one index. ValueError where
    paired measurements have unlike shapes, or a measurement is not positive.
    """
    one, two = (np.atleast_2d(np.asarray(values, dtype=np.float64)) for values in (a, b))
    if (one <= 0).any() or (two <= 0).any():
        raise ValueError("a ratio takes positive measurements")
    one, two = np.log(one), np.log(two)
    if paired:
        if one.shape != two.shape:
            raise ValueError(f"paired measurements have unlike shapes: {one.shape} and {two.shape}")
        both = builds_of(one - two)
        if not both:
            return NOTHING
        middle = centre(both)
        return around(math.exp(middle.value), middle, level)
    mine, others = builds_of(one), builds_of(two)
    if not mine or not others:
        return NOTHING
    value = median([np.median(np.exp(x)) for x in mine]) / median([np.median(np.exp(x)) for x in others])
    return around(value, centre(mine).less(centre(others)), level)


def log_centre(values: npt.ArrayLike) -> Centre:
    """The centre of the logarithms of positive measurements (builds, runs): what `differs` needs to know of them."""
    with np.errstate(divide="ignore", invalid="ignore"):
        builds = builds_of(np.log(np.atleast_2d(np.asarray(values, dtype=np.float64))))
    return centre(builds) if builds else Centre(math.nan, math.nan, 1.0)


def differs(a: npt.ArrayLike, b: npt.ArrayLike, *, paired: bool = False, level: float = VERDICT_LEVEL) -> Verdict:
    """Whether `a` is faster than `b` (rates of shape (builds, runs)), slower, or neither can be said.

    Two results of the same entry are called different in fewer than 1 of 100 cases, which is why the ratio's
    interval is one of VERDICT_LEVEL here (of `goal.STOPPED_VERDICT_LEVEL`, where they were stopped for being precise).
    """
    ratio = ratio_estimate(a, b, paired=paired, level=level)
    if ratio.low > 1:
        return Verdict.FASTER
    return Verdict.SLOWER if ratio.high < 1 else Verdict.CANNOT_TELL


def tiers(results: Sequence[npt.ArrayLike], level: float = VERDICT_LEVEL) -> list[int]:
    """The tier of each result (rates of shape (builds, runs)), 1 for the fastest; 0 where nothing was measured.

    Tiers are groups of neighbours in the ranking by median. The fastest result opens the first one; each next
    result belongs to it as long as `differs` cannot tell it from the one that opened the tier, else it opens another.
    """
    values = [median([np.median(build) for build in builds_of(result)]) for result in results]
    ranking = sorted((place for place, value in enumerate(values) if not math.isnan(value)), key=lambda p: -values[p])
    found, opened, tier = [0] * len(values), -1, 0
    for place in ranking:
        if tier == 0 or differs(results[opened], results[place], level=level) is not Verdict.CANNOT_TELL:
            opened, tier = place, tier + 1
        found[place] = tier
    return found
