"""The base classes that wrappers of big-ann-benchmarks inherit from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ann_bench.arrays import Array

_PAGE = os.sysconf("SC_PAGE_SIZE")


class BaseANN:
    """An index that builds from the name of a data set, and keeps its answers until they are fetched."""

    res: Any
    name: str

    def done(self) -> None:
        """Called once, when nothing more will be asked."""

    def track(self) -> str:
        """The name of its track over there."""
        raise _lacks(self, "track")

    def fit(self, dataset: str) -> None:
        """Build the index for the data set of this name."""
        raise _lacks(self, "fit")

    def load_index(self, dataset: str) -> bool:
        """Never called here: an index that was loaded is none that was built."""
        return False

    def index_files_to_store(self, dataset: str) -> tuple[str, str, list[str]]:
        """Never called here."""
        raise _lacks(self, "index_files_to_store")

    def query(self, queries: Any, k: int) -> None:
        """Search for the k nearest to every query."""
        raise _lacks(self, "query")

    def range_query(self, queries: Any, radius: float) -> None:
        """Search for all within the radius of every query."""
        raise _lacks(self, "range_query")

    def get_results(self) -> Array:
        """Ids of shape (nq, k)."""
        found: Array = self.res
        return found

    def get_range_results(self) -> tuple[Array, Array, Array]:
        """Offsets (nq + 1,), distances, ids."""
        found: tuple[Array, Array, Array] = self.res
        return found

    def get_additional(self) -> dict[str, Any]:
        """Figures of its own."""
        return {}

    def get_memory_usage(self) -> float:
        """Resident memory of this process, in KiB."""
        resident = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return resident * _PAGE / 1024

    def __str__(self) -> str:
        return str(getattr(self, "name", type(self).__name__))


class BaseFilterANN(BaseANN):
    """An index whose queries come with tags."""

    def track(self) -> str:
        """The name of its track over there."""
        return "filter"

    def filtered_query(self, queries: Any, filter: Any, k: int) -> None:  # noqa: A002  their name
        """Search for the k nearest that hold all tags of their row of `filter`."""
        raise _lacks(self, "filtered_query")


class BaseOODANN(BaseANN):
    """An index for queries of another distribution than the base."""

    def track(self) -> str:
        """The name of its track over there."""
        return "ood"


class BaseSparseANN(BaseANN):
    """An index of sparse vectors."""

    def track(self) -> str:
        """The name of its track over there."""
        return "sparse"


class BaseStreamingANN(BaseANN):
    """An index that follows inserts and deletes."""

    def track(self) -> str:
        """The name of its track over there."""
        return "stream"

    def setup(self, dtype: str, max_pts: int, ndims: int) -> None:
        """Make ready for at most `max_pts` live points."""
        raise _lacks(self, "setup")

    def insert(self, vectors: Any, ids: Any) -> None:
        """Add the rows under these ids."""
        raise _lacks(self, "insert")

    def delete(self, ids: Any) -> None:
        """Remove these ids."""
        raise _lacks(self, "delete")


def _lacks(owner: object, method: str) -> NotImplementedError:
    return NotImplementedError(f"{type(owner).__name__} has no {method}()")
