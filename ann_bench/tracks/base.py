"""What a track is: a preset. A function from a data set to a workload, limits, and a ranking rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ann_bench.datasets.dataset import Dataset
from ann_bench.datasets.runbook import read_runbook
from ann_bench.errors import UsageError
from ann_bench.workload import Build, Limits, Search, Workload

GIB = 1024**3


@dataclass(frozen=True)
class Score:
    """How entries of a track are ranked: the best `figure` among the results with recall >= `least_recall`."""

    figure: str
    least_recall: float | None = None

    def __str__(self) -> str:
        """In words, for tables."""
        bound = "" if self.least_recall is None else f" at recall >= {self.least_recall:.2f}"
        return f"best {self.figure}{bound}"


@dataclass(frozen=True)
class Features:
    """What an entry of a track has to do: what `check` tries on it, and `new` writes for it.

    `filtered`: searches ask for tags. `sparse`: vectors are CSR rows. `stream`: points come and go between the
    searches. `learn`: there are sample queries to learn from.
    """

    filtered: bool = False
    sparse: bool = False
    stream: bool = False
    learn: bool = False


@dataclass(frozen=True)
class Track:
    """A preset.

    `workload(dataset, k)` makes the operations (UsageError where the data set lacks what the track needs);
    `runs` is how often each batch is repeated; an entry may bring at most `query_configs` query configs.
    """

    name: str
    description: str
    default_dataset: str
    workload: Callable[[Dataset, int], Workload]
    limits: Limits
    query_configs: int
    score: Score
    features: Features = Features()
    k: int = 10
    runs: int = 5


def build_and_search(dataset: Dataset, k: int, *, filtered: bool = False) -> Workload:
    """Build on all the rows, then one batch with all the queries: within the data set's radius, where it has one."""
    search = Search(dataset.queries.count, k, filtered, dataset.radius)
    return Workload((Build(range(dataset.rows)), search), max_points=dataset.rows)


def follow_runbook(dataset: Dataset, k: int, *, filtered: bool = False) -> Workload:
    """The steps of the data set's runbook; each of its searches asks all the queries."""
    if dataset.runbook is None:
        raise UsageError(
            f"data set {dataset.name!r} cannot run on this track: it has no runbook; add `runbook:` to its manifest"
        )
    search = Search(dataset.queries.count, k, filtered, dataset.radius)
    return read_runbook(dataset.runbook, dataset.name, dataset.rows, search)
