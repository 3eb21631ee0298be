"""What all pictures share: sizes, frame, title and caption, names at the right."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.textpath import TextPath

from ann_bench.report.axes import spread
from ann_bench.report.palette import Style

WIDTH, DPI = 7.2, 200  # inches, the width of a page of text; dots an inch
TEXT, SMALL = 9.0, 7.0  # points
_CAPTION_COLUMNS = 145
_LONGEST_NAME = 30


def wrapped(text: str) -> list[str]:
    """A caption in lines."""
    return textwrap.wrap(text, width=_CAPTION_COLUMNS, break_on_hyphens=False)


def head_and_foot(figure: Figure, title: str, lines: Sequence[str]) -> None:
    """The title above, the lines of the caption below."""
    height = figure.get_figheight()
    head = {"fontsize": TEXT + 2, "weight": "bold", "va": "center", "parse_math": False}
    figure.text(0.02, 1 - 0.22 / height, title, head)
    foot = {"fontsize": SMALL - 0.5, "va": "bottom", "color": "#444444", "linespacing": 1.3, "parse_math": False}
    figure.text(0.02, 0.08 / height, "\n".join(lines), foot)


def plain_frame(axes: Axes) -> None:
    """Two sides and a faint grid."""
    axes.tick_params(labelsize=SMALL + 1)
    axes.grid(which="major", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def labels(axes: Axes, ends: Mapping[str, tuple[float, float]], look: Mapping[str, Style]) -> None:
    """The name of each algorithm at the right, as high as the end of its line, tied to it where it had to move."""
    figure = axes.figure
    assert isinstance(figure, Figure)
    into = axes.transData + axes.transAxes.inverted()
    starts = {name: into.transform(end) for name, end in ends.items()}
    height = axes.get_position().height * figure.get_figheight() * 72
    size = min(TEXT, 0.8 * height / len(ends))
    places = spread([float(y) for _, y in starts.values()], 1.35 * size / height, 0.0, 1.0)
    for (name, (x, y)), place in zip(starts.items(), places, strict=True):
        style = look[name]
        axes.plot(
            [x, 1.012, 1.03], [y, place, place], transform=axes.transAxes, color=style.colour, linewidth=0.7,
            linestyle=(0, (1, 1.6)), alpha=0.9, clip_on=False, zorder=1.5,
        )  # fmt: skip
        axes.plot(
            [1.04], [place], transform=axes.transAxes, color=style.colour, marker=style.marker, markersize=style.size,
            markeredgecolor="white", markeredgewidth=0.5, clip_on=False,
        )  # fmt: skip
        axes.annotate(
            shown(name), (1.04, place), xycoords="axes fraction", xytext=(6, 0), textcoords="offset points",
            va="center_baseline", fontsize=size, color=style.colour, parse_math=False, gid="label",
            annotation_clip=False,
        )  # fmt: skip


def shown(name: str) -> str:
    """A name in one line of bounded length."""
    name = " ".join(name.split())
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def width(name: str) -> float:
    """How many inches a label takes."""
    return float(TextPath((0, 0), shown(name).replace("$", r"\$"), size=TEXT).get_extents().width) / 72
