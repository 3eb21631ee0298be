"""What answers have to be. Whether they are valid, and how near they are, is the judge's own verdict."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ann_bench.check.bench import Trace
from ann_bench.check.case import Case
from ann_bench.judge.scores import score
from ann_bench.judge.scoring import validate
from ann_bench.ragged import Ragged
from ann_bench.results.model import Answers
from ann_bench.truth.distance import pair_distances
from ann_bench.truth.exact import exact
from ann_bench.truth.model import Problem, Truth
from ann_bench.truth.within import within

KINDS = {
    "out_of_range": "an id that no row has",
    "duplicate": "an id twice",
    "not_live": "an id that is not live",
    "fails_filter": "a row that lacks a tag of its query",
}

#: Answers of an index that was saved and loaded, or built twice, are as far as before up to rounding.
SAME = 1e-4


def failed(case: Case, trace: Trace) -> str:
    """How a case failed before it had all its answers; "" where it has them."""
    if trace.failure is None:
        return ""
    return f"{trace.failure.status.value}: {trace.failure.detail}"


def invalid(case: Case, trace: Trace) -> str:
    """What is wrong with the answers, in one line; "" where all are valid, if not right."""
    if text := failed(case, trace):
        return text
    for number, (problem, answers) in enumerate(zip(case.problems, trace.answers, strict=True), start=1):
        text = _ranges(problem, answers) if isinstance(answers, Ragged) else _nearest(problem, answers)
        if text:
            return f"search {number}: {text}"
    return ""


def _nearest(problem: Problem, ids: npt.NDArray[np.int32]) -> str:
    verdict = validate(problem, ids)
    for query in np.flatnonzero(((ids != -1) & ~verdict.valid).any(axis=1)).tolist()[:1]:
        kinds = " and ".join(KINDS[kind] for kind, count in verdict.invalid.items() if count)
        return f"query {query} was answered {_shown(ids[query])}: {kinds}"
    gaps = (ids[:, :-1] == -1) & (ids[:, 1:] != -1)
    for query in np.flatnonzero(gaps.any(axis=1)).tolist()[:1]:
        return f"query {query} was answered {_shown(ids[query])}: -1 may only stand at the end"
    return ""


def _ranges(problem: Problem, answers: Ragged) -> str:
    counted = score(problem, within(problem).truth(""), answers).invalid
    kinds = " and ".join(KINDS[kind] for kind, count in counted.items() if count)
    return f"range_query() returned {kinds}" if kinds else ""


def _shown(ids: npt.NDArray[np.int32]) -> str:
    shown = ", ".join("no id at all" if one == -2 else str(one) for one in ids.tolist()[:12])
    return f"[{shown}{', ...' if len(ids) > 12 else ''}]"


def found(problem: Problem, answers: Answers) -> float:
    """The share of the queries that have an answer as near as the nearest row; 1 where no query has any."""
    if isinstance(answers, Ragged):
        counted = score(problem, within(problem).truth(""), answers)
        return _share(int(counted.hits.sum()), int(counted.possible.sum()))
    nearest = Problem(problem.metric, 1, problem.base, problem.queries, problem.tags, problem.query_tags, problem.live)
    counted = score(nearest, Truth(*exact(nearest), key=""), answers)
    return _share(int(counted.hits.sum()), int(counted.possible.sum()))


def _share(hits: int, possible: int) -> float:
    return hits / possible if possible else 1.0


def least_found(queries: int) -> float:
    """What may be asked of an approximate index on rows that lie far apart: all of two queries, else half of them."""
    return 1.0 if queries <= 2 else math.floor(queries / 2) / queries


def lost(case: Case, trace: Trace, last: int | None = None) -> str:
    """Invalid answers, or rows that no query config finds although they were asked by themselves; "" where neither.

    `last`: only the last so many searches ask for the same with different configs; by default, all.
    """
    if text := invalid(case, trace):
        return text
    asked = list(zip(case.problems, trace.answers, strict=True))
    asked = asked if last is None else asked[-last:]
    best, (problem, _) = max(found(*one) for one in asked), asked[-1]
    count = problem.queries.shape[0]
    if best >= least_found(count):
        return ""
    return (
        f"{best * count:.0f} of {count} rows were found that were asked by themselves, with the best query config "
        f"(answered {_shown(np.asarray(asked[-1][1])[0])} for query 0)"
    )


def differing(problem: Problem, one: Answers, other: Answers) -> str:
    """How two answers to the same queries differ in their distances; "" where they do not. Ties may differ in id."""
    if isinstance(one, Ragged) or isinstance(other, Ragged):
        raise TypeError("only answers of equal length are compared")
    first, second = (_distances(problem, ids) for ids in (one, other))
    for query in range(len(first)):
        if not np.allclose(first[query], second[query], rtol=SAME, atol=SAME, equal_nan=True):
            return f"query {query} was answered {_shown(one[query])}, then {_shown(other[query])}"
    return ""


def _distances(problem: Problem, ids: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    verdict = validate(problem, ids)
    rows = np.where(verdict.valid, verdict.rows, -1)
    return np.sort(pair_distances(problem.metric, problem.queries.open(), problem.base.open(), rows), axis=1)
