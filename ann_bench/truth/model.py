"""The shape of exact answers and of the question that they answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ann_bench.arrays import CsrRef, Ref
from ann_bench.datasets.dataset import Metric
from ann_bench.ragged import Ragged


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

    @property
    def reach(self) -> float:
        """The distance below which an answer lies; infinite without a radius."""
        if self.radius is None:
            return float("inf")
        return -self.radius if self.metric == "ip" else self.radius


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

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many true answers each query has, (queries,)."""
        return np.asarray((self.ids >= 0).sum(axis=1, dtype=np.int64))


@dataclass(frozen=True)
class RangeTruth:
    """All rows within the radius of each query, nearest first, ties to the smaller id.

    `found` holds the ids, int32; `distances` (total,) float64 as in `Truth`; `key` as there.
    """

    found: Ragged
    distances: npt.NDArray[np.float64]
    key: str

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many true answers each query has, (queries,)."""
        return self.found.counts


AnyTruth: TypeAlias = Truth | RangeTruth
