"""The filtered-streaming track: a stream whose searches ask for the rows that hold all the tags of the query."""

from __future__ import annotations

from ann_bench.datasets.dataset import Dataset
from ann_bench.errors import UsageError
from ann_bench.tracks.base import GIB, Features, Score, Track, follow_runbook
from ann_bench.workload import Limits, Workload


def workload(dataset: Dataset, k: int) -> Workload:
    """What the data set's runbook says, each search under the tags of the queries."""
    if dataset.tags is None or dataset.queries.tags is None:
        missing = "its base has" if dataset.tags is None else f"its query set {dataset.queries.name!r} has"
        raise UsageError(f"data set {dataset.name!r} cannot run on this track: {missing} no tags")
    return follow_runbook(dataset, k, filtered=True)


TRACK = Track(
    name="filtered-streaming",
    description="a stream, searched for the rows that hold all the tags of the query",
    default_dataset="debian-20k",
    workload=workload,
    limits=Limits(cpus=8, memory_bytes=8 * GIB, run_seconds=3600.0),
    query_configs=2,
    score=Score("recall"),
    features=Features(filtered=True, stream=True),
)
