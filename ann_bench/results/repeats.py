"""What a result says of its own repeats: whether they were enough, and whether the machine changed meanwhile."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ann_bench.results.model import Bundle
from ann_bench.stats import VERDICT_LEVEL, Estimate, ratio_estimate
from ann_bench.stats.centre import median_estimate
from ann_bench.stats.goal import needed, units

#: A change of the machine's speed, as a share, below which nothing is said: canaries of a quiet machine differ by less.
FLOOR = 0.05

_NOTHING = Estimate(math.nan, math.nan, math.nan)


def canary_drift(bundle: Bundle) -> float:
    """By how much the machine was faster after the measurement than before, as a share; NaN without canaries."""
    return _speed_up(bundle).value - 1


def drifted(bundle: Bundle) -> bool:
    """Whether the canaries differ by more than FLOOR and more than by chance."""
    change = _speed_up(bundle)
    return abs(change.value - 1) > FLOOR and not change.holds(1.0)


def _speed_up(bundle: Bundle) -> Estimate:
    """How many times faster the canary was after than before."""
    canary = bundle.provenance.get("canary")
    try:
        before, after = ([float(one) for one in canary[name]] for name in ("before", "after"))  # type: ignore[index]
        return ratio_estimate([before], [after], level=VERDICT_LEVEL)
    except (KeyError, TypeError, ValueError):
        return _NOTHING


def drift_note(bundle: Bundle) -> str:
    """One line where the machine changed; empty where it did not."""
    if not drifted(bundle):
        return ""
    change = canary_drift(bundle)
    how = "faster" if change > 0 else "slower"
    return f"the machine was {abs(change):.0%} {how} after this measurement than before: measure again when it is quiet"


def goal_note(bundle: Bundle, rates: npt.NDArray[np.float64]) -> str:
    """Of an interval that was to be reached: not reached, or reached before the last build or run; else empty."""
    goal = bundle.identity.fields.get("until")
    if not goal or not rates.size:
        return ""
    goal, what = float(goal), "builds" if rates.shape[0] > 1 else "runs"
    count, least = units(rates)
    first = needed(rates, goal)
    if first is None:
        width = median_estimate(rates).width
        found = f"within {width:.1%}" if not math.isnan(width) else "not known at all"
        return f"{count} {what} and QPS is {found}, not {goal:.1%}: more of them, or a quieter machine"
    return f"{first} {what} would have been enough, {count} were made" if max(first, least) < count else ""
