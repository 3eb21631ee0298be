"""How long single queries wait: their latencies, and how these rise with the rate at which queries come in."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from ann_bench.report.caption import caption, title
from ann_bench.report.operating import Bundles, how_chosen, nearest, said
from ann_bench.report.pareto import Picture, name_of, pictures
from ann_bench.report.points import Band, Scale, Scatter
from ann_bench.report.ranking import least_recall
from ann_bench.results.conditions import CONDITIONS
from ann_bench.results.figures import Figures, canonical
from ann_bench.results.latency import at_rates, waits

Floats = npt.NDArray[np.float64]

#: Where 1 - 1 / x of the queries are faster: the numbers at the axis, those first that matter most.
_SHARES = {2.0: "p50", 100.0: "p99", 1000.0: "p99.9", 10.0: "p90", 1e4: "p99.99", 20.0: "p95", 1e5: "p99.999"}

_LINE = 80  # points of a line


def latency_scatters(figures: Iterable[Figures], bundles: Bundles) -> list[Scatter]:
    """The latencies of single queries by rising share, a picture for each of `pareto.pictures` that has any."""
    found = [_latencies(picture, bundles) for picture in pictures(figures) if picture.points[0].single]
    return [scatter for scatter in found if scatter is not None]


def _latencies(picture: Picture, bundles: Bundles) -> Scatter | None:
    points, made_of = {}, {}
    for name, one in nearest(picture).items():
        bundle = bundles(one)
        times = waits(bundle) if bundle is not None else np.zeros(0)
        if len(times) >= 2:
            points[name], made_of[name] = _quantiles(times), one
    if not points:
        return None
    reading = (
        "Against the share of queries that are answered as fast: p99 is the latency that 99 of 100 do not exceed. "
        f"All counted queries together, the cost of the wire ({_wire(made_of.values())}) included; lower is better."
    )
    return Scatter(
        name=f"{picture.name}-percentiles",
        title=title(picture),
        caption=caption(Picture(picture.name, tuple(made_of.values())), f"{how_chosen(picture)} {reading}"),
        x=Scale("share of queries", ticks=tuple(_SHARES), text=lambda value: _SHARES.get(value, "")),
        y=Scale("latency, ms"),
        points=points,
        spreads={},
        notes={name: said(one) for name, one in made_of.items()},
        lines=True,
        made_of=tuple(made_of.values()),
    )


def _quantiles(times: Floats) -> list[tuple[float, float]]:
    """1 / (1 - share) and milliseconds, from the median to the last but one: of sorted times.

    The least value that so large a share does not exceed; never more points than there are.
    """
    share = np.unique(np.concatenate(([2.0], np.geomspace(2, max(len(times), 2), _LINE))))
    place = np.minimum(np.ceil((1 - 1 / share) * len(times) - 1e-9).astype(int) - 1, len(times) - 1)
    return [(float(x), 1e3 * float(times[max(at, 0)])) for x, at in zip(share, place, strict=True)]


def _wire(results: Iterable[Figures]) -> str:
    wires = [1e3 * one.wire for one in results if math.isfinite(one.wire)]
    return f"median {min(wires):.2g} to {max(wires):.2g} ms" if wires else "not measured"


def load_scatters(figures: Iterable[Figures], bundles: Bundles) -> list[Scatter]:
    """p99 and p50 against the rate of queries, over all results at given rates and the trials of searches for one.

    Results that differ in their rate only share a picture. Runs in which the client could not keep up say nothing.
    """
    families: dict[str, list[Figures]] = {}
    for picture in pictures(figures):
        for one in picture.points:
            if "rate" in (one.identity.fields.get("mode") or {}):
                families.setdefault(_family(one), []).append(one)
    named: dict[str, int] = {}
    found = []
    for members in families.values():
        scatter = _load(members, bundles)
        if scatter is not None:
            count = named[scatter.name] = named.get(scatter.name, 0) + 1
            found.append(dataclasses.replace(scatter, name=f"{scatter.name}-{count}") if count > 1 else scatter)
    return found


def _family(one: Figures) -> str:
    return canonical({name: one.identity.fields.get(name) for name in CONDITIONS if name != "mode"})


def _load(members: Sequence[Figures], bundles: Bundles) -> Scatter | None:
    tails: dict[str, list[tuple[float, float]]] = {}
    middles: dict[str, list[tuple[float, float]]] = {}
    spreads: dict[str, list[tuple[float, float]]] = {}
    made_of: dict[str, list[Figures]] = {}
    for name, several in _configs(members).items():
        rows = sorted(row for one in several for row in _rates(one, bundles))
        if rows:
            tails[name] = [(rate, 1e3 * tail) for rate, _, (tail, _, _) in rows]
            middles[name] = [(rate, 1e3 * middle) for rate, middle, _ in rows]
            spreads[name] = [(1e3 * low, 1e3 * high) for _, _, (_, low, high) in rows]
            made_of[name] = several
    if not tails:
        return None
    first, drawn = members[0], tuple(one for several in made_of.values() for one in several)
    bound = least_recall(first.track)
    at = f"nearest {first.measured} {bound:g}" if bound is not None else f"highest {first.measured}"
    reading = (
        f"One operating point an algorithm, that of {at} of those measured at the most rates; its recall stands behind "
        "the name. Queries come in whether others are answered or not; latency counts from when a query was due; "
        "whiskers: 95 % intervals."
    )
    plain = dataclasses.replace(first, mode="load")
    return Scatter(
        name=f"{name_of(plain)}-rates",
        title=title(Picture("", (plain,))),
        caption=caption(Picture("", drawn), reading),
        x=Scale("queries per second that come in"),
        y=Scale("p99 latency, ms"),
        points=tails,
        spreads=spreads,
        notes={name: said(several[0]) for name, several in made_of.items()},
        lines=True,
        made_of=drawn,
        bands=(Band(Scale("p50, ms"), points=middles),),
    )


def _configs(members: Sequence[Figures]) -> dict[str, list[Figures]]:
    """Of each algorithm the results of one build and query config: those of the most rates, then nearest the bound."""
    bound = least_recall(members[0].track)
    groups: dict[str, dict[tuple[str, str], list[Figures]]] = {}
    for one in members:
        groups.setdefault(one.algorithm, {}).setdefault((one.build, one.query), []).append(one)

    def order(several: list[Figures]) -> tuple[int, float]:
        recall = float(np.mean([one.recall for one in several]))
        return (-len({one.mode for one in several}), -recall if bound is None else abs(recall - bound))

    return {name: min(groups[name].values(), key=order) for name in sorted(groups)}


def _rates(one: Figures, bundles: Bundles) -> list[tuple[float, float, tuple[float, float, float]]]:
    """Rate, p50, and p99 with its interval (seconds): of a result at one rate, or of the trials of a search."""
    if (one.identity.fields.get("mode") or {}).get("rate") != "max":
        known = math.isfinite(one.p99) and one.p99 > 0 and one.p50 > 0
        return [(one.rate, one.p50, (one.p99, one.p99_low, one.p99_high))] if known else []
    bundle = bundles(one)
    trials = at_rates(bundle) if bundle is not None else []
    return [(rate, middle, (tail, math.nan, math.nan)) for rate, middle, tail in trials if middle > 0]
