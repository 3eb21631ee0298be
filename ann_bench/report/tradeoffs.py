"""Pictures of what speed or recall costs: against build time, memory and size, and over growing data."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ann_bench.report.caption import caption, title
from ann_bench.report.pareto import Picture, front, pictures
from ann_bench.report.points import Scale, Scatter
from ann_bench.report.ranking import best_per_algorithm, least_recall, score_of
from ann_bench.report.recommend import built
from ann_bench.results.conditions import CONDITIONS
from ann_bench.results.figures import Figures, canonical

#: What stands at the end of the names of data sets that are the same but for their size.
_SIZE = re.compile(r"-\d+(\.\d+)?[kKMG]$")


@dataclass(frozen=True)
class Cost:
    """Something that speed or recall is drawn against: a value of a result (NaN: it has none), and its axis."""

    suffix: str
    label: str
    value: Callable[[Figures], float]


def _or_nan(value: int | None) -> float:
    return math.nan if value is None else value


COSTS = {
    "build": Cost("build", "seconds to build", built),
    "memory": Cost("memory", "peak memory, GiB", lambda one: _or_nan(one.peak_memory_bytes) / 2**30),
    "size": Cost("size", "memory that the index added, MiB", lambda one: _or_nan(one.index_memory_bytes) / 2**20),
}


@dataclass(frozen=True)
class Goal:
    """What is drawn against a cost: speed at the track's recall, or (`at_qps`) recall at so many queries per second."""

    at_qps: float | None = None

    def leader(self, members: Sequence[Figures]) -> Figures | None:
        """The operating point of one build that is drawn; None where none reaches the goal."""
        if self.at_qps is not None:
            fast = [one for one in members if one.qps >= self.at_qps]
            return max(fast, key=lambda one: (one.recall, one.qps), default=None)
        score = score_of(members[0].track)
        if score is None:
            return front(members)[0]
        return next(iter(best_per_algorithm(members, score).values()))

    def recalls(self, one: Figures) -> bool:
        """Whether recall is drawn: always of a stream, whose score it is."""
        return self.at_qps is not None or one.changes

    def words(self, one: Figures) -> str:
        """The condition, as it follows what is drawn."""
        if self.at_qps is not None:
            return f" at >= {self.at_qps:,g} queries per second" if self.at_qps > 0 else ""
        bound = least_recall(one.track)
        return "" if bound is None else f" at {one.measured} >= {bound:g}"


def cost_scatters(figures: Iterable[Figures], kind: str, goal: Goal = Goal()) -> list[Scatter]:
    """Speed (of a stream: recall) against one of COSTS, a picture for each of `pareto.pictures`.

    Of each algorithm and build the operating point that the track ranks is drawn, with its interval; with a `goal` of
    its own that of the best recall at a speed.
    """
    found = [_cost(picture, COSTS[kind], goal) for picture in pictures(figures)]
    return [scatter for scatter in found if scatter is not None]


def _cost(picture: Picture, cost: Cost, goal: Goal) -> Scatter | None:
    first = picture.points[0]
    points: dict[str, list[tuple[float, float]]] = {}
    spreads: dict[str, list[tuple[float, float]]] = {}
    made_of = []
    for one in _leaders(picture, goal):
        recalls = goal.recalls(one)
        x, y = cost.value(one), one.recall if recalls else one.qps
        if x > 0 and y > 0:
            points.setdefault(one.algorithm, []).append((x, y))
            low, high = (one.recall_low, one.recall_high) if recalls else (one.qps_low, one.qps_high)
            spreads.setdefault(one.algorithm, []).append((low, high))
            made_of.append(one)
    if not points:
        return None
    at = goal.words(first)
    what = f"{'mean ' * first.changes}{first.measured}" if goal.recalls(first) else "queries per second"
    reading = f"Each point is the best operating point of a build{at}; up and left is better."
    if cost.suffix == "size":
        reading += " The size is what the entry's memory grew by from before the build to after it."
    return Scatter(
        name=f"{picture.name}-{cost.suffix}" + ("" if goal.at_qps is None else f"-at-{goal.at_qps:g}"),
        title=title(picture),
        caption=caption(Picture(picture.name, tuple(made_of)), reading),
        x=Scale("seconds of all changes" if first.changes and cost.suffix == "build" else cost.label),
        y=Scale(f"{what}{at}", log=not goal.recalls(first)),
        points=points,
        spreads=spreads,
        made_of=tuple(made_of),
    )


