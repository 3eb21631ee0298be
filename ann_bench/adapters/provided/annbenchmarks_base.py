"""What wrappers of ann-benchmarks import from there."""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing.pool import ThreadPool
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ann_bench.adapters.provided.bigann_base import BaseANN as _Measured
from ann_bench.arrays import Array

#: Where wrappers keep files of theirs, relative to where they run.
INDEX_DIR = "indices"


class BaseANN:
    """An index that answers one query, or all of a batch on as many threads as it may use."""

    res: Any
    name: str
    threads: ClassVar[int] = 1
    _pool: ClassVar[ThreadPool | None] = None

    get_memory_usage = _Measured.get_memory_usage
    __str__ = _Measured.__str__

    def done(self) -> None:
        """Called once, when nothing more will be asked."""

    def fit(self, vectors: Array) -> None:
        """Index the rows."""

    def query(self, q: Array, n: int) -> Any:
        """The ids of the n nearest to q."""
        return []

    def batch_query(self, queries: Array, n: int) -> None:
        """Answer all the queries by `query`, on several threads."""
        if self.threads == 1:
            self.res = [self.query(row, n) for row in queries]
            return
        if BaseANN._pool is None:
            BaseANN._pool = ThreadPool(self.threads)
        self.res = BaseANN._pool.map(lambda row: self.query(row, n), queries)

    def get_batch_results(self) -> Any:
        """The answers to the last batch."""
        return self.res

    def get_additional(self) -> dict[str, Any]:
        """Figures of its own."""
        return {}


class Metric(NamedTuple):
    """How far two vectors are from each other."""

    distance: Callable[[Array, Array], float]
    distance_valid: Callable[[float], bool]


def norm(a: Array) -> float:
    """Euclidean length."""
    return float(np.sqrt(np.dot(a, a)))


def euclidean(a: Array, b: Array) -> float:
    """Euclidean distance."""
    return norm(a - b)


def angular(a: Array, b: Array) -> float:
    """1 - cosine."""
    return 1 - float(np.dot(a, b)) / (norm(a) * norm(b))


#: The metrics of float vectors, by their names.
metrics = {"euclidean": Metric(euclidean, lambda _: True), "angular": Metric(angular, lambda _: True)}


def compute_distance(metric: str, a: Array, b: Array) -> float:
    """The distance between two vectors; KeyError for a metric that is none of `metrics`."""
    return metrics[metric].distance(a, b)


def get_bool_env_var(name: str, default: bool = False) -> bool:
    """Whether a variable of the environment says yes."""
    value = os.environ.get(name)
    return default if value is None else value.strip().lower() in ("1", "true", "yes", "on", "y", "t")
