"""Which entries and operating points meet somebody's needs, and which comes nearest where none does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ann_bench.report import format as show
from ann_bench.report.pareto import Picture, pictures
from ann_bench.results.figures import Figures


@dataclass(frozen=True)
class Needs:
    """What an index must do; None where it does not matter.

    `memory_bytes` bounds the peak of the whole entry, `build_seconds` the time of its build (of a stream: of all
    changes). With `updates` only results of workloads count that insert and delete while they search.
    """

    recall: float = 0.0
    qps: float | None = None
    memory_bytes: int | None = None
    build_seconds: float | None = None
    updates: bool = False

    def missed(self, one: Figures) -> dict[str, float]:
        """By how much a result misses each need: 0.1 is a tenth of the need; empty where it meets all.

        A recall of 0.90 misses 0.95 by 1: it leaves out twice as many neighbours as it may.
        """
        found = {}
        if one.recall < self.recall:
            found["recall"] = (1 - one.recall) / max(1 - self.recall, 1e-4) - 1
        if self.qps is not None and not one.qps >= self.qps:
            found["speed"] = self.qps / one.qps - 1 if one.qps > 0 else math.inf
        if self.memory_bytes is not None and not (one.peak_memory_bytes or math.inf) <= self.memory_bytes:
            found["memory"] = (one.peak_memory_bytes or math.inf) / self.memory_bytes - 1
        if self.build_seconds is not None and built(one) > self.build_seconds:
            found["build time"] = built(one) / self.build_seconds - 1
        return found


def built(one: Figures) -> float:
    """Seconds to have the index: the build, or all the changes of a stream; 0 where there was nothing to do."""
    seconds = one.update_seconds if one.changes else one.build_seconds
    return 0.0 if math.isnan(seconds) else seconds


@dataclass(frozen=True)
class Advice:
    """What fits on one data set under one set of conditions, best first; else `nearest`, and what it lacks."""

    picture: Picture
    fitting: tuple[Figures, ...]
    nearest: Figures | None = None
    missed: tuple[str, ...] = ()


def recommend(figures: Iterable[Figures], needs: Needs) -> list[Advice]:
    """Advice for each picture of results, by name; of each entry its best operating point that fits.

    Best is most queries per second; of streams the best mean recall.
    """
    found = []
    for picture in pictures(figures):
        points = [one for one in picture.points if one.changes or not needs.updates]
        if points:
            found.append(_advice(Picture(picture.name, tuple(points)), needs))
    return found


def _advice(picture: Picture, needs: Needs) -> Advice:
    fitting: dict[str, Figures] = {}
    for one in sorted(picture.points, key=_worth, reverse=True):
        if not needs.missed(one):
            fitting.setdefault(one.algorithm, one)
    if fitting:
        return Advice(picture, tuple(fitting.values()))
    nearest = min(picture.points, key=lambda one: (sum(needs.missed(one).values()), *(-part for part in _worth(one))))
    return Advice(picture, (), nearest, tuple(_lacks(nearest, needs)))


def _worth(one: Figures) -> tuple[float, float]:
    return (one.recall, one.qps) if one.changes else (one.qps, one.recall)


def _lacks(one: Figures, needs: Needs) -> Sequence[str]:
    """In words, what the nearest result lacks."""
    words = {
        "recall": lambda: f"{one.measured} {show.recall(one.recall)}, {needs.recall:g} wanted",
        "speed": lambda: f"{one.qps:,.0f} queries per second, {needs.qps:,.0f} wanted",
        "memory": lambda: f"{show.size(one.peak_memory_bytes)} of memory, {show.size(needs.memory_bytes)} allowed",
        "build time": lambda: f"built in {show.seconds(built(one))} s, {needs.build_seconds:g} s allowed",
    }
    return [words[name]() for name in needs.missed(one)]
