"""What a picture shows: points and lines of algorithms along one axis; how they are drawn is `scatter`'s part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ann_bench.results.figures import Figures

Points: TypeAlias = Sequence[tuple[float, float]]


def number(value: float) -> str:
    """A number at an axis."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4g}"


@dataclass(frozen=True)
class Scale:
    """An axis: what it shows, and whether distances on it are ratios (`log`).

    `ticks` are the only numbers at it, those first that matter most (empty: round ones); `text` writes them.
    """

    label: str
    log: bool = True
    ticks: Sequence[float] = ()
    text: Callable[[float], str] = number


@dataclass(frozen=True)
class Band:
    """A lower panel along the same axis: lines of the same algorithms, or `bars` (from, to, height) with numbers."""

    y: Scale
    points: Mapping[str, Points] = field(default_factory=dict)
    bars: Sequence[tuple[float, float, float]] = ()


@dataclass(frozen=True)
class Scatter:
    """What is to be drawn. `points` of each algorithm are (x, y), `spreads` their intervals in y.

    With `lines` the points of an algorithm, by rising x, are joined. `bands` are panels below.
    `notes` stand behind the names at the right; `made_of` are the results.
    """

    name: str
    title: str
    caption: str
    x: Scale
    y: Scale
    points: Mapping[str, Points]
    spreads: Mapping[str, Points]
    notes: Mapping[str, str] = field(default_factory=dict)
    lines: bool = False
    made_of: tuple[Figures, ...] = ()
    bands: tuple[Band, ...] = ()

    def told(self) -> str:
        """All that is drawn, as text: equal where the pictures are."""
        scales = [(scale.label, scale.log) for scale in (self.x, self.y, *(band.y for band in self.bands))]
        bands = [(dict(band.points), tuple(band.bars)) for band in self.bands]
        parts = (dict(self.points), dict(self.spreads), dict(self.notes))
        return repr((self.title, self.caption, scales, parts, self.lines, bands))
