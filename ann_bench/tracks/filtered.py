"""The filtered track: the nearest neighbours among the rows that hold all the tags of the query."""

from __future__ import annotations

from ann_bench.datasets.dataset import Dataset
from ann_bench.errors import UsageError
from ann_bench.tracks.base import GIB, Features, Score, Track, build_and_search
from ann_bench.workload import Limits, Workload


def workload(dataset: Dataset, k: int) -> Workload:
    """Build on all the rows, then one batch with all the queries and their tags."""
    if dataset.tags is None or dataset.queries.tags is None:
        missing = "its base has" if dataset.tags is None else f"its query set {dataset.queries.name!r} has"
        raise UsageError(f"data set {dataset.name!r} cannot run on this track: {missing} no tags")
    return build_and_search(dataset, k, filtered=True)


TRACK = Track(
    name="filtered",
    description="nearest neighbours among the rows that hold all the tags of the query",
    default_dataset="debian-20k",
    workload=workload,
    limits=Limits(cpus=8, memory_bytes=16 * GIB),
    query_configs=10,
    score=Score("qps", least_recall=0.90),
    features=Features(filtered=True),
)
