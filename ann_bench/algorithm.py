"""The base class of every entry: one class for every track, an entry overrides what its tracks need."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

Vectors: TypeAlias = npt.NDArray[Any] | csr_matrix
Ids: TypeAlias = npt.NDArray[np.integer[Any]]


class Algorithm:
    """An index under test.

    `metric` is `euclidean`, `ip` (inner product, larger is nearer) or `angular`; `dim` the number of
    dimensions; `dtype` numpy's name of the base's element type (`float32`, `uint8`, ...); `threads` how many
    threads the entry may use; `build` the entry's own build arguments from its config.yaml.

    Vectors arrive as read-only arrays of shape (n, dim), mapped from a file, or as `scipy.sparse.csr_matrix`
    on sparse data. Tags arrive as `csr_matrix` of shape (n, vocabulary): a row holds a tag where it has an
    entry in that column. A query with tags asks for the rows that hold ALL of them.
    """

    def __init__(self, metric: str, dim: int, dtype: str, threads: int, **build: Any) -> None:
        self.metric = metric
        self.dim = dim
        self.dtype = dtype
        self.threads = threads
        self.build = build

    def fit(self, base: Vectors, tags: csr_matrix | None = None, learn: Vectors | None = None) -> None:
        """Index the rows of `base`; row `i` has id `i`.

        `learn` holds public sample queries, where a data set has them and config.yaml says `learn: true`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no fit(): it cannot index a base at once")

    def set_query_arguments(self, **query: Any) -> None:
        """Take one query config of config.yaml; called before each batch of queries."""
        if query:
            names = ", ".join(query)
            raise NotImplementedError(f"{type(self).__name__} has no set_query_arguments() for {names}")

    def query(self, queries: Vectors, k: int, tags: csr_matrix | None = None) -> Ids:
        """Answer all queries at once: integer ids of shape (nq, k), nearest first, -1 where there is no answer."""
        raise NotImplementedError(f"{type(self).__name__} has no query()")

    def range_query(self, queries: Vectors, radius: float, tags: csr_matrix | None = None) -> tuple[Ids, Ids]:
        """Answer all queries at once with the ids within `radius`: (offsets (nq + 1,), ids (total,)), both integers.

        The ids of query `i` are `ids[offsets[i]:offsets[i + 1]]`, in any order. Within are rows at a squared euclidean
        distance or a 1 - cosine below the radius, or with an inner product above it. `tags` is given only where
        searches are filtered: an entry that serves no such track may leave the parameter out.
        """
        raise NotImplementedError(f"{type(self).__name__} has no range_query(): it cannot search by radius")

    def setup(self, max_points: int) -> None:
        """Make ready for a stream of inserts of which at most `max_points` points are live at once."""
        raise NotImplementedError(f"{type(self).__name__} has no setup(): it cannot follow a stream")

    def insert(self, vectors: Vectors, ids: Ids, tags: csr_matrix | None = None) -> None:
        """Add the vectors under these ids, none of which is live."""
        raise NotImplementedError(f"{type(self).__name__} has no insert()")

    def delete(self, ids: Ids) -> None:
        """Remove these ids, all of which are live."""
        raise NotImplementedError(f"{type(self).__name__} has no delete()")

    def replace(self, vectors: Vectors, ids: Ids, tags: csr_matrix | None = None) -> None:
        """Give these live ids other vectors; by default `delete`, then `insert`."""
        self.delete(ids)
        self.insert(vectors, ids, tags)

    def save(self, folder: Path) -> None:
        """Write the index into an empty folder."""
        raise NotImplementedError(f"{type(self).__name__} has no save()")

    def load(self, folder: Path) -> bool:
        """Read an index that `save` wrote; False where the entry cannot."""
        return False

    def stats(self) -> dict[str, Any]:
        """The entry's own counters; stored apart, never mixed with measured figures."""
        return {}
