"""What is asked of two sides: which figures, and at which recall."""

from __future__ import annotations

from dataclasses import dataclass

from ann_bench.compare.figure import FIGURES, PERCENTILES, QPS, RECALL, TOTAL, Figure, find_figure
from ann_bench.compare.verdict import Side
from ann_bench.errors import UsageError
from ann_bench.report.ranking import least_recall

#: What is compared of queries that were put one at a time, or at a given rate: what goals are set by.
_USUAL_LATENCY = PERCENTILES["p99"]


@dataclass(frozen=True)
class Wanted:
    """Recall and figure as they were typed; None: what fits."""

    recall: float | None = None
    figure: str | None = None

    def questions(self, a: Side, b: Side) -> list[tuple[float | None, Figure]]:
        """What to compare: recalls (None: the best of each) and figures.

        Of streams, which are ranked by recall: the best recall of each, then the speed of the searches and the time of
        the whole stream at the lower of these, or at the recall asked for. UsageError for a figure that the results do
        not have, and where there is no recall to take.
        """
        figures = self._figures(a)
        if not a.streams:
            return [(self._bound(a), figure) for figure in figures]
        recall = self.recall if self.recall is not None else min(_most(side) for side in (a, b))
        return [(None if figure is RECALL else recall, figure) for figure in figures]

    def _figures(self, side: Side) -> list[Figure]:
        mode = side.bundles[0].identity.fields.get("mode")
        if self.figure is None:
            if side.streams:
                return [RECALL, QPS, TOTAL]
            kind = {} if mode is None else mode
            by_latency = kind.get("kind") == "latency" or (kind.get("kind") == "load" and kind.get("rate") != "max")
            return [_USUAL_LATENCY if by_latency else QPS]
        figure = find_figure(self.figure)
        fits = {
            **dict.fromkeys(FIGURES, True),
            **dict.fromkeys(PERCENTILES, mode is not None),
            TOTAL.name: side.streams,
            RECALL.name: side.streams,
        }
        if not fits[figure.name]:
            known = ", ".join(name for name, fit in fits.items() if fit)
            hint = "; latencies need --mode latency" if figure.name in PERCENTILES else ""
            raise UsageError(f"these results cannot be compared by {figure.name}; by {known}{hint}")
        return [figure]

    def _bound(self, side: Side) -> float:
        track = str(side.bundles[0].identity["track"])
        recall = self.recall if self.recall is not None else least_recall(track)
        if recall is None:
            raise UsageError(f"the track {track!r} has no bound on recall; name one, such as --recall 0.95")
        return recall


def _most(side: Side) -> float:
    """The highest recall of a side."""
    return max(one.figures.recall for one in side.points())
