"""What can stand on an axis, in a column and under a slider: the figures that are numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from ann_bench.results.figures import COLUMNS, Figures

#: Numbers that say how something was measured, not what came out.
_CONDITIONS = {"k", "cpus", "memory_limit_bytes", "runs", "builds", "searches", "radius", "rate", "canary_drift"}


@dataclass(frozen=True)
class Axis:
    """A figure for people. `kind` is how its numbers are shown; `better` is -1 where less is better, else 1."""

    label: str
    kind: str = "number"
    better: int = 1

    @property
    def logarithmic(self) -> bool:
        """Whether ratios matter more than differences."""
        return self.kind != "share"


_KNOWN = {
    "recall": Axis("Recall", "share"),
    "recall_strict": Axis("Recall by ids", "share"),
    "recall_bigann": Axis("Recall as big-ann has it", "share"),
    "control_recall": Axis("Recall of unseen queries", "share"),
    "least_recall": Axis("Least recall of a search", "share"),
    "precision": Axis("Precision", "share"),
    "qps": Axis("Queries per second"),
    "qps_best": Axis("Queries per second, fastest run"),
    "build_seconds": Axis("Build time", "seconds", -1),
    "search_seconds": Axis("Time of all searches", "seconds", -1),
    "update_seconds": Axis("Time of all changes", "seconds", -1),
    "peak_memory_bytes": Axis("Peak memory", "bytes", -1),
    "p50": Axis("Median latency", "seconds", -1),
    "p90": Axis("Latency, 90th percentile", "seconds", -1),
    "p95": Axis("Latency, 95th percentile", "seconds", -1),
    "p99": Axis("Latency, 99th percentile", "seconds", -1),
    "p999": Axis("Latency, 99.9th percentile", "seconds", -1),
    "slowest": Axis("Slowest query", "seconds", -1),
    "wire": Axis("Call without the entry", "seconds", -1),
    "inserts_per_second": Axis("Inserts per second"),
    "deletes_per_second": Axis("Deletes per second"),
    "replaces_per_second": Axis("Replaces per second"),
}


def axes_of(figures: Iterable[Figures]) -> dict[str, dict[str, Any]]:
    """The axes for which any of the results has a number, by the name of their column, in the order of the columns."""
    rows = [one.row() for one in figures]
    found = {}
    for name in COLUMNS:
        bound = name.endswith(("_low", "_high"))
        if name not in _CONDITIONS and not bound and any(_number(row[name]) for row in rows):
            axis = _KNOWN.get(name) or _guess(name)
            found[name] = {**asdict(axis), "log": axis.logarithmic}
    return found


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _guess(name: str) -> Axis:
    """An axis for a column that is not listed above, from how it is called."""
    words = name.replace("_", " ").capitalize()
    if "per_second" in name or name.startswith("qps"):
        return Axis(words)
    for ending, kind in (("seconds", "seconds"), ("bytes", "bytes")):
        if ending in name:
            return Axis(words, kind, -1)
    return Axis(words, "share" if "recall" in name else "number")
