"""A data set in pictures: base rows against queries, tags and nonzeros."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ann_bench.report.palette import COLOURS
from ann_bench.results.atomic import write_atomically
from ann_bench.truth.profile import Profile

Floats = npt.NDArray[np.float64]

_BASE, _QUERIES = COLOURS[4], COLOURS[2]
_DPI = 150
_COLUMNS = 3

#: Pairs of values that share a panel: title, axis, values of the base, of the queries.
_PAIRS = (
    ("Length", "norm", "norms", "query_norms"),
    ("Distance to the nearest row", "euclidean distance", "nearest", "query_nearest"),
    ("Intrinsic dimension", "local estimate", "dimension", "query_dimension"),
    ("Distance to the base's distribution", "Mahalanobis distance / √d", "mahalanobis", "query_mahalanobis"),
    ("Nonzeros", "nonzeros", "nonzeros", "query_nonzeros"),
    ("Tags", "tags", "tags_a_row", "tags_a_query"),
)


def draw_profile(profile: Profile, path: Path) -> None:
    """Write the picture of a profile as PNG or SVG, by the suffix; StorageError where it cannot be written."""
    image = io.BytesIO()
    figure_of(profile).savefig(image, format=path.suffix.lstrip(".") or "png", dpi=_DPI)
    write_atomically(path, (image.getvalue(),))


def figure_of(profile: Profile) -> Figure:
    """The picture: a panel for each pair of values that the data set has."""
    values = profile.values
    panels: list[Callable[[Axes], None]] = [_pair(pair, values) for pair in _PAIRS if pair[2] in values]
    if "tag_counts" in values:
        panels += [lambda axes: _frequencies(axes, values), lambda axes: _selectivity(axes, values)]
    lines = -(-len(panels) // _COLUMNS)
    figure = Figure(figsize=(3.1 * _COLUMNS, 2.5 * lines + 0.7), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(_title(profile), fontsize=10)
    grid = figure.subplots(lines, _COLUMNS, squeeze=False).ravel()
    for axes, panel in zip(grid, panels, strict=False):
        panel(axes)
        axes.tick_params(labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in grid[len(panels) :]:
        axes.remove()
    return figure


def _title(profile: Profile) -> str:
    facts = profile.facts
    shape = f"{facts['rows']:,} x {facts['dim']:,} {facts['dtype']}, {facts['metric']}"
    return f"{profile.name}: {shape}; {facts['query_count']:,} {profile.queries} queries"


def _pair(pair: tuple[str, str, str, str], values: Mapping[str, Floats]) -> Callable[[Axes], None]:
    def panel(axes: Axes) -> None:
        title, label, base, queries = pair
        parts = [part for part in (values[base], values.get(queries, np.zeros(0))) if len(part)]
        both = np.concatenate(parts)
        low, high = float(both.min()), max(float(np.quantile(part, 0.995)) for part in parts)
        whole = bool((both == np.rint(both)).all()) and high - low < 60
        bins: Any = np.arange(low - 0.5, high + 1.5) if whole else np.linspace(low, max(high, low + 1e-9), 50)
        for name, colour, text in ((base, _BASE, "base"), (queries, _QUERIES, "queries")):
            if len(values.get(name, ())):
                share = np.full(len(values[name]), 1 / len(values[name]))
                axes.hist(values[name], bins, weights=share, histtype="stepfilled", color=colour, alpha=0.35)
                axes.hist(values[name], bins, weights=share, histtype="step", color=colour, linewidth=1.2, label=text)
        axes.set_title(title, fontsize=8.5)
        axes.set_xlabel(label, fontsize=7.5)
        axes.set_ylabel("share", fontsize=7.5)
        axes.legend(fontsize=7, frameon=False)

    return panel


def _frequencies(axes: Axes, values: Mapping[str, Floats]) -> None:
    counts = values["tag_counts"]
    axes.loglog(np.arange(1, len(counts) + 1), counts, color=_BASE, linewidth=1.4)
    axes.set_title("How often each tag occurs", fontsize=8.5)
    axes.set_xlabel("rank of the tag", fontsize=7.5)
    axes.set_ylabel("rows", fontsize=7.5)


def _selectivity(axes: Axes, values: Mapping[str, Floats]) -> None:
    shares = np.sort(values["selectivity"])
    least = float(shares[shares > 0].min(initial=1.0))
    axes.semilogx(np.maximum(shares, least / 2), np.arange(1, len(shares) + 1) / len(shares), color=_QUERIES)
    axes.set_title("Rows that pass the filter", fontsize=8.5)
    axes.set_xlabel("share of the rows", fontsize=7.5)
    axes.set_ylabel("share of the queries", fontsize=7.5)
