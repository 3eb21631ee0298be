"""Passes whose queries are put one by one: how they are made, and how they end in a bundle."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ann_bench.judge.pattern import Pattern, Served
from ann_bench.results.goals import Pass
from ann_bench.results.model import Asks
from ann_bench.results.trials import Trial, trial

Place = tuple[int, int, int]


@dataclass
class Passes:
    """What was noted of each pass, by build, run and search; which of the answers each of its rounds gave."""

    found: dict[Place, Served] = field(default_factory=dict)
    answers: dict[Place, list[int]] = field(default_factory=dict)

    def but(self, build: int, first: int = 0) -> Passes:
        """The same without the runs of a build from the `first` on."""
        return Passes(
            {place: one for place, one in self.found.items() if place[0] != build or place[1] < first},
            {place: one for place, one in self.answers.items() if place[0] != build or place[1] < first},
        )

    def before(self, place: Place) -> list[Trial]:
        """The passes of the same build and search so far."""
        build, run, search = place
        mine = [self.found[build, one, search] for one in range(run) if (build, one, search) in self.found]
        return [trial(one.rate, one.due, one.sent, one.answered) for one in mine]

    def by_run(self) -> dict[tuple[int, int], Pass]:
        """Those of a workload of one search: only such are put one by one."""
        return {
            (build, run): Pass(one.due.ravel(), one.sent.ravel(), one.answered.ravel(), one.rate)
            for (build, run, _), one in self.found.items()
        }

    def asks(self, shape: Place, counts: tuple[int, ...]) -> Asks | None:
        """All of them as they are stored; None where there are none."""
        return self._stored(shape, counts) if self.found else None

    def _stored(self, shape: Place, counts: tuple[int, ...]) -> Asks:
        ends = np.cumsum([0, *counts]).tolist()
        rounds = max(len(one.due) for one in self.found.values())
        calls = max(len(one.null) for one in self.found.values())
        times = np.full((3, *shape[:2], rounds, ends[-1]), np.nan)
        busy, rate = np.full((2, *shape), np.nan)
        null = np.full((*shape, calls), np.nan)
        answer_of = np.full((*shape[:2], rounds, shape[2]), -1, dtype=np.int32)
        for place, one in self.found.items():
            build, run, search = place
            own = slice(ends[search], ends[search + 1])
            times[:, build, run, : len(one.due), own] = one.due, one.sent, one.answered
            busy[place], rate[place], null[place][: len(one.null)] = one.busy, one.rate, one.null
            mine = self.answers[place]
            answer_of[build, run, : len(mine), search] = mine
        due, sent, answered = times.reshape(3, *shape[:2], -1)
        return Asks(due, sent, answered, null, busy, rate, answer_of)


def once(pattern: Pattern, count: int) -> Pattern:
    """The same for a warm-up or a control batch of `count` queries: the same clients or the same times, one round."""
    return replace(pattern, seconds=0.0, schedule=None if pattern.schedule is None else pattern.schedule[:count])
