"""The kinds of pictures that results make, each with the results that it is made of."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ann_bench.errors import ResultError, UsageError, unknown
from ann_bench.report.look import Look
from ann_bench.report.operating import Bundles
from ann_bench.report.paper import PAGE, Paper
from ann_bench.report.pareto import Picture, pictures
from ann_bench.report.points import Scatter
from ann_bench.report.slices import SLICINGS, slice_scatters
from ann_bench.report.tradeoffs import COSTS, Goal, cost_scatters, scaling_scatters
from ann_bench.report.waiting import latency_scatters, load_scatters
from ann_bench.results.figures import Figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What is drawn where nobody asks for another kind, and what stands for every kind.
FRONT, ALL = "front", "all"

#: Each kind of picture, and what it shows.
KINDS = {
    FRONT: "recall against queries per second; a stream step by step",
    "build": "speed against build time",
    "memory": "speed against memory",
    "size": "speed against the memory that the index added",
    "scaling": "speed against the number of rows",
    "selectivity": "recall by how many rows pass the filter of a query",
    "difficulty": "recall by the local intrinsic dimension of a query",
    "latency": "latencies of queries that were put one by one, by percentile",
    "load": "latency against the rate at which queries come in",
}

#: What results must have for a picture of a kind, where it is more than to be ok.
NEEDS = {
    "build": "no result reaches what the track ranks by; lower the goal with --at-qps, or see --kind front",
    "memory": "no result reaches what the track ranks by, or none knows its memory; see --kind front",
    "size": "no result reaches what the track ranks by, or none knows its memory after the build; see --kind front",
    "scaling": "it takes one entry on data sets that differ in their size only (x-1M, x-10M)",
    "selectivity": "it takes searches with filters, and their exact answers in this machine's cache: run "
    "`ann-bench truth` for the data set",
    "difficulty": "it takes k nearest neighbours by a distance (no inner product, no stream), and their exact answers "
    "in this machine's cache: run `ann-bench truth` for the data set",
    "latency": "it takes results of `ann-bench run --mode latency`, `concurrent` or `load`",
    "load": "it takes results of `ann-bench run --mode load` at several rates, or of its search for one",
}


def _nowhere(_: Figures) -> None:
    return None


@dataclass(frozen=True)
class Wish:
    """What is to be drawn, and on what paper; UsageError for a kind that there is not.

    `at_qps` draws recall at so many queries per second against build time, memory or size, instead of speed. `bundles`
    finds the bundle of figures: some kinds look at single queries.
    """

    kind: str = FRONT
    paper: Paper = PAGE
    at_qps: float | None = None
    bundles: Bundles = field(default=_nowhere, compare=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS and self.kind != ALL:
            raise unknown("kind of plot", self.kind, [*KINDS, ALL])
        if self.at_qps is not None and self.kind not in COSTS:
            raise UsageError(f"recall at a speed is drawn against {', '.join(COSTS)}, not by {self.kind}: leave it out")

    @property
    def kinds(self) -> list[str]:
        """The kinds that are drawn."""
        return list(KINDS) if self.kind == ALL else [self.kind]

    def told(self) -> dict[str, Any]:
        """What it takes to wish for the same again, as JSON: kind and paper, and the speed where there is one."""
        paper = {"style": self.paper.style, "width": self.paper.width_name}
        return {"kind": self.kind, **paper, **({} if self.at_qps is None else {"at_qps": float(self.at_qps)})}

    @staticmethod
    def of(told: Mapping[str, Any], bundles: Bundles = _nowhere) -> Wish:
        """The wish that `told` tells of; UsageError where it cannot be wished for."""
        paper = Paper(str(told.get("style", PAGE.style)), str(told.get("width", PAGE.width_name)))
        speed = told.get("at_qps")
        return Wish(str(told.get("kind", FRONT)), paper, None if speed is None else float(speed), bundles)


@dataclass(frozen=True)
class Sheet:
    """One picture: `points` are the results that it shows, `failures` and `older` what its caption counts.

    `figure` draws it; `content` is all that it draws, as text.
    """

    name: str
    wish: Wish
    points: tuple[Figures, ...]
    algorithms: tuple[str, ...]
    figure: Callable[[Look], Figure]
    content: Callable[[], str]
    failures: tuple[Figures, ...] = ()
    older: int = 0


def sheets(figures: Iterable[Figures], wish: Wish) -> list[Sheet]:
    """All pictures of the wished kind (or of all kinds) that these results make."""
    figures = list(figures)
    return [sheet for kind in wish.kinds for sheet in _sheets(figures, dataclasses.replace(wish, kind=kind))]


def _sheets(figures: Sequence[Figures], wish: Wish) -> list[Sheet]:
    if wish.kind == FRONT:
        return [front_sheet(picture, wish) for picture in pictures(figures)]
    return [_scatter_sheet(one, wish) for one in _scatters(figures, wish)]


def _scatters(figures: Sequence[Figures], wish: Wish) -> list[Scatter]:
    if wish.kind in COSTS:
        return cost_scatters(figures, wish.kind, Goal(wish.at_qps))
    if wish.kind in SLICINGS:
        return slice_scatters(figures, wish.kind, wish.bundles)
    if wish.kind == "scaling":
        return scaling_scatters(figures)
    return (latency_scatters if wish.kind == "latency" else load_scatters)(figures, wish.bundles)


def front_sheet(picture: Picture, wish: Wish) -> Sheet:
    """Recall against speed; a workload that changes its index is drawn step by step instead."""

    def figure(look: Look) -> Figure:
        if picture.points[0].changes:
            from ann_bench.report.stream_plot import draw_stream

            return draw_stream(picture, look)
        from ann_bench.report.pareto_plot import draw

        return draw(picture, look)

    return Sheet(
        picture.name + wish.paper.suffix, wish, picture.points, tuple(picture.algorithms), figure,
        lambda: repr(picture), picture.failures, picture.older,
    )  # fmt: skip


def sheet_again(wish: Wish, name: str, points: Sequence[Figures]) -> Sheet:
    """The one picture of a kind (any but FRONT) that was made of these points; ResultError where they make none."""
    found = sheets(points, wish)
    if len(found) != 1 or sorted(one.key for one in found[0].points) != sorted(one.key for one in points):
        raise ResultError(f"shows {len(points)} points that do not make one picture of the kind {wish.kind!r}")
    return dataclasses.replace(found[0], name=name, points=tuple(points))


def _scatter_sheet(scatter: Scatter, wish: Wish) -> Sheet:
    def figure(look: Look) -> Figure:
        from ann_bench.report.scatter import draw_scatter

        return draw_scatter(scatter, look)

    name, algorithms = scatter.name + wish.paper.suffix, tuple(scatter.points)
    return Sheet(name, wish, scatter.made_of, algorithms, figure, scatter.told)
