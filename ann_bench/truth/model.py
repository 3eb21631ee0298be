"""The shape of exact answers and of the question that they answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ann_bench.arrays import CsrRef, Ref
from ann_bench.datasets.dataset import Metric


@dataclass(frozen=True)
class Live:
    """Which points can be found: id `ids[i]` stands for base row `rows[i]`; both (points,) int64, ids ascending."""

    ids: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Problem:
    """A question: the `k` nearest live rows of `base` to each query that hold all the tags of the query.

    `tags` and `query_tags` are None where the search is not filtered; `live` is None where every base row is
    live under its own number. With a `radius` all the rows within it are asked for (see `workload.Search`).
    """

    metric: Metric
    k: int
    base: Ref
    queries: Ref
    tags: CsrRef | None = None
    query_tags: CsrRef | None = None
    live: Live | None = None
    radius: float | None = None


@dataclass(frozen=True)
class Truth:
    """Exact answers, nearest first, ties to the smaller id.

    `ids` (queries, k) int32, -1 where fewer rows match; `distances` (queries, k) float64, infinite there.
    A distance is smaller where a row is nearer: squared euclidean, minus the inner product, or 1 - cosine.
    `key` is the hash of all that the answers depend on.
    """

    ids: npt.NDArray[np.int32]
    distances: npt.NDArray[np.float64]
    key: str
