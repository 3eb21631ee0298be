"""What is tried on an entry: arrays, and the calls that are made with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from scipy.sparse import csr_matrix

from ann_bench.arrays import Array, held, held_csr
from ann_bench.datasets.dataset import Dataset, Metric, QuerySet
from ann_bench.truth.problems import Searches, problems
from ann_bench.workload import Operation, Search, Workload

Vectors: TypeAlias = "Array | csr_matrix"


@dataclass(frozen=True, eq=False)
class Data:
    """A data set in memory: what `fit` or `insert` are given, and what is asked."""

    metric: Metric
    base: Vectors
    queries: Vectors
    tags: csr_matrix | None = None
    query_tags: csr_matrix | None = None
    learn: Vectors | None = None

    def dataset(self) -> Dataset:
        """As the judge knows it."""
        tags, asked = (None if one is None else held_csr(one) for one in (self.tags, self.query_tags))
        learn = None if self.learn is None else held(self.learn)
        return Dataset(
            name="tried",
            metric=self.metric,
            base=held(self.base),
            tags=tags,
            queries=QuerySet("tried", held(self.queries), asked),
            learn=learn,
        )

    @property
    def weight(self) -> int:
        """How much there is to read in it."""
        parts = (self.base, self.queries, self.tags, self.query_tags)
        return sum(int(one.nnz if isinstance(one, csr_matrix) else one.size) for one in parts if one is not None)


@dataclass(frozen=True)
class Setup:
    """`setup`, the first call of a stream."""

    max_points: int


@dataclass(frozen=True)
class Arguments:
    """`set_query_arguments`."""

    given: Mapping[str, Any]


@dataclass(frozen=True)
class AtOnce(Search):
    """The queries of a search one by one, from so many callers at the same time."""

    callers: int = 1


Step: TypeAlias = Operation | Setup | Arguments


@dataclass(frozen=True, eq=False)
class Case:
    """Calls in order, over one data set. `strided`: dense vectors arrive with gaps between their values."""

    data: Data
    steps: tuple[Step, ...]
    strided: bool = False

    @property
    def problems(self) -> Searches:
        """The question of each of its searches, with the points that are live by then."""
        operations = tuple(step for step in self.steps if not isinstance(step, Setup | Arguments))
        return problems(self.data.dataset(), Workload(operations, max_points=0))

    @property
    def weight(self) -> tuple[int, int]:
        """Of two cases that fail, the lighter one is shown."""
        return len(self.steps), self.data.weight


@dataclass(frozen=True, eq=False)
class Finding:
    """A case that fails, and in one line how; `script` names what its snippet does beside the calls.

    It is `sure` where nothing had run before in its process: what objects leave behind for later ones hurts no run.
    """

    text: str
    case: Case | None = None
    script: str = "calls"
    threads: int = 1
    sure: bool = False
