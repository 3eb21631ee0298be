"""Passes whose queries are put one by one: how they are made, and how they end in a bundle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ann_bench.judge.pattern import Pattern, Served
from ann_bench.results.model import Asks
from ann_bench.results.trials import Trial, trial

Place = tuple[int, int, int]


@dataclass
class Passes:
    """What was noted of each pass, by build, run and search."""

    found: dict[Place, Served] = field(default_factory=dict)

    def before(self, place: Place) -> list[Trial]:
        """The passes of the same build and search so far."""
        build, run, search = place
        mine = [self.found[build, one, search] for one in range(run) if (build, one, search) in self.found]
        return [trial(one.rate, one.due, one.sent, one.answered) for one in mine]

    def asks(self, shape: Place, counts: tuple[int, ...]) -> Asks | None:
        """All of them as they are stored; None where there are none."""
        return _stored(self.found, shape, counts) if self.found else None


def _stored(found: Mapping[Place, Served], shape: Place, counts: tuple[int, ...]) -> Asks:
    ends = np.cumsum([0, *counts]).tolist()
    calls = max(len(one.null) for one in found.values())
    due, sent, answered = np.full((3, *shape[:2], ends[-1]), np.nan)
    busy, rate = np.full((2, *shape), np.nan)
    null = np.full((*shape, calls), np.nan)
    for (build, run, search), one in found.items():
        own = slice(ends[search], ends[search + 1])
        due[build, run, own], sent[build, run, own], answered[build, run, own] = one.due, one.sent, one.answered
        place = build, run, search
        busy[place], rate[place], null[place] = one.busy, one.rate, one.null
    return Asks(due, sent, answered, null, busy, rate)


def of_controls(pattern: Pattern) -> Pattern:
    """The pattern of a control batch: the same clients, or one for each caller where there is a rate."""
    return Pattern(pattern.callers, pattern.clients if pattern.schedule is None else pattern.callers)
