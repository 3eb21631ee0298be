"""Which build and which query configs, of all that were measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ann_bench.results.figures import canonical
from ann_bench.tune.model import Choice, Measured


def choose(trials: Sequence[Measured], recalls: Sequence[float], most: int) -> Choice:
    """One build, since a track allows one, and up to `most` query configs of it.

    The build is the one that reaches most of the recalls; of those that reach as many, the one whose best queries per
    second at these recalls are most on the (geometric) average; where none is reached, the one with the best recall. Of
    its configs the best at each recall are taken, then others that no other config beats in both.
    """
    builds: dict[str, list[Measured]] = {}
    for one in trials:
        builds.setdefault(canonical(one.build), []).append(one)
    mine = max(builds.values(), key=lambda some: _worth(some, recalls))
    picked = [found for recall in sorted(recalls) if (found := best_at(mine, recall))]
    picked += sorted(front(mine), key=lambda one: one.recall, reverse=not picked)
    kept = {canonical(one.query): one for one in reversed(picked)}  # where two have the same arguments, the first
    first = list({canonical(one.query): one for one in picked})[:most]
    return Choice(mine[0].build, tuple(sorted((kept[key] for key in first), key=lambda one: one.recall)))


def best_at(trials: Iterable[Measured], recall: float) -> Measured | None:
    """The most queries per second of those with at least this recall; None where there are none."""
    return max((one for one in trials if one.recall >= recall), key=lambda one: one.qps, default=None)


def front(trials: Sequence[Measured]) -> list[Measured]:
    """Those that no other beats in recall and in queries per second, by falling speed."""
    found: list[Measured] = []
    for one in sorted(trials, key=lambda one: (-one.qps, -one.recall)):
        if not found or one.recall > found[-1].recall:
            found.append(one)
    return found


def _worth(trials: Sequence[Measured], recalls: Sequence[float]) -> tuple[int, float, float]:
    best = [found for recall in recalls if (found := best_at(trials, recall))]
    return len(best), math.fsum(math.log(one.qps) for one in best), max(one.recall for one in trials)
