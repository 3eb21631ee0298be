"""The streaming track: an index that changes between searches, as a runbook says."""

from __future__ import annotations

from ann_bench.datasets.dataset import Dataset
from ann_bench.errors import UsageError
from ann_bench.tracks.base import GIB, Features, Score, Track, follow_runbook
from ann_bench.workload import Limits, Workload


def workload(dataset: Dataset, k: int) -> Workload:
    """What the data set's runbook says."""
    if dataset.sparse:
        raise UsageError(f"data set {dataset.name!r} cannot run on this track: its vectors are sparse rows")
    return follow_runbook(dataset, k)


TRACK = Track(
    name="streaming",
    description="inserts, deletes and replaces between searches, by a runbook",
    default_dataset="debian-20k",
    workload=workload,
    limits=Limits(cpus=8, memory_bytes=8 * GIB, run_seconds=3600.0),
    query_configs=2,
    score=Score("recall"),
    features=Features(stream=True),
)
