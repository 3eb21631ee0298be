"""The two axes of a picture, and where its labels go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

Floats = npt.NDArray[np.float64]

#: In the order in which they are wanted; one that has no room beside an earlier one is left out.
_TICKS = (1.0, 0.9, 0.99, 0.95, 0.5, 0.999, 0.8, 0.0, 0.98, 0.7, 0.6, 0.3, 0.4, 0.2, 0.1, 0.97, 0.85, 0.96, 0.94,
          0.92, 0.995, 0.998, 0.88, 0.93, 0.91, 0.86, 0.84, 0.82)  # fmt: skip


def scale_recall(axes: Axes, lowest: float, bound: float | None) -> None:
    """Give the x axis a scale on which the recalls from `lowest` to 1 can be told apart.

    From 0.8 on it is linear. Where there are lower ones, or none below 0.98, distances shrink with the distance
    from perfect recall: x = -log10(1 + e - recall), with e = 0.01, or 0.001 near 1. Then 0.9 to 1 takes half of
    the width or more, and 1 itself can be drawn. The track's bound is always in sight.
    """
    left = min(lowest, 0.99 if bound is None else bound - 0.01)
    if 0.8 <= lowest < 0.98:
        margin = 0.03 * (1 - left)
        axes.set_xlim(left - margin, 1 + margin)
        forward = _same
    else:
        gap = 0.001 if lowest >= 0.98 else 0.01

        def forward(recall: Any) -> Floats:
            return -np.log10(np.maximum(1 + gap - np.asarray(recall, dtype=np.float64), 1e-9))

        def backward(position: Any) -> Floats:
            return 1 + gap - np.power(10.0, -np.asarray(position, dtype=np.float64))

        axes.set_xscale("function", functions=(forward, backward))
        start, stop = forward(left), forward(1.0)
        margin = 0.03 * float(stop - start)
        axes.set_xlim(float(backward(start - margin)), float(backward(stop + margin)))
    limits = axes.get_xlim()
    wanted = [tick for tick in _TICKS if limits[0] <= tick <= limits[1]]
    axes.xaxis.set_major_locator(FixedLocator(roomy(axes.xaxis, wanted, forward, _short)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))


def scale_rate(axes: Axes, lowest: float, highest: float) -> None:
    """Give the y axis a logarithmic scale from a little below `lowest` to a little above `highest`, a decade or so."""
    middle, half = np.sqrt(lowest * highest), max(np.sqrt(highest / lowest), 2.0)
    room = half**0.08 * 1.08
    axes.set_yscale("log")
    axes.set_ylim(middle / (half * room), middle * half * room)
    many, some, few = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0,)
    axes.yaxis.set_major_locator(LogLocator(subs=many if half < 3 else some if half < 100 else few))
    axes.yaxis.set_minor_locator(LogLocator(subs=tuple(float(n) for n in range(2, 10))))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places as near as can be (least squares) to the wanted ones, `gap` apart, between `low` and `high`.

    With the places sorted and i * gap taken off the i-th, they have only to rise: isotonic regression by pooling
    adjacent violators. Where they do not all fit they stand closer.
    """
    count = len(wanted)
    if count > 1:
        gap = min(gap, (high - low) / (count - 1))
    order = sorted(range(count), key=lambda i: wanted[i])
    pools: list[tuple[float, int]] = []
    for rank, index in enumerate(order):
        pools.append((wanted[index] - rank * gap, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (mean, size), (other, more) = pools.pop(), pools.pop()
            pools.append(((mean * size + other * more) / (size + more), size + more))
    levels = [mean for mean, size in pools for _ in range(size)]
    top = high - max(count - 1, 0) * gap
    places = [0.0] * count
    for rank, index in enumerate(order):
        places[index] = min(max(levels[rank], low), top) + rank * gap
    return places


def _same(recall: Any) -> Floats:
    return np.asarray(recall, dtype=np.float64)


def _short(value: float) -> str:
    return f"{value:g}"


def roomy(
    axis: Axis, wanted: Sequence[float], forward: Callable[[Any], Any], text: Callable[[float], str]
) -> list[float]:
    """The ticks that have room for their numbers, ascending; the first of those wanted come first.

    `forward` is the scale of the axis, `text` the number as it is written.
    """
    figure = axis.axes.figure
    assert isinstance(figure, Figure)
    box, flat = axis.axes.get_position(), isinstance(axis, XAxis)
    length = box.width * figure.get_figwidth() if flat else box.height * figure.get_figheight()
    size = float(axis.get_major_ticks(1)[0].label1.get_fontsize()) / 72
    start, stop = (float(forward(limit)) for limit in axis.get_view_interval())
    chosen: dict[float, float] = {}
    for tick in wanted:
        place = length * (float(forward(tick)) - start) / (stop - start)
        # a digit is 0.64 of the size of the text wide
        room = {other: 0.32 * len(text(tick) + text(other)) * size + 0.09 if flat else 1.25 * size for other in chosen}
        if all(abs(place - chosen[other]) > room[other] for other in chosen):
            chosen[tick] = place
    return sorted(chosen)
