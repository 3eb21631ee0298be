"""An estimate of recall: the entry measured once on the track's own small data set, by the judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ann_bench.datasets.dataset import Dataset
from ann_bench.entries.entry import Entry
from ann_bench.errors import UsageError
from ann_bench.judge.measure import measure
from ann_bench.judge.plan import Options, plan, setting
from ann_bench.judge.run import ask_all
from ann_bench.results.figures import figures
from ann_bench.results.model import Bundle, Status
from ann_bench.sandbox import Sandbox
from ann_bench.tracks import Track

#: One build, one batch: seconds that each may take.
BUILD_SECONDS, BATCH_SECONDS = 300.0, 120.0


@dataclass(frozen=True)
class Estimate:
    """Query configs with their recall on a data set (None where the entry failed, with its outcome); or why there is
    none.
    """

    dataset: str = ""
    rows: tuple[tuple[Mapping[str, Any], float | None, str], ...] = ()
    note: str = "not estimated"

    @property
    def failed(self) -> bool:
        """Whether the entry failed on the data set."""
        return any(recall is None for _, recall, _ in self.rows)

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        rows = [{"query": dict(query), "recall": recall, "outcome": outcome} for query, recall, outcome in self.rows]
        return {"dataset": self.dataset, "configs": rows, "note": self.note}


def estimate(entry: Entry, track: Track, sandbox: Sandbox, dataset: Dataset) -> Estimate:
    """Recall of every query config on a data set, each from one batch."""
    wishes = Options(runs=1, build_seconds=BUILD_SECONDS, timeout_seconds=BATCH_SECONDS)
    common = setting(track, dataset, sandbox, wishes)
    try:
        job = plan(common, [entry]).jobs[0]
    except UsageError as error:
        return Estimate(note=str(error))
    bundles: list[Bundle] = []
    if job.refusal is not None:
        return Estimate(dataset.name, (({}, None, job.refusal.detail),), note="")
    measure(common, job, job.configs, ask_all(dataset, common.workload), bundles.append)
    return Estimate(dataset.name, tuple(map(_row, bundles)), note="")


def _row(bundle: Bundle) -> tuple[Mapping[str, Any], float | None, str]:
    if bundle.outcome.status is not Status.OK:
        return bundle.identity["query"], None, f"{bundle.outcome.status.value}: {bundle.outcome.detail}"
    return bundle.identity["query"], float(figures(bundle).recall), bundle.outcome.status.value
