"""The questions that a workload asks: one `Problem` for each of its searches, with the points live at that step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ann_bench.datasets.dataset import Dataset
from ann_bench.truth.model import Live, Problem
from ann_bench.workload import Build, Delete, Operation, Search, Workload


def problems(dataset: Dataset, workload: Workload) -> Iterator[Problem]:
    """One problem for each search, in order.

    `live` is None as long as every base row is live under its own number.
    """
    rows_of = np.zeros(0, dtype=np.int64)  # rows_of[id] is the base row that the id stands for, -1 where none
    for operation in workload.operations:
        if isinstance(operation, Search):
            yield _problem(dataset, operation, _live(dataset, rows_of))
        else:
            rows_of = _after(rows_of, operation)


def _after(rows_of: npt.NDArray[np.int64], operation: Operation) -> npt.NDArray[np.int64]:
    """The live points after an operation."""
    if isinstance(operation, Build):
        return np.arange(operation.rows.stop, dtype=np.int64)
    if isinstance(operation, Search):
        return rows_of
    ids = operation.ids
    rows = -1 if isinstance(operation, Delete) else np.arange(operation.rows.start, operation.rows.stop)
    if ids.stop > len(rows_of):
        rows_of = np.concatenate([rows_of, np.full(ids.stop - len(rows_of), -1, dtype=np.int64)])
    changed: npt.NDArray[np.int64] = rows_of.copy()
    changed[ids.start : ids.stop] = rows
    return changed


def _live(dataset: Dataset, rows_of: npt.NDArray[np.int64]) -> Live | None:
    if len(rows_of) == dataset.rows and np.array_equal(rows_of, np.arange(dataset.rows)):
        return None
    ids = np.flatnonzero(rows_of >= 0)
    return Live(ids=ids, rows=rows_of[ids])


def _problem(dataset: Dataset, search: Search, live: Live | None) -> Problem:
    queries = dataset.queries
    return Problem(
        metric=dataset.metric,
        k=search.k,
        base=dataset.base,
        queries=queries.vectors.head(search.queries),
        tags=dataset.tags if search.filtered else None,
        query_tags=queries.tags.head(search.queries) if search.filtered and queries.tags else None,
        live=live,
        radius=search.radius,
    )
