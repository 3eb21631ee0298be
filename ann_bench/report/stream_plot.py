"""A stream step by step: recall, time of searches and changes, live points and memory, one line an algorithm."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from ann_bench.report import format as show
from ann_bench.report.canvas import Canvas
from ann_bench.report.caption import caption, title
from ann_bench.report.look import PLAIN, Look
from ann_bench.report.palette import Style
from ann_bench.report.pareto import Picture
from ann_bench.report.ranking import best_per_algorithm, score_of
from ann_bench.results.figures import Figures
from ann_bench.results.stages import CHANGES, Stage
from ann_bench.tracks import Score

Floats = npt.NDArray[np.float64]

_HEIGHTS = {"page": (1.7, 0.72), "column": (1.5, 0.6)}  # inches: of the first panel, of the others
_FEW = 60  # steps of a panel that are marked one by one
_MARKS = 9  # on a line of more steps
_GIB = 2**30
_STEPS = [1, 2, 5, 10]


@dataclass(frozen=True)
class _Panel:
    """One quantity over the steps; `value` is NaN where a step has none, `scale` gives its axis room for the values.

    A `shared` one follows from the workload, and is the same for all algorithms.
    """

    name: str
    value: Callable[[Stage], float]
    scale: Callable[[Axes, Floats], None]
    shared: bool = False


def draw_stream(picture: Picture, look: Look = PLAIN) -> Figure:
    """The picture as a matplotlib figure of its own: for each algorithm its best query config by the track's score."""
    best = _best(picture)
    panels = _panels([stage for one in best.values() for stage in one.stages], picture.points[0].measured)
    paper, styles = look.paper, look.of(best)
    canvas = Canvas(paper, title(picture), caption(picture, _reading(picture, best)), tuple(best))
    first, other = _HEIGHTS[paper.width_name]
    figure, found = canvas.panels([first, *(other for _ in panels[1:])], 0.58 if paper.column else 0.75)
    last = max((stage.operation + 1 for one in best.values() for stage in one.stages), default=1)
    for number, (panel, axes) in enumerate(zip(panels, found, strict=True)):
        axes.set_xlim(1 - 0.01 * last, last * 1.01)
        curves = {name: _curve(one.stages, panel) for name, one in best.items()}
        shown = styles
        if panel.shared:  # one line stands for all
            curves, shown = {"": max(curves.values(), key=np.size)}, {"": Style(paper.muted, "o")}
        _draw(axes, panel, curves, (shown, canvas))
        axes.tick_params(labelbottom=number == len(panels) - 1)
        axes.xaxis.set_major_locator(MaxNLocator(4 if paper.column else 8, integer=True))
        if number == 0:
            ends = {name: _end(one, panel) for name, one in best.items()}
            canvas.name(axes, {name: end for name, end in ends.items() if end is not None}, styles)
    found[-1].set_xlabel("step", fontsize=paper.text)
    figure.align_ylabels(figure.axes)
    return figure


def _best(picture: Picture) -> dict[str, Figures]:
    """The best result of each algorithm; by recall where the track is unknown, or none reaches its bound."""
    score = score_of(picture.points[0].track) or Score("recall")
    found = best_per_algorithm(picture.points, score)
    rest = best_per_algorithm(picture.points, Score("recall"))
    chosen = {name: one or rest[name] for name, one in found.items()}
    return {name: one for name, one in sorted(chosen.items()) if one is not None}


def _reading(picture: Picture, best: dict[str, Figures]) -> str:
    left = len(picture.points) - len(best)
    others = f"; {left} other query config{'s' * (left > 1)} not drawn" if left else ""
    means = ", ".join(f"{name} {show.recall(one.recall)}" for name, one in best.items())
    return f"One line an algorithm, its best query config{others}. Mean recall over all searches: {means}."


