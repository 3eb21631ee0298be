"""The figures of range searches: average precision, and what goes with it.

The judge measures the distance of every id itself, so that ids beyond the radius lie behind all right ones. Down the
list, by rising distance, precision is 1 until the last right id, and recall does not change after it: the area under
precision over recall, taken at every distance, is the share of all true answers that were found. (big-ann-benchmarks
takes it at 100 thresholds only, see `bigann_precision`.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.results.model import Counts, Score

Floats = npt.NDArray[np.float64]


def radius_of(workload: Sequence[Mapping[str, Any]]) -> float:
    """The radius of the first range search of a workload, as JSON; NaN where there is none."""
    return next((float(step["radius"]) for step in workload if "radius" in step), math.nan)


def share_found(hits: Counts, possible: Counts) -> float:
    """Average precision: hits over true answers, both of all queries together; NaN where there is nothing to find."""
    total = int(possible.sum(dtype=np.int64))
    return int(hits.sum(dtype=np.int64)) / total if total else math.nan


def precision(score: Score) -> float:
    """The share of the returned ids that lie within the radius, all queries together; NaN where none was returned."""
    if score.returned is None:
        return math.nan
    total = int(score.returned.sum(dtype=np.int64))
    return int(score.hits_strict.sum(dtype=np.int64)) / total if total else math.nan


def bigann_precision(score: Score) -> float:
    """Average precision as big-ann-benchmarks computes it (its eval_range_search.py, 2021).

    Precision and recall of all queries together are taken at 100 thresholds from just below 0 to the greatest distance
    returned; only what lies strictly below a threshold counts at it. The area is that of trapezoids. So the ids at the
    greatest distance never count, and ids beyond the radius cost where the last step that meets right ids meets them.
    """
    total = int(score.possible.sum(dtype=np.int64))
    if score.curve is None or not total:
        return math.nan
    returned, right = score.curve.astype(np.float64)
    at = np.ones(len(returned))
    np.divide(right, returned, out=at, where=returned > 0)
    recall = right / total
    return float(np.sum((recall[1:] - recall[:-1]) * (at[1:] + at[:-1]) / 2))


def query_shares(score: Score, mean: float) -> Floats:
    """For each query a value whose mean over the queries is `mean`, and whose spread is what queries add to its own.

    Average precision is a ratio of sums; a query's part in it is linear in what it found beyond its share (the delta
    method). NaN where a query has no true answer.
    """
    possible = score.possible.astype(np.float64)
    known = possible > 0
    usual = possible[known].mean() if known.any() else 1.0
    return np.where(known, mean + (score.hits.astype(np.float64) - mean * possible) / usual, np.nan)
