"""The sparse-streaming track: a stream of rows with few nonzeros."""

from __future__ import annotations

from ann_bench.datasets.dataset import Dataset
from ann_bench.errors import UsageError
from ann_bench.tracks.base import GIB, Features, Score, Track, follow_runbook
from ann_bench.workload import Limits, Workload


def workload(dataset: Dataset, k: int) -> Workload:
    """What the data set's runbook says."""
    if not dataset.sparse:
        raise UsageError(f"data set {dataset.name!r} cannot run on this track: its vectors are no sparse rows")
    return follow_runbook(dataset, k)


TRACK = Track(
    name="sparse-streaming",
    description="a stream of sparse vectors, searched by inner product",
    default_dataset="debian-20k",
    workload=workload,
    limits=Limits(cpus=8, memory_bytes=8 * GIB, run_seconds=3600.0),
    query_configs=2,
    score=Score("recall"),
    features=Features(sparse=True, stream=True),
)
