"""Searches within a radius, where the entry has them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ann_bench.check.bench import Trace
from ann_bench.check.case import Case, Vectors
from ann_bench.check.checks.answers import asked_by, kinds, one_config, rows
from ann_bench.check.explore import seeds, smallest
from ann_bench.check.make import Asking, plain
from ann_bench.check.registry import Skip, Verdict, check
from ann_bench.check.rules import invalid, lost
from ann_bench.check.subject import Kind, Subject
from ann_bench.check.vectors import apart
from ann_bench.judge.scores import score
from ann_bench.ragged import Ragged
from ann_bench.truth.within import within

NEEDS = {"range_query": "search by radius"}


def _refused(subject: Subject) -> bool:
    """Whether the entry has no range_query()."""
    base = apart(subject.kind, 4, 0, sparse=subject.features.sparse)
    asking = Asking(subject.configs[:1], radius=_radius(subject.kind, base))
    failure = subject.bench.run(plain(subject, subject.kind, (base, base), asking), NEEDS).failure
    return failure is not None and "NotImplementedError" in failure.detail


def _radius(kind: Kind, base: Vectors) -> float:
    """A radius around a row that lies far from others, within which it lies alone."""
    if kind.metric == "ip":
        row = base[0].toarray() if not isinstance(base, np.ndarray) else base[:1]
        return float((row.astype(np.float64) ** 2).sum()) * 0.99
    return 1.0 if kind.metric == "euclidean" else 0.3 / kind.dim


def _beyond(case: Case, trace: Trace) -> str:
    """Rows not found, or more answers from beyond the radius than from within."""
    if text := lost(case, trace):
        return text
    for number, (problem, answers) in enumerate(zip(case.problems, trace.answers, strict=True), start=1):
        if isinstance(answers, Ragged):
            counted = score(problem, within(problem).truth(""), answers)
            right, given = int(counted.hits.sum()), len(answers.ids)
            if given > 2 * right:
                return f"search {number}: {given - right} of {given} answers lie beyond the radius {problem.radius:g}"
    return ""


@check("range")
def ranges(subject: Subject) -> Verdict:
    """range_query(): ids are valid for any radius; of rows that lie alone within it, half are found, and half of what
    is returned lies within it.
    """

    if _refused(subject):
        return Skip("it has no range_query()")

    def alone(kind: Kind, seed: int, count: int) -> Case:
        base = apart(kind, count, seed, sparse=subject.features.sparse)
        return plain(subject, kind, (base, base), Asking(subject.configs, radius=_radius(kind, base)))

    def anything(kind: Kind, seed: int, count: int, radius: float, asking: Asking) -> Case:
        base = rows(subject, kind, count, seed)
        queries = asked_by(subject, kind, base, seed)
        return plain(subject, kind, (base, queries), Asking(asking.configs, radius=radius))

    radii = st.sampled_from([100.0, 0.0, 0.5, 2.0, 1e6])
    first = smallest(subject, st.builds(alone, kinds(subject), seeds, st.integers(1, 30)), _beyond)
    drawn = st.builds(anything, kinds(subject), seeds, st.integers(1, 40), radii, one_config(subject))
    return first or smallest(subject, drawn, invalid)