def _leaders(picture: Picture, goal: Goal = Goal()) -> list[Figures]:
    """The operating points that the goal asks for, one for each algorithm and build."""
    groups: dict[tuple[str, str], list[Figures]] = {}
    for one in picture.points:
        groups.setdefault((one.algorithm, one.build), []).append(one)
    found = [goal.leader(members) for members in groups.values()]
    return [one for one in found if one is not None]


def scaling_scatters(figures: Iterable[Figures]) -> list[Scatter]:
    """Speed against the number of rows, over data sets whose names differ in their size only, with fitted slopes.

    The slope is that of a straight line through the logarithms (least squares): QPS ~ rows^slope. Algorithms that were
    measured at one size only are not drawn.
    """
    families: dict[str, list[Picture]] = {}
    for picture in pictures(figures):
        if not picture.points[0].changes:
            families.setdefault(_family(picture.points[0]), []).append(picture)
    found = [_scaling(members) for members in families.values() if len({_rows(one) for one in members}) > 1]
    return [scatter for scatter in found if scatter is not None]


def _family(one: Figures) -> str:
    apart = {"dataset", "data_hash", "workload"}
    same = {name: one.identity.fields.get(name) for name in CONDITIONS if name not in apart}
    return canonical({**same, "family": _SIZE.sub("", one.dataset)})


def _rows(picture: Picture) -> int:
    return _rows_of(picture.points[0])


def _rows_of(one: Figures) -> int:
    return int(one.provenance.get("data", {}).get("rows", 0))


def _scaling(members: Sequence[Picture]) -> Scatter | None:
    points: dict[str, list[tuple[float, float]]] = {}
    spreads: dict[str, list[tuple[float, float]]] = {}
    drawn: dict[str, list[Figures]] = {}
    for picture in sorted(members, key=_rows):
        fastest: dict[str, Figures] = {}
        for one in _leaders(picture):
            if one.algorithm not in fastest or one.qps > fastest[one.algorithm].qps:
                fastest[one.algorithm] = one
        for name, one in fastest.items():
            points.setdefault(name, []).append((float(_rows(picture)), one.qps))
            spreads.setdefault(name, []).append((one.qps_low, one.qps_high))
            drawn.setdefault(name, []).append(one)
    points = {name: several for name, several in points.items() if len({x for x, _ in several}) > 1}
    if not points:
        return None
    made_of = [one for name in points for one in drawn[name]]
    largest = [one for one in made_of if _rows_of(one) == max(map(_rows_of, made_of))]
    first, bound = largest[0], least_recall(largest[0].track)
    at = "" if bound is None else f" at {first.measured} >= {bound:g}"
    family = _SIZE.sub("", first.dataset)
    reading = f"Sizes of {family}; behind each name the slope: queries per second grow as rows to this power."
    return Scatter(
        name=f"{first.track}-{family}-scaling",
        title=f"{family}, {first.track} track",
        caption=caption(Picture("", tuple(largest)), reading),
        x=Scale("rows"),
        y=Scale(f"queries per second{at}"),
        points=points,
        spreads=spreads,
        notes={name: f"({slope(several):.2f})" for name, several in points.items()},
        lines=True,
        made_of=tuple(made_of),
    )


def slope(points: Sequence[tuple[float, float]]) -> float:
    """The slope of a straight line through log y over log x, by least squares."""
    x, y = np.log(np.asarray(points, dtype=np.float64)).T
    return float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())
