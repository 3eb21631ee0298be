"""Which of two sides is the faster one at a recall, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

from ann_bench.compare.matched import Matched, NotReachedError, Point, at_recall, point, query_error
from ann_bench.errors import ResultError, UsageError
from ann_bench.results.conditions import must_agree
from ann_bench.results.model import Bundle, Status
from ann_bench.stats import LEVEL, VERDICT_LEVEL, Estimate, Verdict, median_estimate, ratio_estimate

#: The field of the provenance that batches which were measured in turn have in common.
PAIR = "pair"


@dataclass(frozen=True)
class Side:
    """All the query configs of one entry; `label` is what the user calls it, `name` the entry's own name."""

    label: str
    name: str
    bundles: Sequence[Bundle]

    def points(self) -> list[Point]:
        """Its query configs; ResultError, which names the first, where one of them is not `ok`."""
        bad = next((one for one in self.bundles if one.outcome.status is not Status.OK), None)
        if bad is not None:
            raise ResultError(
                f"{self.label}: {self.name} {bad.identity['query']} is {bad.outcome.status.value} "
                f"({bad.outcome.detail}); there is nothing to compare"
            )
        return [point(bundle) for bundle in self.bundles]


@dataclass(frozen=True)
class Compared:
    """B against A at a recall: queries per second of both, and how many times those of A are those of B.

    `ratio` has the 95 % interval, `sure` the wider one that the verdict follows from. `paired` says whether their
    batches were measured in turn.
    """

    a: Side
    b: Side
    recall: float
    qps: tuple[Estimate, Estimate]
    ratio: Estimate
    sure: Estimate
    how: tuple[str, str]
    paired: bool
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Of B: faster or slower where 1 lies outside of the interval."""
        if self.sure.low > 1:
            return Verdict.FASTER
        return Verdict.SLOWER if self.sure.high < 1 else Verdict.CANNOT_TELL

    def fails(self, allowed: float) -> bool:
        """Whether B is shown to be slower by more than a share of A's speed that is allowed."""
        return self.sure.high < 1 - allowed

    def to_json(self) -> dict[str, Any]:
        """All of it, for machines; null where there is no interval."""
        return {
            "verdict": self.verdict.value,
            "recall": self.recall,
            "ratio": _listed(self.ratio),
            "ratio_of_the_verdict": {**_listed(self.sure), "level": VERDICT_LEVEL},
            "paired": self.paired,
            "notes": list(self.notes),
            **{
                side: {"label": one.label, "algorithm": one.name, "qps": _listed(qps), "read": how}
                for side, one, qps, how in zip(("a", "b"), (self.a, self.b), self.qps, self.how, strict=True)
            },
        }


def compare(a: Side, b: Side, recall: float) -> Compared:
    """B against A at a recall.

    Raises UsageError where they were measured under unlike conditions (it names the field), NotReachedError where one
    of them stays below the recall (with exit code 1 where that is B, which is a finding), ResultError where one failed.
    """
    refuse_unlike(a, b)
    mine = at_recall(a.points(), recall, _name(a))
    try:
        others = at_recall(b.points(), recall, _name(b))
    except NotReachedError as error:
        error.exit_code = 1
        raise
    paired = _in_turn(a, b) and mine.rates.shape == others.rates.shape
    chance = query_error(mine.influence, others.influence)
    usual, sure = (
        _wider(ratio_estimate(others.rates, mine.rates, paired=paired, level=level), chance, level)
        for level in (LEVEL, VERDICT_LEVEL)
    )
    qps = median_estimate(mine.rates), median_estimate(others.rates)
    return Compared(
        a=a,
        b=b,
        recall=recall,
        qps=qps,
        ratio=usual,
        sure=sure,
        how=(mine.how, others.how),
        paired=paired,
        notes=_notes((a, mine), (b, others), sure),
    )


def refuse_unlike(a: Side, b: Side) -> None:
    """Raise UsageError, naming the field, unless all the results of both were measured under the same conditions."""
    first = a.bundles[0]
    for side in (a, b):
        for bundle in side.bundles:
            must_agree(first, bundle, (_name(a), _name(side)))
    if any(step["op"] not in ("build", "search") for step in first.identity.fields.get("workload", ())):
        raise UsageError(
            f"the track {first.identity['track']!r} changes its index and is ranked by recall; there is no front to "
            "compare at a recall: see the table of `ann-bench export --format markdown`"
        )


def _name(side: Side) -> str:
    return side.label if side.label == side.name else f"{side.label} ({side.name})"


def _in_turn(a: Side, b: Side) -> bool:
    tokens = {one.provenance.get(PAIR) for side in (a, b) for one in side.bundles}
    return len(tokens) == 1 and None not in tokens


def _wider(ratio: Estimate, error: float, level: float) -> Estimate:
    """The interval with what comes from the choice of queries; the two are independent."""
    if not (error > 0 and math.isfinite(ratio.low)):
        return ratio
    margin = error * NormalDist().inv_cdf((1 + level) / 2)
    low = math.exp(-math.hypot(math.log(ratio.value / ratio.low), margin))
    high = math.exp(math.hypot(math.log(ratio.high / ratio.value), margin))
    return replace(ratio, low=ratio.value * low, high=ratio.value * high)


def _notes(a: tuple[Side, Matched], b: tuple[Side, Matched], sure: Estimate) -> tuple[str, ...]:
    found = [
        f"{_name(side)} has more recall than asked for in its fastest query config, which stands in for it"
        for side, matched in (a, b)
        if not matched.exact
    ]
    if not math.isfinite(sure.low):
        found.append("one run of one build has no interval: nothing can be told; use --builds 5")
    elif min(len(a[1].rates), len(b[1].rates)) < 2:
        found.append("one build says nothing about how builds differ; use --builds 5 or more")
    return tuple(found)


def _listed(one: Estimate) -> dict[str, float | None]:
    values = {"value": one.value, "low": one.low, "high": one.high}
    return {name: value if math.isfinite(value) else None for name, value in values.items()}
