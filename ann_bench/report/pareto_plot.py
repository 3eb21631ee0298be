"""Recall against queries per second, with the Pareto line of each algorithm: a picture fit for a paper.

A workload that changes its index is drawn step by step instead (`stream_plot`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ann_bench.report.axes import scale_rate, scale_recall
from ann_bench.report.canvas import Canvas
from ann_bench.report.caption import caption, title
from ann_bench.report.look import PLAIN, Look
from ann_bench.report.palette import Style
from ann_bench.report.paper import Paper
from ann_bench.report.pareto import Picture, front
from ann_bench.report.ranking import least_recall
from ann_bench.results.figures import Figures

_HEIGHTS = {"page": 3.5, "column": 2.2}  # inches: of the axes


def draw(picture: Picture, look: Look = PLAIN) -> Figure:
    """The picture as a matplotlib figure of its own; nothing global changes."""
    algorithms = picture.algorithms
    styles = look.of(algorithms)
    canvas = Canvas(look.paper, title(picture), caption(picture), tuple(algorithms))
    rates = [rate for one in picture.points for rate in (one.qps, one.qps_low, one.qps_high) if rate > 0]
    left = 0.36 + 0.0081 * look.paper.tick * max(len(f"{max(rates):,.0f}"), 5)
    figure, (axes,) = canvas.panels([_HEIGHTS[look.paper.width_name]], left)
    _frame(axes, picture, look.paper)
    for name, points in algorithms.items():
        _algorithm(axes, points, styles[name], canvas)
    ends = {name: front(points)[-1] for name, points in algorithms.items()}
    canvas.name(axes, {name: (end.recall, end.qps) for name, end in ends.items()}, styles)
    return figure


def _frame(axes: Axes, picture: Picture, paper: Paper) -> None:
    """Scales, their names, and the bound."""
    points, bound = picture.points, least_recall(picture.points[0].track)
    rates = [rate for one in points for rate in (one.qps, one.qps_low, one.qps_high) if rate > 0]
    scale_recall(axes, min(_low(one.recall_low, one.recall) for one in points), bound)
    scale_rate(axes, min(rates), max(rates))
    axes.set_xlabel("average precision" if points[0].ranged else points[0].measured, fontsize=paper.text)
    axes.set_ylabel("queries per second", fontsize=paper.text)
    if bound is not None:
        _bound(axes, bound, points[0].measured if points[0].ranged else "recall", paper)


def _bound(axes: Axes, bound: float, name: str, paper: Paper) -> None:
    """The line that a result must reach to be ranked."""
    axes.axvline(bound, color=paper.muted, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
    axes.annotate(
        f"{name} {bound:g}", (bound, 1), xycoords=("data", "axes fraction"), xytext=(0, 2), textcoords="offset points",
        ha="center", va="bottom", fontsize=paper.small, color=paper.muted,
    )  # fmt: skip


def _algorithm(axes: Axes, points: Sequence[Figures], style: Style, canvas: Canvas) -> None:
    """All points of one algorithm, faint where another one beats them, and the line through those on its front."""
    best = front(points)
    beaten = [one for one in points if one not in best]
    for one in points:
        axes.errorbar(
            one.recall, one.qps, xerr=_whisker(one.recall, one.recall_low, one.recall_high),
            yerr=_whisker(one.qps, one.qps_low, one.qps_high), color=style.colour, elinewidth=0.8, capsize=1.8,
            capthick=0.8, alpha=0.65 if one in best else 0.3, zorder=2,
        )  # fmt: skip
    axes.plot(
        [one.recall for one in best], [one.qps for one in best], color=style.colour, linewidth=1.5,
        linestyle=style.dashes, zorder=3,
    )  # fmt: skip
    for group, alpha, z in ((beaten, 0.35, 2.5), (best, 1.0, 4)):
        if not group:
            continue
        axes.plot(
            [one.recall for one in group], [one.qps for one in group], linestyle="none", marker=style.marker,
            color=style.colour, markersize=canvas.marker(style), markeredgecolor=canvas.paper.ground,
            markeredgewidth=0.5, alpha=alpha, zorder=z, clip_on=False,
        )  # fmt: skip


def _low(low: float, value: float) -> float:
    return low if math.isfinite(low) else value


def _whisker(value: float, low: float, high: float) -> list[list[float]] | None:
    """The two arms of an interval, as matplotlib takes them."""
    return [[value - low], [high - value]] if math.isfinite(low) and math.isfinite(high) else None
