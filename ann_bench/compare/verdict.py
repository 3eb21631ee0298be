"""Which of two sides is the better one in a figure, at a recall, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

from ann_bench.compare.figure import QPS, RECALL, Figure
from ann_bench.compare.matched import Matched, NotReachedError, Point, at_recall, best, point, query_error
from ann_bench.errors import ResultError
from ann_bench.results.conditions import must_agree
from ann_bench.results.model import Bundle, Status
from ann_bench.results.repeats import stopped
from ann_bench.results.stages import changes_index
from ann_bench.stats import LEVEL, NOTHING, VERDICT_LEVEL, Estimate, Verdict, ratio_estimate
from ann_bench.stats.goal import levels

#: The field of the provenance that batches which were measured in turn have in common.
PAIR = "pair"


@dataclass(frozen=True)
class Side:
    """All the query configs of one entry; `label` is what the user calls it, `name` the entry's own name."""

    label: str
    name: str
    bundles: Sequence[Bundle]

    @property
    def title(self) -> str:
        """How messages call it."""
        return self.label if self.label == self.name else f"{self.label} ({self.name})"

    @property
    def stopped(self) -> bool:
        """Whether any of it was measured until its intervals were narrow."""
        return any(stopped(one.identity.fields) for one in self.bundles)

    @property
    def streams(self) -> bool:
        """Whether the workload changes the index after it was built."""
        return changes_index(self.bundles[0].identity.fields.get("workload", ()))

    def points(self, figure: Figure = QPS) -> list[Point]:
        """Its query configs that have the figure; ResultError, which names the first, where one of them is not `ok`."""
        bad = next((one for one in self.bundles if one.outcome.status is not Status.OK), None)
        if bad is not None:
            raise ResultError(
                f"{self.label}: {self.name} {bad.identity['query']} is {bad.outcome.status.value} "
                f"({bad.outcome.detail}); there is nothing to compare"
            )
        found = [one for bundle in self.bundles if (one := point(bundle, figure)).value > 0]
        if not found:
            why = next((f" ({note})" for one in self.bundles for note in point(one).figures.notes), "")
            raise ResultError(f"{self.title} has no {figure.words} in these results{why}")
        return found


@dataclass(frozen=True)
class Compared:
    """B against A in one figure: that of both, and how many times that of A is that of B.

    `recall` is where both were read; None: recall itself is compared. `ratio` has the 95 % interval, `sure` the wider
    one that the verdict follows from; `certainty` is what both are intervals of, which is more than usual where results
    were measured until they looked certain (`stats.goal.levels`). `paired` says whether their batches were measured in
    turn.
    """

    a: Side
    b: Side
    figure: Figure
    recall: float | None
    levels: tuple[Estimate, Estimate]
    ratio: Estimate
    sure: Estimate
    how: tuple[str, str]
    paired: bool
    notes: tuple[str, ...] = ()
    certainty: tuple[float, float] = (LEVEL, VERDICT_LEVEL)

    @property
    def verdict(self) -> Verdict:
        """Of B: faster (better) or slower (worse) where 1 lies outside of the interval."""
        merit = self.figure.merit(self.sure)
        if merit.low > 1:
            return Verdict.FASTER
        return Verdict.SLOWER if merit.high < 1 else Verdict.CANNOT_TELL

    def fails(self, allowed: float) -> bool:
        """Whether B is shown to be worse by more than a share of A's that is allowed."""
        return self.figure.merit(self.sure).high < 1 - allowed

    def to_json(self) -> dict[str, Any]:
        """All of it, for machines; null where there is no interval."""
        sides = zip(("a", "b"), (self.a, self.b), self.levels, self.how, strict=True)
        return {
            "verdict": self.figure.verdict(self.verdict),
            "figure": self.figure.name,
            "recall": self.recall,
            "ratio": listed(self.ratio),
            "ratio_of_the_verdict": {**listed(self.sure), "level": self.certainty[1]},
            "paired": self.paired,
            "notes": list(self.notes),
            **{
                letter: {"label": one.label, "algorithm": one.name, self.figure.name: listed(level), "read": how}
                for letter, one, level, how in sides
            },
        }


def compare(a: Side, b: Side, recall: float | None, figure: Figure = QPS) -> Compared:
    """B against A in a figure at a recall; without a recall the best recall of each.

    Raises UsageError where they were measured under unlike conditions (it names the field), NotReachedError where one
    of them stays below the recall (with exit code 1 where that is B, which is a finding), ResultError where one failed.
    """
    refuse_unlike(a, b)
    if recall is None:
        mine, others = (best(side.points(RECALL)) for side in (a, b))
        figure = RECALL
    else:
        mine = at_recall(a.points(figure), recall, a.title, less=figure.less)
        try:
            others = at_recall(b.points(figure), recall, b.title, less=figure.less)
        except NotReachedError as error:
            error.exit_code = 1
            raise
    paired = _in_turn(a, b) and mine.rates.shape == others.rates.shape
    chance = query_error(mine.influence, others.influence)
    certainty = levels(stopped=a.stopped or b.stopped)
    usual, sure = (
        _wider(ratio_estimate(others.rates, mine.rates, paired=paired, level=level), chance, level)
        for level in certainty
    )
    return Compared(
        a=a,
        b=b,
        figure=figure,
        recall=recall,
        levels=(figure.estimate(mine.rates, mine.figures), figure.estimate(others.rates, others.figures)),
        ratio=usual,
        sure=sure,
        how=(mine.how, others.how),
        paired=paired,
        notes=_notes((a, mine), (b, others), sure, enough=not math.isnan(chance)),
        certainty=certainty,
    )


def refuse_unlike(a: Side, b: Side) -> None:
    """Raise UsageError, naming the field, unless all the results of both were measured under the same conditions."""
    first = a.bundles[0]
    for side in (a, b):
        for bundle in side.bundles:
            must_agree(first, bundle, (a.title, side.title))


def _in_turn(a: Side, b: Side) -> bool:
    tokens = {one.provenance.get(PAIR) for side in (a, b) for one in side.bundles}
    return len(tokens) == 1 and None not in tokens


def _wider(ratio: Estimate, error: float, level: float) -> Estimate:
    """The interval with what comes from the choice of queries; the two are independent. None where that is unknown."""
    if math.isnan(error):
        return replace(NOTHING, value=ratio.value)
    if not (error > 0 and math.isfinite(ratio.low)):
        return ratio
    margin = error * NormalDist().inv_cdf((1 + level) / 2)
    low = math.exp(-math.hypot(math.log(ratio.value / ratio.low), margin))
    high = math.exp(math.hypot(math.log(ratio.high / ratio.value), margin))
    return replace(ratio, low=ratio.value * low, high=ratio.value * high)


def _notes(a: tuple[Side, Matched], b: tuple[Side, Matched], sure: Estimate, *, enough: bool) -> tuple[str, ...]:
    found = [
        f"{side.title} has more recall than asked for in its fastest query config, which stands in for it"
        for side, matched in (a, b)
        if not matched.exact
    ]
    if not enough:
        found.append("too few queries to know so high a percentile: nothing can be told; use --figure p50")
    elif not math.isfinite(sure.low):
        found.append("one run of one build has no interval: nothing can be told; use --builds 5")
    elif min(len(a[1].rates), len(b[1].rates)) < 2:
        found.append("one build says nothing about how builds differ; use --builds 5 or more")
    return tuple(found)


def listed(one: Estimate) -> dict[str, float | None]:
    """For JSON; null where there is no interval."""
    values = {"value": one.value, "low": one.low, "high": one.high}
    return {name: value if math.isfinite(value) else None for name, value in values.items()}
