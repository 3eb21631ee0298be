"""The kinds of pictures that results make, each with the results that it is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from ann_bench.errors import ResultError, unknown
from ann_bench.report.pareto import Picture, pictures
from ann_bench.report.pareto_plot import draw
from ann_bench.report.scatter import Scatter, draw_scatter
from ann_bench.report.stream_plot import draw_stream
from ann_bench.report.tradeoffs import cost_scatters, scaling_scatters
from ann_bench.results.figures import Figures

#: What is drawn where nobody asks for another kind.
FRONT = "front"

#: Each kind of picture, and what it shows.
KINDS = {
    FRONT: "recall against queries per second; a stream step by step",
    "build": "speed against build time",
    "memory": "speed against memory",
    "scaling": "speed against the number of rows",
}


@dataclass(frozen=True)
class Sheet:
    """One picture: `points` are the results that it shows, `failures` and `older` what its caption counts.

    `figure` draws it.
    """

    name: str
    kind: str
    points: tuple[Figures, ...]
    figure: Callable[[], Figure]
    failures: tuple[Figures, ...] = ()
    older: int = 0


def sheets(figures: Iterable[Figures], kind: str = FRONT) -> list[Sheet]:
    """All pictures of a kind that these results make; UsageError for a kind that there is not."""
    if kind not in KINDS:
        raise unknown("kind of plot", kind, KINDS)
    if kind == FRONT:
        return [front_sheet(picture) for picture in pictures(figures)]
    found = scaling_scatters(figures) if kind == "scaling" else cost_scatters(figures, kind)
    return [_scatter_sheet(one, kind) for one in found]


def front_sheet(picture: Picture) -> Sheet:
    """Recall against speed; a workload that changes its index is drawn step by step instead."""
    drawing = draw_stream if picture.points[0].changes else draw
    return Sheet(picture.name, FRONT, picture.points, lambda: drawing(picture), picture.failures, picture.older)


def sheet_again(kind: str, name: str, points: Sequence[Figures]) -> Sheet:
    """The one picture of a kind (any but FRONT) that was made of these points; ResultError where they make none."""
    found = sheets(points, kind)
    if len(found) != 1 or sorted(one.key for one in found[0].points) != sorted(one.key for one in points):
        raise ResultError(f"shows {len(points)} points that do not make one picture of the kind {kind!r}")
    one = found[0]
    return Sheet(name, kind, tuple(points), one.figure)


def _scatter_sheet(scatter: Scatter, kind: str) -> Sheet:
    return Sheet(scatter.name, kind, scatter.made_of, lambda: draw_scatter(scatter))
