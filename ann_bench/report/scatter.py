"""A picture of one figure against another, a point or a line for each algorithm."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from ann_bench.report.canvas import DPI, TEXT, WIDTH, head_and_foot, labels, plain_frame, width, wrapped
from ann_bench.report.palette import Style, styles
from ann_bench.results.figures import Figures

_HEIGHT = 4.4  # inches


@dataclass(frozen=True)
class Scale:
    """An axis: what it shows, and whether distances on it are ratios (`log`)."""

    label: str
    log: bool = True


@dataclass(frozen=True)
class Scatter:
    """What is to be drawn. `points` of each algorithm are (x, y), `spreads` their intervals in y.

    With `lines` the points of an algorithm, by rising x, are joined.
    `notes` stand behind the names at the right; `made_of` are the results.
    """

    name: str
    title: str
    caption: str
    x: Scale
    y: Scale
    points: Mapping[str, Sequence[tuple[float, float]]]
    spreads: Mapping[str, Sequence[tuple[float, float]]]
    notes: Mapping[str, str]
    lines: bool = False
    made_of: tuple[Figures, ...] = ()


def draw_scatter(scatter: Scatter) -> Figure:
    """The picture as a matplotlib figure of its own; nothing global changes."""
    figure = Figure(figsize=(WIDTH, _HEIGHT), dpi=DPI)
    FigureCanvasAgg(figure)
    look = styles(scatter.points)
    axes = _frame(figure, scatter)
    for name, points in scatter.points.items():
        _algorithm(axes, points, scatter.spreads.get(name, ()), look[name])
        if scatter.lines:
            xs, ys = zip(*sorted(points), strict=True)
            axes.plot(xs, ys, color=look[name].colour, linestyle=look[name].dashes, linewidth=1.4, zorder=3)
    ends = {name: max(points) for name, points in scatter.points.items()}
    named = {_label(scatter, name): end for name, end in ends.items()}
    labels(axes, named, {_label(scatter, name): style for name, style in look.items()})
    return figure


def _label(scatter: Scatter, name: str) -> str:
    note = scatter.notes.get(name, "")
    return f"{name} {note}" if note else name


def _algorithm(
    axes: Axes, points: Sequence[tuple[float, float]], spreads: Sequence[tuple[float, float]], style: Style
) -> None:
    for (x, y), (low, high) in zip(points, spreads, strict=False):
        if math.isfinite(low) and math.isfinite(high):
            arms = [[y - low], [high - y]]
            axes.errorbar(x, y, yerr=arms, color=style.colour, elinewidth=0.8, capsize=1.8, alpha=0.6, zorder=2)
    axes.plot(
        [x for x, _ in points], [y for _, y in points], linestyle="none", marker=style.marker, color=style.colour,
        markersize=style.size + 1, markeredgecolor="white", markeredgewidth=0.5, zorder=4, clip_on=False,
    )  # fmt: skip


def _frame(figure: Figure, scatter: Scatter) -> Axes:
    lines = wrapped(scatter.caption)
    names = max(width(_label(scatter, name)) for name in scatter.points)
    left, right = 0.85 / WIDTH, 1 - (0.42 + names) / WIDTH
    bottom, top = (0.62 + 0.135 * len(lines)) / _HEIGHT, 1 - 0.5 / _HEIGHT
    axes = figure.add_axes((left, bottom, right - left, top - bottom))
    head_and_foot(figure, scatter.title, lines)
    every = [point for points in scatter.points.values() for point in points]
    _scale(axes, "x", scatter.x, [x for x, _ in every])
    _scale(axes, "y", scatter.y, [y for _, y in every])
    plain_frame(axes)
    return axes


def _scale(axes: Axes, which: str, scale: Scale, values: Sequence[float]) -> None:
    """Limits with room around the values, ticks at round numbers."""
    low, high = min(values), max(values)
    one = axes.xaxis if which == "x" else axes.yaxis
    getattr(axes, f"set_{which}label")(scale.label, fontsize=TEXT)
    if scale.log:
        getattr(axes, f"set_{which}scale")("log")
        room = max((high / low) ** 0.08, 1.25)
        limits = low / room, high * room
        one.set_major_locator(FixedLocator(_round_numbers(*limits)))
        one.set_minor_locator(NullLocator())
        one.set_minor_formatter(NullFormatter())
    else:
        room = max((high - low) * 0.08, 0.005)
        limits = low - room, high + room
    getattr(axes, f"set_{which}lim")(*limits)
    one.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 100 else f"{value:.4g}"))


def _round_numbers(low: float, high: float) -> list[float]:
    """Round numbers between two values: of each decade 1, 2 and 5, or 1 alone where there are many decades."""
    decades = math.log10(high / low)
    many = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
    steps = (1.0,) if decades > 4 else (1.0, 2.0, 5.0) if decades > 0.7 else many
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    return [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]
