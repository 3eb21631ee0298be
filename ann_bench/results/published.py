"""Tables that big-ann-benchmarks publishes: read to be shown beside measured results, never ranked with them."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass
from pathlib import Path

from ann_bench.errors import UsageError

#: Their names of tracks, where ours differ.
_TRACKS = {"filter": "filtered"}

_NEEDED = ("algorithm", "parameters", "dataset", "track", "recall/ap")
_RUNBOOK = re.compile(r"\(.*\)$")


@dataclass(frozen=True)
class Published:
    """One row of such a table. `recall` is theirs (docs/results.md: `recall_bigann`); `qps` is NaN for streams.

    `machine` is what whoever read the file says; nothing in the file does.
    """

    track: str
    dataset: str
    algorithm: str
    parameters: str
    k: int
    recall: float
    qps: float
    build_seconds: float
    machine: str

    @property
    def name(self) -> str:
        """How tables call the entry."""
        return f"published:{self.algorithm}"


def read_published(path: Path, machine: str) -> list[Published]:
    """The rows of a csv file as big-ann-benchmarks exports it; UsageError where it is none."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from error
    if not rows:
        raise UsageError(f"{path}: holds no rows")
    if missing := [name for name in _NEEDED if name not in rows[0]]:
        raise UsageError(
            f"{path}: is no table of big-ann-benchmarks: it lacks the column{'s' * (len(missing) > 1)} "
            f"{', '.join(missing)}"
        )
    return [_row(path, number, row, machine) for number, row in enumerate(rows, start=2)]


def _row(path: Path, number: int, row: dict[str, str], machine: str) -> Published:
    try:
        return Published(
            track=_TRACKS.get(row["track"], row["track"]),
            dataset=_RUNBOOK.sub("", row["dataset"]),
            algorithm=row["algorithm"],
            parameters=row["parameters"],
            k=int(row.get("count") or 10),
            recall=float(row["recall/ap"]),
            qps=float(row["qps"]) if row.get("qps") else math.nan,
            build_seconds=_build(row.get("build") or ""),
            machine=machine,
        )
    except (TypeError, ValueError) as error:
        raise UsageError(f"{path}, line {number}: {error}") from error


def _build(text: str) -> float:
    """Seconds; what is negative or nothing was not measured."""
    seconds = float(text) if text else math.nan
    return seconds if seconds > 0 else math.nan


def best_published(rows: list[Published], figure: str, least_recall: float | None) -> list[Published]:
    """The best row of each algorithm by a figure (`qps`, `recall`) among those with enough recall, best first."""
    best: dict[str, Published] = {}
    for row in rows:
        value = getattr(row, figure)
        if math.isnan(value) or (least_recall is not None and row.recall < least_recall):
            continue
        if row.algorithm not in best or value > getattr(best[row.algorithm], figure):
            best[row.algorithm] = row
    return sorted(best.values(), key=lambda row: -float(getattr(row, figure)))