def _panels(stages: Sequence[Stage], measured: str) -> list[_Panel]:
    """Recall, time of searches, speed of each kind of change that there is, live points, memory."""
    kinds = {stage.kind for stage in stages}
    changes = [_speed(kind) for kind in CHANGES if kind in kinds]
    return [
        _Panel(measured, lambda stage: stage.recall, _shares),
        _Panel("ms / query", lambda stage: 1e3 * stage.latency if stage.kind == "search" else math.nan, _logarithmic),
        *changes,
        _Panel("live points", lambda stage: float(stage.live), _amounts, shared=True),
        _Panel("memory, GiB", lambda stage: stage.memory_bytes / _GIB, _amounts),
    ]


def _speed(kind: str) -> _Panel:
    return _Panel(f"{kind}s / s", lambda stage: stage.rate if stage.kind == kind else math.nan, _logarithmic)


def _curve(stages: Iterable[Stage], panel: _Panel) -> Floats:
    """Steps, counted from 1, and values (2, n): those steps that have one."""
    pairs = [(stage.operation + 1.0, panel.value(stage)) for stage in stages]
    curve: Floats = np.array([pair for pair in pairs if math.isfinite(pair[1])]).reshape(-1, 2).T
    return curve


def _end(one: Figures, panel: _Panel) -> tuple[float, float] | None:
    curve = _curve(one.stages, panel)
    return (float(curve[0, -1]), float(curve[1, -1])) if curve.size else None


def _draw(axes: Axes, panel: _Panel, curves: dict[str, Floats], manner: tuple[Mapping[str, Style], Canvas]) -> None:
    """Lines with marks, on all steps where there are few; steps between two values have none of their own."""
    styles, canvas = manner
    for number, (name, curve) in enumerate(curves.items()):
        style, drawn = styles[name], _in_phases(curve)
        every = max(1, drawn.shape[1] // _MARKS)
        few = curve.shape[1] <= _FEW
        axes.plot(
            *drawn, color=style.colour, linestyle=style.dashes, linewidth=1.1, alpha=0.9,
            marker="" if panel.shared and not few else style.marker, markersize=0.6 * canvas.marker(style),
            markevery=1 if few else (number * every // len(curves), every),
            markeredgecolor=canvas.paper.ground, markeredgewidth=0.3,
        )  # fmt: skip
    values = np.concatenate([curve[1] for curve in curves.values()])
    if values.size:
        panel.scale(axes, values)
    axes.tick_params(axis="y", labelsize=canvas.paper.small)
    axes.set_ylabel(panel.name, fontsize=canvas.paper.small)


def _in_phases(curve: Floats) -> Floats:
    """The curve with a break where values stay away much longer than they usually do: no line joins two phases."""
    gaps = np.diff(curve[0])
    if not gaps.size:
        return curve
    breaks = np.flatnonzero(gaps > max(8 * float(np.median(gaps)), 0.02 * float(np.ptp(curve[0])))) + 1
    return np.insert(curve, breaks, np.nan, axis=1)


def _shares(axes: Axes, values: Floats) -> None:
    """From a little below the least to 1."""
    low = min(float(values.min()), 0.99)
    axes.set_ylim(max(-0.02, low - 0.08 * (1 - low)), 1 + 0.04 * (1 - low))
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=_STEPS))


def _amounts(axes: Axes, values: Floats) -> None:
    """From 0, in few numbers."""
    axes.set_ylim(0, 1.12 * float(values.max()) or 1.0)
    axes.yaxis.set_major_locator(MaxNLocator(3, steps=_STEPS))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))


def _logarithmic(axes: Axes, values: Floats) -> None:
    """Half a decade or more; numbers at 1, 2 and 5 of each decade, or at some of the decades."""
    low, high = float(values.min()), float(values.max())
    middle, half = math.sqrt(low * high), 1.2 * max(math.sqrt(high / low), 1.8)
    axes.set_yscale("log")
    axes.set_ylim(middle / half, middle * half)
    subs = (1.0, 2.0, 5.0) if half < 5 else (1.0, 3.0) if half < 12 else (1.0,)
    axes.yaxis.set_major_locator(LogLocator(subs=subs, numticks=5))
    axes.yaxis.set_minor_locator(LogLocator(subs=tuple(map(float, range(2, 10))), numticks=20))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))


def _short(value: float) -> str:
    """A number in four signs or so: 1.5M, 20k, 0.03."""
    for size, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{sign}"
    return f"{value:.3g}"
