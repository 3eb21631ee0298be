"""The out-of-distribution track: queries that come from another distribution than the base."""

from __future__ import annotations

from ann_bench.datasets.dataset import Dataset
from ann_bench.errors import UsageError
from ann_bench.tracks.base import GIB, Features, Score, Track, build_and_search
from ann_bench.workload import Limits, Workload


def workload(dataset: Dataset, k: int) -> Workload:
    """Build on all the rows, then one batch with all the queries."""
    if dataset.sparse:
        raise UsageError(f"data set {dataset.name!r} cannot run on this track: its vectors are sparse rows")
    return build_and_search(dataset, k)


TRACK = Track(
    name="ood",
    description="queries from another distribution than the base, and sample queries to learn from",
    default_dataset="debian-20k",
    workload=workload,
    limits=Limits(cpus=8, memory_bytes=16 * GIB),
    query_configs=10,
    score=Score("qps", least_recall=0.90),
    features=Features(learn=True),
)
