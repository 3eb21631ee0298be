"""Where algorithms can be compared: one operating point each, as near as can be to the track's recall."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from ann_bench.report.pareto import Picture
from ann_bench.report.ranking import least_recall
from ann_bench.results.figures import Figures
from ann_bench.results.model import Bundle

#: What finds the bundle that figures are of; None where it is gone.
Bundles: TypeAlias = Callable[[Figures], "Bundle | None"]


def nearest(picture: Picture) -> dict[str, Figures]:
    """The result of each algorithm whose recall is nearest to the track's bound, of equals the fastest, by name.

    Without a bound it is the one of the highest recall.
    """
    bound = least_recall(picture.points[0].track)

    def order(one: Figures) -> tuple[float, float]:
        return (-one.recall if bound is None else abs(one.recall - bound), -one.qps)

    return {name: min(points, key=order) for name, points in picture.algorithms.items()}


def said(one: Figures) -> str:
    """The recall of an operating point, to stand behind a name: never 1 for what is less."""
    if not math.isfinite(one.recall):
        return ""
    return f"({min(one.recall, 0.999):.3f})" if one.recall < 1 else "(1)"


def how_chosen(picture: Picture) -> str:
    """A sentence for the caption."""
    first, bound = picture.points[0], least_recall(picture.points[0].track)
    at = f"nearest {first.measured} {bound:g}" if bound is not None else f"highest {first.measured}"
    return f"One operating point an algorithm, that of {at}; its {first.measured} stands behind the name."
