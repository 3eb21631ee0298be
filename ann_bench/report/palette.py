"""Colours and markers that keep algorithms apart, for colour-blind readers and in print too."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

T = TypeVar("T")

#: Okabe and Ito's colours (2008) without their yellow, which is lost on white; sky blue, orange and purple a little
#: darker than theirs, for the same reason.
COLOURS = ("#222222", "#B5569A", "#D55E00", "#3A9BDC", "#0072B2", "#009E73", "#E08E00")

#: Those that are too dark for a dark ground, and what stands there for them.
DARK = {"#222222": "#EDEDED", "#0072B2": "#4D8DFF", "#3A9BDC": "#8CD3FF", "#B5569A": "#DE85C4", "#009E73": "#2FC79B"}

#: Line patterns, which tell lines apart in black and white.
DASHES: tuple[tuple[int, tuple[float, ...]], ...] = (
    (0, ()), (0, (4, 1.2)), (0, (5, 1.2, 1, 1.2)), (0, (1.6, 1.1)), (0, (8, 1.5)),
)  # fmt: skip

#: matplotlib's names of shapes that stay apart when they are small.
MARKERS = ("o", "P", "v", "<", "X", "s", "p", ">", "D", "^", "*")


@dataclass(frozen=True)
class Style:
    """How an algorithm is drawn."""

    colour: str
    marker: str
    dashes: tuple[int, tuple[float, ...]] = (0, ())

    @property
    def size(self) -> float:
        """Points across, so that all markers look equally large."""
        return 8.0 if self.marker == "*" else 5.5


def styles(names: Iterable[str]) -> dict[str, Style]:
    """A style for each algorithm of one picture; see `styles_over`."""
    return styles_over([names])


def styles_over(pictures: Iterable[Iterable[str]]) -> dict[str, Style]:
    """One style for each algorithm that is the same in all of some pictures, each given by its algorithms.

    A name asks for its own colour, marker and line. Where two that share a picture ask for the same, the later in the
    alphabet takes the next free one; no two in a picture share either while there are enough, nor both
    among up to 77 algorithms.
    """
    company: dict[str, set[str]] = {}
    for picture in pictures:
        members = set(picture)
        for name in members:
            company.setdefault(name, set()).update(members)
    chosen: dict[str, Style] = {}
    colours: dict[str, str] = {}
    markers: dict[str, str] = {}
    for name in sorted(company):
        beside = [other for other in company[name] if other in chosen]
        # the salts are such that the entries in the box keep theirs in one picture
        colours[name] = _free(name, COLOURS, "colour q", [colours[other] for other in beside])
        markers[name] = _free(name, MARKERS, "marker", [markers[other] for other in beside])
        alike = [chosen[other] for other in beside if colours[other] == colours[name]]
        marker = _free(markers[name], MARKERS, None, [style.marker for style in alike])
        dashes = _free(name, DASHES, "dashes 12", [chosen[other].dashes for other in beside])
        dashes = _free(dashes, DASHES, None, [style.dashes for style in alike])
        chosen[name] = Style(colours[name], marker, dashes)
    return chosen


def on_dark(style: Style) -> Style:
    """The style as it is drawn on a dark ground."""
    return replace(style, colour=DARK.get(style.colour, style.colour))


def told(style: Style) -> list[str | int]:
    """A style as JSON: colour, marker, and which of DASHES."""
    return [style.colour, style.marker, DASHES.index(style.dashes)]


def style_of(told: Sequence[Any]) -> Style:
    """The style that `told` tells of; ValueError where it is none of ours."""
    colour, marker, dashes = told
    if colour not in COLOURS or marker not in MARKERS or dashes not in range(len(DASHES)):
        raise ValueError(f"no style of ours: {list(told)}")
    return Style(colour, marker, DASHES[dashes])


def _free(name: Any, values: Sequence[T], salt: str | None, taken: Sequence[T]) -> T:
    """Of the values taken least often the one that a name asks for, or the next; without a salt it asks for itself."""
    if salt is None:
        own = values.index(name)
    else:
        own = int.from_bytes(hashlib.sha256(f"{salt}:{name}".encode()).digest()[:4], "big")
    least = min(taken.count(value) for value in values)
    turn = (values[(own + step) % len(values)] for step in range(len(values)))
    return next(value for value in turn if taken.count(value) == least)
