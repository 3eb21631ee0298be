"""The dense track: nearest neighbours, or all the rows within a radius where the data set has one."""

from __future__ import annotations

from ann_bench.datasets.dataset import Dataset
from ann_bench.errors import UsageError
from ann_bench.tracks.base import GIB, Score, Track, build_and_search
from ann_bench.workload import Limits, Workload


def workload(dataset: Dataset, k: int) -> Workload:
    """Build on all the rows, then one batch with all the queries."""
    if dataset.sparse:
        raise UsageError(f"data set {dataset.name!r} cannot run on this track: its vectors are sparse rows")
    return build_and_search(dataset, k)


TRACK = Track(
    name="dense",
    description="nearest neighbours of dense vectors, or all within a radius",
    default_dataset="debian-20k",
    workload=workload,
    limits=Limits(cpus=8, memory_bytes=16 * GIB),
    query_configs=10,
    score=Score("qps", least_recall=0.90),
)
