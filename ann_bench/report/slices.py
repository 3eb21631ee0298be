"""Recall over the queries: by how selective their filters are, and by how hard they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ann_bench.report.caption import caption, title
from ann_bench.report.operating import Bundles, how_chosen, nearest, said
from ann_bench.report.pareto import Picture, pictures
from ann_bench.report.points import Band, Scale, Scatter, number
from ann_bench.results.figures import Figures
from ann_bench.results.model import Bundle
from ann_bench.results.queries import query_hits, sole_truth
from ann_bench.stats import recall_estimate
from ann_bench.truth.dimension import local_dimension
from ann_bench.truth.look import matching_rows, true_distances

Floats = npt.NDArray[np.float64]

#: Queries are put into so many groups of equal size, by their difficulty.
_GROUPS = 8

#: Buckets of selectivity in each power of ten.
_A_DECADE = 2


@dataclass(frozen=True)
class Slicing:
    """A value that every query has: `of` a result's bundle (queries,), NaN where it is not known; None: of none.

    `edges` are where one group ends and the next begins. With `bars` a panel shows how many queries each has.
    """

    suffix: str
    scale: Scale
    of: Callable[[Figures, Bundle], Floats | None]
    edges: Callable[[Floats], Floats]
    reading: str
    bars: bool = True


def _selectivity(one: Figures, bundle: Bundle) -> Floats | None:
    key, rows = sole_truth(bundle), int(one.provenance.get("data", {}).get("rows", 0))
    found = matching_rows(key, len(bundle.scores[0].possible)) if key and rows else None
    return None if found is None else np.where(found > 0, found / rows, np.nan)


def _difficulty(one: Figures, bundle: Bundle) -> Floats | None:
    key, metric = sole_truth(bundle), str(one.identity.fields.get("metric", ""))
    if key is None or metric not in ("euclidean", "angular") or one.ranged:
        return None
    found = true_distances(key, len(bundle.scores[0].possible), one.k)
    # squared distances, or 1 - cosine, which is half of the square between rows of length 1
    return None if found is None else local_dimension(np.sqrt(np.maximum(found, 0)))


def _decades(values: Floats) -> Floats:
    low, high = (math.floor(_A_DECADE * math.log10(value)) for value in (values.min(), values.max()))
    return np.asarray(10.0 ** (np.arange(low, high + 2) / _A_DECADE))


def _ranks(values: Floats) -> Floats:
    inner = np.quantile(values, np.arange(1, _GROUPS) / _GROUPS, method="higher")
    return np.unique(np.concatenate(([values.min()], inner, [np.nextafter(values.max(), math.inf)])))


def _share(value: float) -> str:
    return f"{100 * value:.3g} %"


#: What recall is sliced by.
SLICINGS = {
    "selectivity": Slicing(
        "selectivity",
        Scale("rows that pass the filter of a query", text=_share),
        _selectivity,
        _decades,
        "Recall of the queries whose filter lets so many rows pass; whiskers: 95 % intervals over queries, "
        "whose number stands below.",
    ),
    "difficulty": Slicing(
        "difficulty",
        Scale("local intrinsic dimension", text=number),
        _difficulty,
        _ranks,
        "The higher the local intrinsic dimension around a query (the maximum likelihood estimate from the distances "
        "of its true answers), the harder it is. Each point is a group of queries; whiskers: 95 % intervals over them.",
        bars=False,
    ),
}


def slice_scatters(figures: Iterable[Figures], kind: str, bundles: Bundles) -> list[Scatter]:
    """Recall by one of SLICINGS, a picture for each of `pareto.pictures` whose queries have the value.

    That is: where this machine's cache has the exact answers, all searches share them, and not all queries are alike.
    """
    found = [_sliced(picture, SLICINGS[kind], bundles) for picture in pictures(figures)]
    return [scatter for scatter in found if scatter is not None]


def _sliced(picture: Picture, slicing: Slicing, bundles: Bundles) -> Scatter | None:
    points: dict[str, list[tuple[float, float]]] = {}
    spreads: dict[str, list[tuple[float, float]]] = {}
    made_of: dict[str, Figures] = {}
    bars: list[tuple[float, float, float]] = []
    for name, one in nearest(picture).items():
        bundle = bundles(one)
        values = slicing.of(one, bundle) if bundle is not None and bundle.scores else None
        if bundle is None or values is None:
            continue
        hits, _, possible = query_hits(bundle)
        known = (possible > 0) & np.isfinite(values)
        if not known.any() or (values[known] == values[known][0]).all():
            continue
        recall, values = hits[known] / possible[known], values[known]
        made_of[name] = one
        edges = slicing.edges(values)
        group = np.searchsorted(edges, values, side="right") - 1
        mine = [(n, group == n) for n in np.unique(group).tolist()]
        points[name] = [(float(np.exp(np.log(values[at]).mean())), float(recall[at].mean())) for _, at in mine]
        estimates = [recall_estimate([[float(recall[at].mean())]], recall[at]) for _, at in mine]
        spreads[name] = [(estimate.low, estimate.high) for estimate in estimates]
        bars = bars or [(float(edges[n]), float(edges[n + 1]), float(at.sum())) for n, at in mine]
    if not points:
        return None
    first = next(iter(made_of.values()))
    least, most = (int(pick(count for _, _, count in bars)) for pick in (min, max))
    sizes = "" if slicing.bars else f" Queries in a group: {least}{f' to {most}' * (most > least)}."
    reading = f"{how_chosen(picture)} {slicing.reading}{sizes}"
    return Scatter(
        name=f"{picture.name}-{slicing.suffix}",
        title=title(picture),
        caption=caption(Picture(picture.name, tuple(made_of.values())), reading),
        x=slicing.scale,
        y=Scale(first.measured, log=False),
        points=points,
        spreads=spreads,
        notes={name: said(one) for name, one in made_of.items()},
        lines=True,
        made_of=tuple(made_of.values()),
        bands=(Band(Scale("queries", log=False), bars=tuple(bars)),) * slicing.bars,
    )
