"""Two folders of results as pairs of sides that can be compared."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from ann_bench.compare.verdict import Side
from ann_bench.errors import UsageError
from ann_bench.results.conditions import place_of
from ann_bench.results.figures import figures
from ann_bench.results.model import Bundle
from ann_bench.results.newest import newest
from ann_bench.results.store import Damaged, Store

log = logging.getLogger(__name__)

_Place = tuple[str, ...]


def pairs(a: Path, b: Path, algorithms: Sequence[str] = ()) -> list[tuple[Side, Side]]:
    """What the two folders have in common: for each track, data set, query set and k the algorithms that are in both.

    Where each has one algorithm only, these two are a pair, whatever they are called. What has no other is named in
    the log. UsageError where there is no pair.
    """
    mine, others = (_sides(folder, algorithms) for folder in (a, b))
    found: list[tuple[Side, Side]] = []
    for place in mine.keys() & others.keys():
        one, other = mine[place], others[place]
        if len(one) == len(other) == 1:
            found += zip(one.values(), other.values(), strict=True)
            continue
        found += [(one[name], other[name]) for name in one.keys() & other.keys()]
        for name in sorted(one.keys() ^ other.keys()):
            log.warning("%s: %s is in %s only", " ".join(place), name, a if name in one else b)
    if not found:
        named = f" of {', '.join(algorithms)}" if algorithms else ""
        raise UsageError(
            f"{a} and {b} have no results{named} on one track and data set that could be compared; see what is there "
            "with `ann-bench export --format markdown`"
        )
    return sorted(found, key=lambda pair: (pair[0].name, str(pair[0].bundles[0].identity["dataset"])))


def _sides(folder: Path, algorithms: Sequence[str]) -> dict[_Place, dict[str, Side]]:
    """The newest results of each configuration, by place and algorithm."""
    bundles: dict[str, Bundle] = {}
    for item in Store(folder).scan():
        if isinstance(item, Damaged):
            log.warning("left out: %s", item.reason)
        elif not algorithms or item.identity["algorithm"] in algorithms:
            bundles[item.identity.key] = item
    found: dict[_Place, dict[str, list[Bundle]]] = {}
    for one in newest([figures(bundle) for bundle in bundles.values()]):
        place = place_of(one.identity)
        found.setdefault(place, {}).setdefault(one.algorithm, []).append(bundles[one.key])
    return {
        place: {name: Side(str(folder), name, members) for name, members in sides.items()}
        for place, sides in found.items()
    }
