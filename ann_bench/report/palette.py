"""Colours and markers that keep algorithms apart, for colour-blind readers and in print too."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: Okabe and Ito's colours (2008) without their yellow, which is lost on white; sky blue, orange and purple a little
#: darker than theirs, for the same reason.
COLOURS = ("#222222", "#B5569A", "#D55E00", "#3A9BDC", "#0072B2", "#009E73", "#E08E00")

#: Line patterns, for the second and third algorithm of one colour.
DASHES: tuple[tuple[int, tuple[float, ...]], ...] = ((0, ()), (0, (4, 1.2)), (0, (5, 1.2, 1, 1.2)))

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
    """A style for each algorithm.

    A name asks for its own colour and marker, the same in every picture. Where two in one picture ask for the
    same, the later in the alphabet takes the next free one; no two share either while there are enough, nor both
    among up to 77 algorithms.
    """
    ordered = sorted(set(names))
    colours = _spread(ordered, COLOURS, "colour q")  # so that the entries in the box keep theirs in one picture
    markers = _spread(ordered, MARKERS, "marker")
    chosen: dict[str, Style] = {}
    for name in ordered:
        alike = [style for style in chosen.values() if style.colour == colours[name]]
        first = MARKERS.index(markers[name])
        turn = [MARKERS[(first + step) % len(MARKERS)] for step in range(len(MARKERS))]
        marker = next((m for m in turn if m not in {style.marker for style in alike}), turn[0])
        chosen[name] = Style(colours[name], marker, DASHES[len(alike) % len(DASHES)])
    return chosen


def _spread(names: Sequence[str], values: Sequence[str], what: str) -> dict[str, str]:
    """One value a name: its own, or the next that is used least so far."""
    used = dict.fromkeys(values, 0)
    chosen = {}
    for name in names:
        own = int.from_bytes(hashlib.sha256(f"{what}:{name}".encode()).digest()[:4], "big")
        least = min(used.values())
        turn = (values[(own + step) % len(values)] for step in range(len(values)))
        chosen[name] = next(value for value in turn if used[value] == least)
        used[chosen[name]] += 1
    return chosen
