"""What all pictures share: sizes, frame, title and caption, names at the right."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.textpath import TextPath

from ann_bench.report.axes import spread
from ann_bench.report.palette import Style
from ann_bench.report.paper import Paper

_GAP = 0.13  # inches between two panels
_LINE = 1.35  # of the size of the text
_LEAST = 6.0  # points: no name is smaller
#: Inches from the axes to where a line to a name bends, where it ends, and where the marker stands.
_TIE = (0.05, 0.12, 0.18)


@dataclass(frozen=True)
class Canvas:
    """An empty picture: a title above, a caption below, room for `names` at the right of the first panel.

    `notes` stand behind the names.
    """

    paper: Paper
    title: str
    caption: str
    names: Sequence[str]
    notes: Mapping[str, str] = field(default_factory=dict)

    def panels(self, heights: Sequence[float], left: float) -> tuple[Figure, list[Axes]]:
        """Axes of these heights (inches) below each other, `left` inches from the edge, in a figure of their own.

        The first is made higher where the names need it. Nothing global changes.
        """
        paper = self.paper
        title = textwrap.wrap(self.title, width=42 if paper.column else 74) or [""]
        # 0.54: a character of the caption is about so wide, by its size
        columns = int((paper.width - 0.04 * paper.width) / (0.54 * paper.caption / 72))
        foot = textwrap.wrap(self.caption, width=columns, break_on_hyphens=False)
        heights = [max(heights[0], len(self.names) * _LINE * _LEAST / 72), *heights[1:]]
        head = 0.28 + 0.0195 * (paper.text + 2) * len(title)
        below = 0.18 + 3.2 * paper.text / 72 + 1.36 * paper.caption / 72 * len(foot)
        height = head + sum(heights) + _GAP * (len(heights) - 1) + below
        figure = Figure(figsize=(paper.width, height), dpi=paper.dpi, facecolor=paper.ground)
        FigureCanvasAgg(figure)
        right = paper.width - self._room()
        found, top = [], height - head
        for size in heights:
            place = (left / paper.width, (top - size) / height, (right - left) / paper.width, size / height)
            found.append(figure.add_axes(place, facecolor=paper.ground))
            top -= size + _GAP
        for axes in found:
            self._frame(axes)
        self._texts(figure, title, foot)
        return figure, found

    def _room(self) -> float:
        """Inches that the names take at the right."""
        return 0.4 + 1.05 * max((self._width(self.label(name)) for name in self.names), default=0.0)  # hinted wider

    def _width(self, text: str) -> float:
        path = TextPath((0, 0), text.replace("$", r"\$"), size=self.paper.text)
        return float(path.get_extents().width) / 72

    def _texts(self, figure: Figure, title: Sequence[str], foot: Sequence[str]) -> None:
        paper, height = self.paper, figure.get_figheight()
        figure.text(
            0.02, 1 - 0.1 / height, "\n".join(title), fontsize=paper.text + 2, weight="bold", va="top",
            color=paper.ink, linespacing=1.2, parse_math=False,
        )  # fmt: skip
        figure.text(
            0.02, 0.07 / height, "\n".join(foot), fontsize=paper.caption, va="bottom", color=paper.muted,
            linespacing=1.3, parse_math=False,
        )  # fmt: skip

    def _frame(self, axes: Axes) -> None:
        """Two sides and a faint grid."""
        paper = self.paper
        axes.tick_params(labelsize=paper.tick, colors=paper.ink, which="both")
        axes.grid(which="major", color=paper.grid, linewidth=0.6)
        axes.set_axisbelow(True)
        for side, spine in axes.spines.items():
            spine.set_visible(side in ("left", "bottom"))
            spine.set_color(paper.ink)
        axes.xaxis.label.set_color(paper.ink)
        axes.yaxis.label.set_color(paper.ink)

    def label(self, name: str) -> str:
        """A name in one line of bounded length, and its note."""
        name, longest = " ".join(name.split()), self.paper.longest
        short = name if len(name) <= longest else f"{name[: longest - 1]}…"
        note = self.notes.get(name, "")
        return f"{short} {note}" if note else short

    def name(self, axes: Axes, ends: Mapping[str, tuple[float, float]], look: Mapping[str, Style]) -> None:
        """Each name at the right, as high as the end of its line, tied to it where it had to move."""
        figure = axes.figure
        assert isinstance(figure, Figure)
        into = axes.transData + axes.transAxes.inverted()
        starts = {name: into.transform(end) for name, end in ends.items()}
        box = axes.get_position()
        height, across = box.height * figure.get_figheight() * 72, box.width * figure.get_figwidth()
        size = min(self.paper.text, height / _LINE / max(len(ends), 1))
        places = spread([float(y) for _, y in starts.values()], _LINE * size / height, 0.0, 1.0)
        bend, stop, marker = (1 + part / across for part in _TIE)
        for (name, (x, y)), place in zip(starts.items(), places, strict=True):
            style = look[name]
            axes.plot(
                [x, bend, stop], [y, place, place], transform=axes.transAxes, color=style.colour, linewidth=0.7,
                linestyle=(0, (1, 1.6)), alpha=0.9, clip_on=False, zorder=1.5,
            )  # fmt: skip
            axes.plot(
                [marker], [place], transform=axes.transAxes, color=style.colour, marker=style.marker,
                markersize=self.marker(style), markeredgecolor=self.paper.ground, markeredgewidth=0.5, clip_on=False,
            )  # fmt: skip
            axes.annotate(
                self.label(name), (marker, place), xycoords="axes fraction", xytext=(6, 0),
                textcoords="offset points", va="center_baseline", fontsize=size, color=style.colour,
                parse_math=False, gid="label", annotation_clip=False,
            )  # fmt: skip

    def marker(self, style: Style) -> float:
        """How large a marker is drawn: points."""
        return style.size * (0.75 if self.paper.column else 1.0)
