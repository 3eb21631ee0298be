"""The sparse track: the largest inner products of rows with few nonzeros."""

from __future__ import annotations

from ann_bench.datasets.dataset import Dataset
from ann_bench.errors import UsageError
from ann_bench.tracks.base import GIB, Features, Score, Track, build_and_search
from ann_bench.workload import Limits, Workload


def workload(dataset: Dataset, k: int) -> Workload:
    """Build on all the rows, then one batch with all the queries."""
    if not dataset.sparse:
        raise UsageError(f"data set {dataset.name!r} cannot run on this track: its vectors are no sparse rows")
    return build_and_search(dataset, k)


TRACK = Track(
    name="sparse",
    description="inner products of sparse vectors",
    default_dataset="debian-20k",
    workload=workload,
    limits=Limits(cpus=8, memory_bytes=16 * GIB),
    query_configs=10,
    score=Score("qps", least_recall=0.90),
    features=Features(sparse=True),
)
