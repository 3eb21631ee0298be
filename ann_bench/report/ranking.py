"""How a track ranks its results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ann_bench.errors import UsageError
from ann_bench.results.figures import Figures
from ann_bench.stats import tiers
from ann_bench.stats.goal import levels
from ann_bench.tracks import Score, find_track


def score_of(track: str) -> Score | None:
    """The ranking rule of a track; None where nobody here knows the track."""
    try:
        return find_track(track).score
    except UsageError:
        return None


def rule_of(one: Figures) -> Score | None:
    """What results like this one are ranked by; None where nobody knows, and where queries came at a given rate.

    The speed is then that of the client. Where the highest rate was looked for, it is `qps`.
    """
    return None if at_given_rate(one) else score_of(one.track)


def at_given_rate(one: Figures) -> bool:
    """Whether queries came at a rate that was given, and not looked for."""
    return isinstance((one.identity.fields.get("mode") or {}).get("rate"), int | float)


def least_recall(track: str) -> float | None:
    """The recall from which on the track ranks a result; None where it has no bound, or nobody here knows the track."""
    score = score_of(track)
    return None if score is None else score.least_recall


def best_per_algorithm(figures: Iterable[Figures], score: Score) -> dict[str, Figures | None]:
    """The best `ok` result of each algorithm by the score (None: it has none), best first; of equals the fastest."""

    def key(one: Figures) -> tuple[float, float]:
        return _value(one, score), 0.0 if math.isnan(one.qps) else one.qps

    best: dict[str, Figures | None] = {}
    for one in figures:
        leader = best.setdefault(one.algorithm, None)
        if one.ok and _ranked(one, score) and (leader is None or key(one) > key(leader)):
            best[one.algorithm] = one
    return dict(sorted(best.items(), key=lambda item: (*_descending(item[1], score), item[0])))


def tiers_of(ranked: Sequence[Figures], score: Score) -> list[int]:
    """The tier of each result, best first: rates by the interval of their ratio, recalls by their own intervals."""
    if score.figure == "qps":
        _, sure = levels(stopped=any(one.stopped for one in ranked))
        found = tiers([one.rates for one in ranked], sure)
        return [max(found[: place + 1]) for place in range(len(found))]
    found, opened, tier = [], math.nan, 0
    for one in ranked:
        if not one.recall_high >= opened:
            opened, tier = one.recall_low if math.isfinite(one.recall_low) else one.recall, tier + 1
        found.append(tier)
    return found


def once(one: Figures) -> bool:
    """Whether a single run of a single build is all that there is, so that it can be told from nothing."""
    return sum(map(len, one.rates)) < 2


def _descending(one: Figures | None, score: Score) -> tuple[float, float]:
    return (math.inf, 0.0) if one is None else (-_value(one, score), -one.qps)


def _ranked(one: Figures, score: Score) -> bool:
    return math.isfinite(_value(one, score)) and (score.least_recall is None or one.recall >= score.least_recall)


def _value(one: Figures, score: Score) -> float:
    return float(getattr(one, score.figure))
