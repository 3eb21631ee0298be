"""Arguments of a wrapper: placeholders in them, and answers that come back in whatever shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ann_bench.arrays import Array

#: Numbers that JSON has not, as they stand in a converted config.
NUMBERS = {"@nan": float("nan"), "@inf": float("inf"), "@-inf": float("-inf")}


def filled(value: Any, known: Mapping[str, Any]) -> Any:
    """The value with every string that is a placeholder, such as `@metric`, replaced, at any depth.

    Raises ValueError for a placeholder whose value was not told.
    """
    if isinstance(value, Mapping):
        return {key: filled(inner, known) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, known) for inner in value]
    if isinstance(value, str) and value in NUMBERS:
        return NUMBERS[value]
    if isinstance(value, str) and value in known:
        if known[value] is None:
            raise ValueError(
                f"the placeholder {value} has no value here: the judge did not say how many answers it wants"
            )
        return known[value]
    return value


def matrix(found: Any, k: int) -> Array:
    """Answers as one row of `k` ids for each query: longer ones are cut, -1 stands where there are fewer.

    What is no list of ids is handed on as it is, for the worker to refuse. The largest unsigned integer, with which
    some libraries say that there is no answer, becomes -1.
    """
    ids = found if isinstance(found, np.ndarray) and found.ndim == 2 else _stacked(found, k)
    if ids.dtype.kind == "f" and np.all(ids == np.trunc(ids)):
        ids = ids.astype(np.int64)
    if ids.ndim != 2:
        return ids
    if ids.dtype.kind == "u":
        missing = ids == np.iinfo(ids.dtype).max
        ids = ids.astype(np.int64)
        ids[missing] = -1
    if ids.shape[1] == k:
        return ids
    if ids.shape[1] > k:
        return ids[:, :k]
    return np.pad(ids, ((0, 0), (0, k - ids.shape[1])), constant_values=-1)


def _stacked(found: Any, k: int) -> Array:
    rows = list(found)
    if rows and all(len(row) == len(rows[0]) for row in rows):
        return np.array(rows)
    ids = np.full((len(rows), k), -1, dtype=np.int64)
    for place, row in enumerate(rows):
        count = min(k, len(row))
        ids[place, :count] = np.asarray(row)[:count]
    return ids
