"""What a result says of its own repeats: whether they were enough, and whether the machine changed meanwhile."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.results.goals import passes_of, watched
from ann_bench.results.model import Bundle, Status
from ann_bench.stats import VERDICT_LEVEL, Estimate, ratio_estimate
from ann_bench.stats.goal import Watched, counted, levels, narrow, needed

#: A change of the machine's speed, as a share, below which nothing is said: canaries of a quiet machine differ by less.
FLOOR = 0.05

Floats = npt.NDArray[np.float64]
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


def stopped(fields: Mapping[str, Any]) -> bool:
    """Whether an identity says that a result was measured until its intervals were narrow."""
    return bool(fields.get("until"))


def level_of(bundle: Bundle) -> float:
    """Of the intervals of a result, so that they hold the truth as often as those of 95 % do."""
    return levels(stopped=stopped(bundle.identity.fields))[0]


def goal_note(bundle: Bundle, rates: Floats, recalls: Floats) -> str:
    """Of intervals that were to be reached: not reached, or reached before the last build or run; else empty."""
    fields = bundle.identity.fields
    if not stopped(fields) or not rates.size or bundle.outcome.status is not Status.OK:
        return ""
    goal, several = float(fields["until"]), int(fields.get("builds", rates.shape[0])) > 1
    wanted = watched(fields.get("mode"), passes_of(bundle.asks, rates), rates, recalls)
    (count, least), what = counted(wanted), "build" if several else "run"
    made = f"{count} {what}" + "s" * (count != 1)
    up = "until_seconds" in fields and count < int(fields.get(f"{what}s", count))
    head, link = (f"the time was up after {made}", ": ") if up else (made, " and ")
    if several and rates.shape[0] == 1:
        return "the time was up after 1 build: how builds differ is not known"
    if count < least:
        return f"{head}: too few to say how well anything is known"
    if narrow(wanted, goal, count):
        enough = needed(wanted, goal) or count
        return f"{enough} {what}s would have been enough, {count} were made" if enough < count else ""
    missed = ", ".join(_how_well(one, goal, count) for one in wanted if not one.width(count) <= goal)
    return f"{head}{link}{missed}: more {'time' if up else 'of them'}, or a quieter machine"


def _how_well(one: Watched, goal: float, count: int) -> str:
    """In words, of what is not known well enough."""
    width = one.width(count)
    found = f"within {width:.1%}" if not math.isnan(width) else "not known at all"
    return f"{one.name} is {found}, not {goal:.1%}"
