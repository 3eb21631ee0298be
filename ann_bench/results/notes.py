"""What a reader should know of a measurement that went well but looks odd."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ann_bench.results.control import compare, delays
from ann_bench.results.model import Bundle
from ann_bench.results.ranges import precision
from ann_bench.results.repeats import drift_note

#: A first run that is slower than the others by this factor, and by this many seconds, is worth a note.
SLOW_FACTOR, SLOW_SECONDS = 3.0, 0.05
#: CPU seconds outside of the timed calls, and their share of those inside, beyond which they are worth a note.
OUTSIDE_SECONDS, OUTSIDE_SHARE = 1.0, 0.5
#: A control batch that is slower than the repeats by this factor, and by `SLOW_SECONDS`, is worth a note where it used
#: more CPU time by as much: on a busy machine any batch may wait. Beyond the second factor it is worth one anyway.
UNSEEN_FACTOR, UNSEEN_FACTOR_ALONE = 2.0, 10.0
#: A recall of the control batch that is lower by this much is worth a note, where chance is no explanation: by chance
#: alone a result gets one with a probability below exp(-CHANCE ** 2 / 2), 1 in 250,000.
UNSEEN_DROP, CHANCE = 0.02, 5.0
#: A share of ids beyond the radius that is worth a note: they cost no average precision.
BEYOND = 0.1


def notes(bundle: Bundle) -> tuple[str, ...]:
    """One line for each thing that looks odd; none of them changes a figure."""
    found = (
        _slow_start(bundle),
        _work_outside(bundle),
        _unseen_worse(bundle),
        _unseen_slower(bundle),
        _beyond(bundle),
        drift_note(bundle),
    )
    return tuple(note for note in found if note)


def _slow_start(bundle: Bundle) -> str:
    """Of a first run far slower than the others of its build: the worst of the builds."""
    factors = [
        _first_to_others([*_warmup(bundle, build), *runs]) for build, runs in enumerate(bundle.seconds.sum(axis=2))
    ]
    worst = max(factors, default=0.0)
    if worst <= SLOW_FACTOR:
        return ""
    return f"first batch took {worst:,.1f} x the median of the others: built late, or answers from a cache?"


def _warmup(bundle: Bundle, build: int) -> list[float]:
    """The first batch of a build, where it was a warm-up: all its searches."""
    steps = [step.seconds for step in bundle.steps if step.kind == "warmup" and step.build == build]
    return [sum(steps[: len(bundle.counts)])] if steps else []


def _first_to_others(times: Sequence[float]) -> float:
    """The first run's time as a multiple of the others' median; 0 where that says nothing."""
    runs = np.asarray(times, dtype=np.float64)
    others = runs[1:][np.isfinite(runs[1:])]
    if len(others) < 2 or not np.isfinite(runs[0]):
        return 0.0
    usual = float(np.median(others))
    return float(runs[0]) / usual if usual > 0 and runs[0] - usual > SLOW_SECONDS else 0.0


def _work_outside(bundle: Bundle) -> str:
    outside, inside = bundle.usage.cpu_outside_seconds, bundle.usage.cpu_inside_seconds
    if outside <= max(OUTSIDE_SECONDS, OUTSIDE_SHARE * inside):
        return ""
    return f"used {outside:,.{0 if outside >= 10 else 1}f} CPU seconds outside of the timed calls"


def _unseen_worse(bundle: Bundle) -> str:
    """Of a lower recall on queries that nobody had seen."""
    found = compare(bundle)
    if found.evidence <= CHANCE or found.published - found.unseen <= UNSEEN_DROP:
        return ""
    recalls = f"recall {found.unseen:.2f} against {found.published:.2f} on the published ones"
    return f"answers to queries that nobody had seen: {recalls}: answered from a table?"


def _unseen_slower(bundle: Bundle) -> str:
    """Of more time for queries that nobody had seen: the worst of the builds.

    Where queries come at a rate, all of them together take as long as the schedule says: CPU time alone counts there.
    """
    if isinstance((bundle.identity.fields.get("mode") or {}).get("rate"), int | float):
        costs = [cpu.factor for _, cpu in delays(bundle) if cpu.beyond(UNSEEN_FACTOR, SLOW_SECONDS)]
        return _from_a_cache(costs, "CPU time") if costs else ""
    factors = [
        time.factor
        for time, cpu in delays(bundle)
        if time.beyond(UNSEEN_FACTOR_ALONE, SLOW_SECONDS)
        or (time.beyond(UNSEEN_FACTOR, SLOW_SECONDS) and cpu.beyond(UNSEEN_FACTOR, SLOW_SECONDS))
    ]
    return _from_a_cache(factors, "time") if factors else ""


def _from_a_cache(factors: Sequence[float], what: str) -> str:
    worst = f"{max(factors):,.1f} x the {what} of the published ones"
    return f"queries that nobody had seen took {worst}: answered from a table, or from a cache?"


def _beyond(bundle: Bundle) -> str:
    """Of many ids beyond the radius: the least precise of the answers."""
    least = min((one for score in bundle.scores if not math.isnan(one := precision(score))), default=1.0)
    return f"{1 - least:.0%} of the ids returned lie beyond the radius" if least < 1 - BEYOND else ""
