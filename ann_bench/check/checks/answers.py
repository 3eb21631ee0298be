"""Answers to searches over rows that went in at once."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ann_bench.check.case import Case, Vectors
from ann_bench.check.explore import seeds, smallest
from ann_bench.check.make import Asking, plain
from ann_bench.check.registry import Skip, Verdict, check
from ann_bench.check.rules import invalid, lost
from ann_bench.check.subject import Kind, Subject
from ann_bench.check.vectors import apart, blank, ordinary, picked

#: Queries of a case.
QUERIES = 6

#: Values at the ends of what float types hold, such that squared distances of them still fit into their type or
#: float32.
EXTREMES = {"float32": (1e15, -1e15, 1e-30, -1e-30), "float16": (6e4, -6e4, 6e-8, -6e-8)}


def rows(subject: Subject, kind: Kind, count: int, seed: int) -> Vectors:
    """Ordinary rows of a kind."""
    return ordinary(kind, count, seed, sparse=subject.features.sparse)


def asked_by(subject: Subject, kind: Kind, base: Vectors, seed: int) -> Vectors:
    """Queries: the first rows of the base themselves, then others."""
    count = min(QUERIES // 2, base.shape[0])
    others = rows(subject, kind, QUERIES, seed + 1000)
    if isinstance(base, np.ndarray):
        return np.concatenate([base[:count], others[count:]])
    return picked(others, list(range(QUERIES)))


def one_config(subject: Subject) -> st.SearchStrategy[Asking]:
    """Any of the entry's query configs, with any k."""
    return st.builds(
        lambda config, k: Asking([config], k), st.sampled_from(subject.configs), st.sampled_from([10, 1, 100])
    )


def kinds(subject: Subject) -> st.SearchStrategy[Kind]:
    """Any kind of vectors that the entry takes."""
    return st.sampled_from(subject.kinds)


@check("one-row")
def one_row(subject: Subject) -> Verdict:
    """A base of one row: the row is found, by one query config at least; k may be 1, 10 or 100."""

    def case(kind: Kind, seed: int, k: int) -> Case:
        base = apart(kind, 1, seed, sparse=subject.features.sparse)
        return plain(subject, kind, (base, base), Asking(subject.configs, k, wanted=[set()]))

    return smallest(subject, st.builds(case, kinds(subject), seeds, st.sampled_from([1, 10, 100])), lost)


@check("few-rows")
def few_rows(subject: Subject) -> Verdict:
    """Bases of 1 to 8 rows, k from 1 to 100: answers are valid, with -1 where there are no more rows."""

    def case(kind: Kind, seed: int, count: int, asking: Asking) -> Case:
        base = rows(subject, kind, count, seed)
        return plain(subject, kind, (base, asked_by(subject, kind, base, seed)), asking)

    return smallest(subject, st.builds(case, kinds(subject), seeds, st.integers(1, 8), one_config(subject)), invalid)


@check("finds")
def finds(subject: Subject) -> Verdict:
    """2 to 40 rows that lie far apart, each asked by itself with k = 1: the best query config finds both of two, and
    half of more.
    """

    def case(kind: Kind, seed: int, count: int) -> Case:
        base = apart(kind, count, seed, sparse=subject.features.sparse)
        return plain(subject, kind, (base, base), Asking(subject.configs, k=1))

    return smallest(subject, st.builds(case, kinds(subject), seeds, st.integers(2, 40)), lost)


@check("twins")
def twins(subject: Subject) -> Verdict:
    """Rows that are equal, up to all of them, and so ties: answers are valid, no id stands twice."""

    def case(kind: Kind, seed: int, copies: list[int], asking: Asking) -> Case:
        base = picked(rows(subject, kind, 1 + max(copies), seed), copies)
        return plain(subject, kind, (base, asked_by(subject, kind, base, seed)), asking)

    copies = st.lists(st.integers(0, 5), min_size=2, max_size=60)
    return smallest(subject, st.builds(case, kinds(subject), seeds, copies, one_config(subject)), invalid)


@check("zeros")
def zeros(subject: Subject) -> Verdict:
    """Rows and queries that are zero (sparse: without any term): answers are valid. Not by angle, which they have
    none.
    """

    fit = [kind for kind in subject.kinds if kind.metric != "angular"]
    if not fit:
        return Skip("the entry searches by angle only")

    def case(kind: Kind, seed: int, which: list[bool], asking: Asking) -> Case:
        base = blank(rows(subject, kind, len(which), seed), [row for row, zero in enumerate(which) if zero])
        queries = blank(asked_by(subject, kind, base, seed), [0, QUERIES - 1])
        return plain(subject, kind, (base, queries), asking)

    which = st.lists(st.booleans(), min_size=1, max_size=20)
    return smallest(subject, st.builds(case, st.sampled_from(fit), seeds, which, one_config(subject)), invalid)


@check("extremes")
def extremes(subject: Subject) -> Verdict:
    """The largest and smallest values of integer types and float16; float32 up to 1e15 and down to 1e-30: valid
    answers.
    """

    def case(kind: Kind, seed: int, places: list[tuple[int, int]], asking: Asking) -> Case:
        base = rows(subject, kind, 20, seed)
        values = _ends(kind)
        if isinstance(base, np.ndarray):
            base = base.copy()
            for row, value in places:
                base[row] = values[value % len(values)]
        else:
            base.data = base.data.copy()
            for row, value in places:
                base.data[base.indptr[row] : base.indptr[row + 1]] = abs(values[value % len(values)])
        return plain(subject, kind, (base, base[:QUERIES]), asking)

    places = st.lists(st.tuples(st.integers(0, 19), st.integers(0, 3)), min_size=1, max_size=20)
    return smallest(subject, st.builds(case, kinds(subject), seeds, places, one_config(subject)), invalid)


def _ends(kind: Kind) -> tuple[float, ...]:
    if kind.dtype in EXTREMES:
        return EXTREMES[kind.dtype]
    info = np.iinfo(kind.dtype)
    return tuple(value for value in (info.max, info.min) if value or kind.metric != "angular")


@check("large-k")
def large_k(subject: Subject) -> Verdict:
    """150 rows, k = 1, 100 and 200, several batches on one index: answers are valid."""

    def case(kind: Kind, seed: int, ks: list[int]) -> Case:
        base = rows(subject, kind, 150, seed)
        queries = asked_by(subject, kind, base, seed)
        first, *others = (plain(subject, kind, (base, queries), Asking(subject.configs[-1:], k)) for k in ks)
        return Case(first.data, (*first.steps, *(other.steps[-1] for other in others)))

    ks = st.lists(st.sampled_from([100, 1, 200]), min_size=1, max_size=3)
    return smallest(subject, st.builds(case, kinds(subject), seeds, ks), invalid)


@check("strides")
def strides(subject: Subject) -> Verdict:
    """Dense vectors that are read-only and have gaps between their values are found like any others."""

    if subject.features.sparse:
        return Skip("sparse rows have no gaps")
    if subject.entry.config.class_ is None:
        return Skip("a program reads vectors from files, which have no gaps")

    def case(kind: Kind, seed: int, count: int) -> Case:
        base = apart(kind, count, seed, sparse=False)
        return plain(subject, kind, (base, base), Asking(subject.configs, k=1), strided=True)

    return smallest(subject, st.builds(case, kinds(subject), seeds, st.integers(2, 40)), lost)
