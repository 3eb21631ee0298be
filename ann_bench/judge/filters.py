"""Does a row hold all the tags of a query? Asked of every answer, so it must be quick."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.arrays import CsrRef


def holds_all(tags: CsrRef, query_tags: CsrRef, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """For each query and each base row beside it, (queries, m): whether the row holds all the query's tags.

    Rows must lie within the base. The tags of a base row are sorted (`datasets.prepare` sees to it), so each test
    is a binary search, made for all the answers at once.
    """
    indptr, indices = tags.indptr.open(), tags.indices.open()
    wanted = query_tags.open()
    counts = np.diff(wanted.indptr)
    holds = np.ones(rows.shape, dtype=np.bool_)
    for place in range(int(counts.max(initial=0))):
        some = np.flatnonzero(counts > place)
        tag = wanted.indices[wanted.indptr[some] + place]
        asked = rows[some]
        found = _contains(indices, (indptr[asked], indptr[asked + 1]), np.broadcast_to(tag[:, None], asked.shape))
        holds[some] &= found
    return holds


def _contains(
    indices: npt.NDArray[Any], span: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]], value: npt.NDArray[Any]
) -> npt.NDArray[np.bool_]:
    """Whether the sorted `indices[low:high]` hold `value`, element by element."""
    low, end = span[0].copy(), span[1]
    if not len(indices):
        return np.zeros(value.shape, dtype=np.bool_)
    high = end.copy()
    last = len(indices) - 1
    while (open_ := low < high).any():
        middle = (low + high) // 2
        less = open_ & (indices[np.minimum(middle, last)] < value)
        low = np.where(less, middle + 1, low)
        high = np.where(open_ & ~less, middle, high)
    found: npt.NDArray[np.bool_] = (low < end) & (indices[np.minimum(low, last)] == value)
    return found
