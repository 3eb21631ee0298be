"""A picture of one figure against another, a point or a line for each algorithm."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, NullLocator

from ann_bench.report.axes import roomy
from ann_bench.report.canvas import Canvas
from ann_bench.report.look import PLAIN, Look
from ann_bench.report.palette import Style
from ann_bench.report.paper import Paper
from ann_bench.report.points import Band, Points, Scale, Scatter

_FIRST = {"page": 3.2, "column": 2.1}  # inches: the first panel
_OTHER = {"page": 0.95, "column": 0.75}  # inches: a band
_MANY, _MARKS = 30, 8  # points of a line that are no longer marked one by one, and how many are then


def draw_scatter(scatter: Scatter, look: Look = PLAIN) -> Figure:
    """The picture as a matplotlib figure of its own; nothing global changes."""
    paper, styles = look.paper, look.of(scatter.points)
    canvas = Canvas(paper, scatter.title, scatter.caption, tuple(scatter.points), scatter.notes)
    name = paper.width_name
    heights = [_FIRST[name], *(_OTHER[name] for _ in scatter.bands)]
    figure, (axes, *rest) = canvas.panels(heights, _left(scatter, paper))
    for number, (algorithm, points) in enumerate(scatter.points.items()):
        _whiskers(axes, points, scatter.spreads.get(algorithm, ()), styles[algorithm])
        _points(axes, points, (styles[algorithm], canvas), (scatter.lines, number / len(scatter.points)))
    every = [point for points in scatter.points.values() for point in points]
    ends = [end for spread in scatter.spreads.values() for arm in spread for end in arm if math.isfinite(end)]
    arms = [end for end in ends if end > 0 or not scatter.y.log]
    xs = [x for x, _ in every] + [edge for band in scatter.bands for bar in band.bars for edge in bar[:2]]
    _scale(axes.xaxis, scatter.x, xs, paper)
    _scale(axes.yaxis, scatter.y, [y for _, y in every] + arms, paper)
    for band, below in zip(scatter.bands, rest, strict=True):
        _band(below, band, styles, canvas)
        _scale(below.xaxis, scatter.x, xs, paper)
    for upper in figure.axes[:-1]:
        upper.tick_params(labelbottom=False)
        upper.set_xlabel("")
    canvas.name(axes, {name: max(points) for name, points in scatter.points.items()}, styles)
    figure.align_ylabels(figure.axes)
    return figure


def _left(scatter: Scatter, paper: Paper) -> float:
    """Inches for the numbers and the label at the left."""
    values = [y for points in scatter.points.values() for _, y in points]
    longest = max(len(scatter.y.text(value)) for value in (min(values), max(values)))
    return 0.34 + 0.0081 * paper.tick * max(longest, 5)


def _whiskers(axes: Axes, points: Points, spreads: Points, style: Style) -> None:
    for (x, y), (low, high) in zip(points, spreads, strict=False):
        if math.isfinite(low) and math.isfinite(high):
            arms = [[max(y - low, 0.0)], [max(high - y, 0.0)]]
            axes.errorbar(x, y, yerr=arms, color=style.colour, elinewidth=0.8, capsize=1.8, alpha=0.6, zorder=2)


def _points(axes: Axes, points: Points, manner: tuple[Style, Canvas], line: tuple[bool, float]) -> None:
    """The points of one algorithm, joined by rising x if so asked; of a long line some are marked, `line[1]` on."""
    (style, canvas), (joined, shift) = manner, line
    ordered = sorted(points) if joined else points
    every = max(1, len(ordered) // _MARKS) if len(ordered) > _MANY else 1
    axes.plot(
        [x for x, _ in ordered], [y for _, y in ordered], linestyle=style.dashes if joined else "none", linewidth=1.4,
        marker=style.marker, markevery=(int(shift * every), every), color=style.colour,
        markersize=canvas.marker(style) + (0 if joined else 1), markeredgecolor=canvas.paper.ground,
        markeredgewidth=0.5, zorder=4, clip_on=False,
    )  # fmt: skip


def _band(axes: Axes, band: Band, styles: Mapping[str, Style], canvas: Canvas) -> None:
    """A lower panel: lines as in the first, or bars with their numbers."""
    paper = canvas.paper
    for number, (name, points) in enumerate(band.points.items()):
        _points(axes, points, (styles[name], canvas), (True, number / len(band.points)))
    if band.points:
        _scale(axes.yaxis, band.y, [y for points in band.points.values() for _, y in points], paper)
        return
    for left, right, count in band.bars:
        axes.bar(left, count, right - left, align="edge", color=paper.grid, edgecolor=paper.muted, linewidth=0.5)
        middle = math.sqrt(left * right)
        axes.annotate(
            f"{count:,.0f}", (middle, count), xytext=(0, 1.5), textcoords="offset points", ha="center", va="bottom",
            fontsize=6.0, color=paper.muted, gid="count", rotation=90 if len(band.bars) > 6 and paper.column else 0,
        )  # fmt: skip
    axes.set_ylim(0, (2.0 if paper.column else 1.4) * max(count for _, _, count in band.bars))
    axes.set_ylabel(band.y.label, fontsize=paper.text)
    axes.yaxis.set_major_locator(MaxNLocator(2, integer=True))
    axes.grid(visible=False, axis="x")


def _scale(one: Axis, scale: Scale, values: Sequence[float], paper: Paper) -> None:
    """Limits with room around the values, ticks at round numbers that have room."""
    low, high = min(values), max(values)
    which = "x" if isinstance(one, XAxis) else "y"
    getattr(one.axes, f"set_{which}label")(scale.label, fontsize=paper.text)
    room = max((high / low) ** 0.08, 1.25) if scale.log else max((high - low) * 0.08, 0.005)
    limits = (low / room, high * room) if scale.log else (low - room, high + room)
    if scale.log:
        getattr(one.axes, f"set_{which}scale")("log")
        one.set_minor_locator(NullLocator())
        one.set_minor_formatter(NullFormatter())
    getattr(one.axes, f"set_{which}lim")(*limits)
    if scale.ticks or scale.log:
        wanted = [tick for tick in scale.ticks or _round_numbers(*limits) if limits[0] <= tick <= limits[1]]
        forward: Callable[[Any], Any] = np.log if scale.log else np.asarray
        one.set_major_locator(FixedLocator(roomy(one, wanted, forward, scale.text)))
    else:
        one.set_major_locator(MaxNLocator(4 if paper.column else 7, steps=[1, 2, 2.5, 5, 10]))
    one.set_major_formatter(FuncFormatter(lambda value, _: scale.text(value)))


def _round_numbers(low: float, high: float) -> list[float]:
    """Round numbers between two values, those that matter most first: of each decade 1, 2 and 5, or more in one."""
    decades = math.log10(high / low)
    many = ((1.0,), (2.0, 5.0), (3.0, 4.0, 7.0), (1.5, 6.0, 8.0))
    steps = many[:1] if decades > 4 else many[:2] if decades > 0.7 else many
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    found = []
    for group in steps:
        found += [step * 10.0**power for power in powers for step in group if low <= step * 10.0**power <= high]
    return found
