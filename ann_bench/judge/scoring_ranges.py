"""Are the answers of a range search valid, and how many of them lie within the radius?"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ann_bench.arrays import CsrRef, held_csr
from ann_bench.judge.filters import holds_all
from ann_bench.judge.scoring import FLOAT_TOLERANCE, exact_distances
from ann_bench.ragged import Ragged
from ann_bench.results.model import CURVE, INVALID_KINDS, Score
from ann_bench.truth.distance import listed_distances
from ann_bench.truth.model import Problem, RangeTruth

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_ANSWERS = 1 << 22  # answers that are looked at together, or those of one query

#: Where big-ann's thresholds begin: below every distance that is none (its eval_range_search.py).
_BELOW = 1e-3


def score_ranges(problem: Problem, truth: RangeTruth, answers: Ragged) -> Score:
    """Compare answers with the truth, by distances that are computed here from the ids."""
    slack = 0.0 if exact_distances(problem) else FLOAT_TOLERANCE
    reach = problem.reach + abs(problem.reach) * slack
    hits, strict = np.zeros((2, answers.queries), dtype=np.int64)
    lost = np.zeros(len(INVALID_KINDS), dtype=np.int64)
    seen: list[npt.NDArray[np.float64]] = []
    for first, last in _portions(answers):
        numbers, ids = _flat(answers, first, last)
        rows, valid, some = _valid(problem, numbers, ids)
        lost += some
        numbers, rows = numbers[valid], rows[valid]
        distances = listed_distances(problem.metric, problem.queries.open(), problem.base.open(), (numbers, rows))
        hits += np.bincount(numbers[distances < reach], minlength=answers.queries)
        strict += np.bincount(numbers[distances < problem.reach], minlength=answers.queries)
        seen.append(distances)
    possible = truth.counts
    found = np.minimum(strict, possible).astype(np.uint32)
    return Score(
        hits=np.minimum(hits, possible).astype(np.uint32),
        hits_strict=found,
        hits_bigann=found,
        possible=possible.astype(np.uint32),
        invalid=dict(zip(INVALID_KINDS, lost.tolist(), strict=True)),
        returned=answers.counts.astype(np.uint32),
        curve=_curve(np.concatenate(seen) if seen else np.zeros(0), problem.reach),
    )


def _portions(answers: Ragged) -> list[tuple[int, int]]:
    """Spans of queries with about `_ANSWERS` answers each."""
    cuts = np.searchsorted(answers.offsets, np.arange(0, answers.offsets[-1], _ANSWERS))
    return [(first, last) for first, last in pairwise([*np.unique(cuts).tolist(), answers.queries]) if first < last]


def _flat(answers: Ragged, first: int, last: int) -> tuple[Ints, Ints]:
    """The query of each answer, and its id."""
    offsets = answers.offsets[first : last + 1]
    numbers = np.repeat(np.arange(first, last, dtype=np.int64), np.diff(offsets))
    return numbers, answers.ids[offsets[0] : offsets[-1]].astype(np.int64)


def _valid(problem: Problem, numbers: Ints, ids: Ints) -> tuple[Ints, Bools, Ints]:
    """The base row of each answer, whether it is valid, and how many are not, each under its first INVALID_KINDS."""
    live = problem.live
    span = problem.base.shape[0] if live is None else int(live.ids[-1]) + 1 if len(live.ids) else 0
    given = np.ones(len(ids), dtype=np.bool_)
    in_range = (ids >= 0) & (ids < span)
    distinct = in_range & ~_repeated(numbers, ids)
    rows = np.where(distinct, ids, 0)
    alive = distinct.copy()
    if live is not None and len(live.ids):
        place = np.minimum(np.searchsorted(live.ids, rows), len(live.ids) - 1)
        alive &= live.ids[place] == rows
        rows = np.where(alive, live.rows[place], 0)
    passes = alive.copy()
    if problem.tags is not None and problem.query_tags is not None and problem.base.shape[0]:
        passes &= _hold(problem.tags, problem.query_tags, numbers, rows)
    stages = (given, in_range, distinct, alive, passes)
    lost = np.array([before.sum() - after.sum() for before, after in pairwise(stages)], dtype=np.int64)
    return rows, passes, lost


def _repeated(numbers: Ints, ids: Ints) -> Bools:
    """Which answers their query was given before."""
    order = np.lexsort((ids, numbers))  # stable: the first of several stays the first
    again = np.zeros(len(ids), dtype=np.bool_)
    ranked, asked = ids[order], numbers[order]
    again[order[1:]] = (ranked[1:] == ranked[:-1]) & (asked[1:] == asked[:-1])
    return again


def _hold(tags: CsrRef, query_tags: CsrRef, numbers: Ints, rows: Ints) -> Bools:
    """Which rows hold all the tags of the query beside them."""
    wanted = query_tags.open()
    holds = np.empty(len(rows), dtype=np.bool_)
    for start in range(0, len(rows), _ANSWERS // 16):
        part = slice(start, start + _ANSWERS // 16)
        holds[part] = holds_all(tags, held_csr(wanted[numbers[part]]), rows[part, None])[:, 0]
    return holds


def _curve(distances: npt.NDArray[np.float64], reach: float) -> npt.NDArray[np.int64]:
    """How many answers, and how many right ones, lie below each of CURVE thresholds: (2, CURVE), over all queries.

    The thresholds are those of big-ann-benchmarks: equally spaced from just below 0 (or the least distance, where that
    is less) to the greatest distance that was given.
    """
    if not len(distances):
        return np.zeros((2, CURVE), dtype=np.int64)
    ranked = np.sort(distances)
    thresholds = np.linspace(min(0.0, float(ranked[0])) - _BELOW, float(ranked[-1]), CURVE)
    below = np.searchsorted(ranked, thresholds)
    return np.stack([below, np.minimum(below, np.searchsorted(ranked, reach))]).astype(np.int64)
