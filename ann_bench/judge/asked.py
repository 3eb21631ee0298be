"""Queries as they are put to an entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from ann_bench.datasets.dataset import Dataset
from ann_bench.judge.look import Look
from ann_bench.judge.noise import Noise, Vectors
from ann_bench.workload import Search


@dataclass(frozen=True)
class Asked:
    """The queries of one search: vectors, tags (None: it is not filtered), and the noise that changes the vectors.

    `look` is how an entry is shown them, after the noise.
    """

    vectors: Vectors
    tags: csr_matrix | None = None
    noise: Noise | None = None
    look: Look | None = None

    def take(self, numbers: npt.NDArray[np.integer[Any]]) -> tuple[Vectors, csr_matrix | None]:
        """Vectors and tags of the queries with these numbers, in this order, in memory of their own."""
        vectors = self.vectors[numbers]
        if self.noise is not None:
            self.noise.apply(vectors, numbers)
        tags = None if self.tags is None else self.tags[numbers]
        return (vectors, tags) if self.look is None else self.look.queries(vectors, tags)


def published(dataset: Dataset, search: Search) -> Asked:
    """The queries of a search as the query set has them."""
    queries = dataset.queries
    tags = queries.tags.open()[: search.queries] if search.filtered and queries.tags else None
    return Asked(queries.vectors.open()[: search.queries], tags)
