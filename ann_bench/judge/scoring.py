"""Are the answers valid, and how many of them are right? Nothing here trusts the entry."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.arrays import Array, CsrRef
from ann_bench.judge.filters import holds_all
from ann_bench.results.model import INVALID_KINDS, Score
from ann_bench.truth.distance import pair_distances
from ann_bench.truth.model import Problem, Truth

#: What a stored id is where the entry gave a number that no id can be.
NO_ID = -2

#: Two float distances that differ by less than this, relatively, are one distance: about ten times what a dot
#: product of a thousand float32 values loses. Integers are exact and get no tolerance.
FLOAT_TOLERANCE = 1e-6

#: big-ann-benchmarks widens the truth by this absolute difference (its metrics.py; see docs/judging.md).
BIGANN_TOLERANCE = 1e-6


def stored_ids(ids: Array) -> npt.NDArray[np.int32]:
    """Answers as they are stored: int32, and NO_ID for what is below -1 or beyond int32."""
    odd = (ids < -1) | (ids > np.iinfo(np.int32).max)
    return np.where(odd, NO_ID, ids).astype(np.int32)


@dataclass(frozen=True)
class Validity:
    """For each answer (queries, k): the base row that it names (0 where it is not valid) and whether it is valid."""

    rows: npt.NDArray[np.int64]
    valid: npt.NDArray[np.bool_]
    invalid: dict[str, int]


def validate(problem: Problem, ids: npt.NDArray[np.int32]) -> Validity:
    """Sort out the answers that are no answers, each counted under the first kind of INVALID_KINDS that it is."""
    given = ids != -1
    live = problem.live
    span = problem.base.shape[0] if live is None else int(live.ids[-1]) + 1 if len(live.ids) else 0
    in_range = given & (ids >= 0) & (ids < span)
    distinct = in_range & ~_repeated(ids)
    rows = np.where(distinct, ids, 0).astype(np.int64)
    alive = distinct.copy()
    if live is not None and len(live.ids):
        place = np.minimum(np.searchsorted(live.ids, rows), len(live.ids) - 1)
        alive &= live.ids[place] == rows
        rows = np.where(alive, live.rows[place], 0)
    passes = alive.copy()
    if problem.tags is not None and problem.query_tags is not None and problem.base.shape[0]:
        passes &= holds_all(problem.tags, problem.query_tags, rows)
    stages = (given, in_range, distinct, alive, passes)
    lost = (int(before.sum() - after.sum()) for before, after in pairwise(stages))
    return Validity(np.where(passes, rows, 0), passes, dict(zip(INVALID_KINDS, lost, strict=True)))


def _repeated(ids: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Which answers stand in the same row a second time."""
    order = np.argsort(ids, axis=1, kind="stable")
    ranked = np.take_along_axis(ids, order, axis=1)
    again = np.zeros(ids.shape, dtype=np.bool_)
    again[:, 1:] = ranked[:, 1:] == ranked[:, :-1]
    repeated = np.zeros(ids.shape, dtype=np.bool_)
    np.put_along_axis(repeated, order, again, axis=1)
    return repeated


def score(problem: Problem, truth: Truth, ids: npt.NDArray[np.int32]) -> Score:
    """Compare answers (queries, k) with the truth, by distances that are computed here from the ids."""
    validity = validate(problem, ids)
    distances = pair_distances(
        problem.metric, problem.queries.open(), problem.base.open(), np.where(validity.valid, validity.rows, -1)
    )
    possible = (truth.ids >= 0).sum(axis=1)
    last = np.maximum(possible - 1, 0)[:, None]
    kth = np.where(possible > 0, np.take_along_axis(truth.distances, last, axis=1)[:, 0], -np.inf)
    slack = 0.0 if exact_distances(problem) else FLOAT_TOLERANCE
    reach = kth + np.abs(np.where(np.isfinite(kth), kth, 0.0)) * slack

    def count(hits: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint16]:
        counts: npt.NDArray[np.uint16] = np.minimum((hits & validity.valid).sum(axis=1), possible).astype(np.uint16)
        return counts

    return Score(
        hits=count(distances <= reach[:, None]),
        hits_strict=count(_among(ids, truth.ids)),
        hits_bigann=count(distances <= (kth + BIGANN_TOLERANCE)[:, None]),
        possible=possible.astype(np.uint16),
        invalid=validity.invalid,
    )


def _among(ids: npt.NDArray[Any], truth: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which answers are among the true ids of their query."""
    found = np.zeros(ids.shape, dtype=np.bool_)
    for column in range(truth.shape[1]):
        found |= ids == truth[:, column : column + 1]
    return found & (ids >= 0)


def exact_distances(problem: Problem) -> bool:
    """Whether distances are whole numbers: integer elements, and a metric that does not divide."""
    base = problem.base
    dtype = np.dtype(base.data.dtype if isinstance(base, CsrRef) else base.dtype)
    return dtype.kind in "iu" and problem.metric != "angular"
