"""Speed (or latency) at a recall that no query config has by itself, read off between its neighbours on the front.

Between two neighbouring points of a front the logarithm of the figure is taken as linear in -log(1 + E - recall): along
most fronts the share of what is missed falls as a power of the speed. That is done for every run of every build, with
the recalls of that build, so that the noise of both goes into the result; and the influence of every query on it is
kept, because both sides answer the same queries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ann_bench.compare.figure import QPS, Figure
from ann_bench.errors import UsageError
from ann_bench.report.pareto import front
from ann_bench.results.figures import Figures, figures, repeats
from ann_bench.results.model import Bundle
from ann_bench.stats import median

Floats = npt.NDArray[np.float64]

#: So that a recall of 1 has a place on the axis, as in the plots.
E = 0.001


@dataclass(frozen=True)
class Point:
    """One query config: its figures; recall and the figure compared of every run (builds, runs).

    `queries` is the recall of every query (queries,), `own` by how much each moves the figure's logarithm by itself.
    """

    figures: Figures
    recalls: Floats
    rates: Floats
    queries: Floats
    own: Floats | float = 0.0

    @property
    def value(self) -> float:
        """The median over builds of the medians over runs; NaN where nothing was measured."""
        return median([median(build) for build in self.rates])


@dataclass(frozen=True)
class Matched:
    """What one side has at a recall: the figure of every run (builds, runs), and by how much each query moves its
    logarithm.

    `figures` are those of the query config that has this recall, or the next one above. `how` says in words where it
    was read; `exact` is false where the config of least recall has more than was asked for, and stands in.
    """

    rates: Floats
    influence: Floats
    how: str
    figures: Figures
    exact: bool = True


class NotReachedError(UsageError):
    """A front that ends below the recall that was asked for; `most` is the recall that it has."""

    def __init__(self, name: str, recall: float, most: float, config: str) -> None:
        self.most = most
        nearest = math.floor(most * 10_000) / 10_000
        super().__init__(
            f"{name} does not reach recall {recall:g}: its nearest is {most:.4f} ({config}); compare with "
            f"--recall {nearest:g}, or give it a query config that searches further"
        )


def point(bundle: Bundle, figure: Figure = QPS) -> Point:
    """What a comparison takes from a bundle (its ids are not needed)."""
    found = repeats(bundle)
    return Point(figures(bundle), found.recalls, figure.values(bundle), found.queries, figure.own(bundle))


def best(points: Iterable[Point]) -> Matched:
    """The query config of highest recall: what recall itself is compared by."""
    top = max(points, key=lambda one: (one.figures.recall, one.figures.qps))
    return Matched(top.rates, _spread(top), f"its best, {top.figures.query}", top.figures)


def at_recall(points: Iterable[Point], recall: float, name: str, *, less: bool = False) -> Matched:
    """What these query configs have at a recall; NotReachedError where all of them stay below, `name` is for it.

    `less`: less of the figure is better.
    """
    by_key = {one.figures.key: one for one in points}

    def merit(one: Figures) -> float:
        return 1 / by_key[one.key].value if less else by_key[one.key].value

    line = [by_key[one.key] for one in front((one.figures for one in by_key.values()), merit)]
    last = line[-1]
    if last.figures.recall < recall:
        raise NotReachedError(name, recall, last.figures.recall, last.figures.query)
    above = next(place for place, one in enumerate(line) if one.figures.recall >= recall)
    own = line[above].figures
    if above == 0 or own.recall == recall:
        how = f"{own.query} (recall {own.recall:.4f})"
        return Matched(line[above].rates, _spread(line[above]), how, own, own.recall == recall)
    return _between(line[above - 1], line[above], recall)


def _spread(one: Point) -> Floats:
    return one.own + np.zeros_like(one.queries)


def _between(below: Point, above: Point, recall: float) -> Matched:
    one, other = below.figures, above.figures
    low, high = _axis(one.recall), _axis(other.recall)
    share = float((_axis(recall) - low) / (high - low))
    builds = min(len(below.rates), len(above.rates))
    shares = np.array([_share(below.recalls[b], above.recalls[b], recall, share) for b in range(builds)])[:, None]
    runs = min(below.rates.shape[1], above.rates.shape[1])
    logs = [np.log(side.rates[:builds, :runs]) for side in (below, above)]
    rates: Floats = np.exp((1 - shares) * logs[0] + shares * logs[1])
    steepness = (math.log(above.value) - math.log(below.value)) / float(high - low)
    influence = steepness * (
        (share - 1) * _deviations(below.queries) / (1 + E - one.recall)
        - share * _deviations(above.queries) / (1 + E - other.recall)
    )
    influence += (1 - share) * below.own + share * above.own
    how = f"between {one.query} (recall {one.recall:.4f}) and {other.query} ({other.recall:.4f})"
    return Matched(rates, influence, how, other)


def _share(below: Floats, above: Floats, recall: float, usual: float) -> float:
    """How far one build has to go from the config below to the one above; the usual share where it cannot be told."""
    low, high = _axis(_mean(below)), _axis(_mean(above))
    if not high > low:
        return usual
    return float(np.clip((_axis(recall) - low) / (high - low), usual - 0.5, usual + 0.5))


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan


def _axis(recall: float) -> float:
    return -math.log(1 + E - recall)


def _deviations(queries: Floats) -> Floats:
    """By how much each query differs from the mean of those that have an answer; 0 where it has none."""
    known = np.isfinite(queries)
    found: Floats = np.where(known, queries - (queries[known].mean() if known.any() else 0.0), 0.0)
    return found


def query_error(one: Sequence[float] | Floats, other: Sequence[float] | Floats) -> float:
    """The standard error of log(one / other) that comes from which queries were asked; 0 where there is none, NaN
    where it cannot be told."""
    mine, others = np.asarray(one), np.asarray(other)
    if mine.shape != others.shape or len(mine) < 2:
        return 0.0
    return float((mine - others).std(ddof=1) / math.sqrt(len(mine)))
