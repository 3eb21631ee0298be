"""The parts of the kit by themselves: vectors, verdicts, scripts."""

from __future__ import annotations

import base64
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.sparse import csr_matrix

from ann_bench.check.bench import Trace
from ann_bench.check.case import Case, Data
from ann_bench.check.checks.first import DTYPES, METRICS
from ann_bench.check.rules import differing, found, invalid, least_found
from ann_bench.check.snippet import _array
from ann_bench.check.subject import Kind
from ann_bench.check.vectors import NOWHERE, TAGS, apart, bags, blank, ordinary, picked, some_bags
from ann_bench.truth.exact import exact
from ann_bench.workload import Build, Delete, Insert, Search

seeds = st.integers(0, 999)
dense = st.builds(Kind, st.sampled_from(METRICS), st.sampled_from(DTYPES), st.sampled_from([16, 64, 384]))


def case_of(kind: Kind, base, queries, k: int, tags=None, asked=None) -> Case:
    data = Data(kind.metric, base, queries, tags, asked)
    return Case(data, (Build(range(base.shape[0])), Search(queries.shape[0], k, tags is not None)))


def traced(*answers) -> Trace:
    return Trace([np.asarray(ids, np.int32) for ids in answers])


@settings(max_examples=15)
@given(dense, seeds, st.integers(1, 40))
def test_rows_that_lie_apart_are_their_own_nearest(kind: Kind, seed: int, count: int) -> None:
    base = apart(kind, count, seed, sparse=False)
    assert base.dtype == kind.dtype
    ids, _ = exact(case_of(kind, base, base, 1).problems[0])
    assert ids[:, 0].tolist() == list(range(count))


@settings(max_examples=10)
@given(seeds, st.integers(1, 40))
def test_sparse_rows_that_lie_apart_are_their_own_nearest(seed: int, count: int) -> None:
    kind = Kind("ip", "float32", 40)
    base = apart(kind, count, seed, sparse=True)
    problem = case_of(kind, base, base, 1).problems[0]
    assert found(problem, np.arange(count, dtype=np.int32)[:, None]) == 1.0


@settings(max_examples=30)
@given(dense, seeds, st.integers(1, 40), st.booleans())
def test_ordinary_rows_are_what_data_sets_may_hold(kind: Kind, seed: int, count: int, sparse: bool) -> None:
    kind = Kind("ip", "float32", kind.dim) if sparse else kind
    rows = ordinary(kind, count, seed, sparse=sparse)
    assert rows.shape == (count, kind.dim)
    if sparse:
        assert rows.has_canonical_format
        assert np.diff(rows.indptr).min() > 0
    else:
        assert (rows != 0).any(axis=1).all()
    again = ordinary(kind, count, seed, sparse=sparse)
    assert (rows != again).sum() == 0


@given(seeds, st.lists(st.booleans(), min_size=1, max_size=20), st.booleans())
def test_some_rows_become_zero_and_no_others(seed: int, which: list[bool], sparse: bool) -> None:
    rows = ordinary(Kind("ip", "float32", 40), len(which), seed, sparse=sparse)
    made = blank(rows, np.flatnonzero(which).tolist())
    wide = [one.toarray() if sparse else one for one in (rows, made)]
    assert (wide[1][which] == 0).all()
    keep = ~np.array(which)
    assert (wide[1][keep] == wide[0][keep]).all()
    assert picked(made, [0, 0]).shape == (2, 40)


@settings(max_examples=25)
@given(seeds, st.integers(1, 30), st.sampled_from([1, 5, 40]), st.data())
def test_exact_answers_are_valid_and_what_is_broken_in_them_is_seen(seed, count, k, data) -> None:
    kind = Kind("euclidean", "float32", 16)
    base = ordinary(kind, count, seed, sparse=False)
    tags, asked = bags(some_bags(count, seed)), bags([{0}, set(), {NOWHERE}, {1, 2}])
    queries = ordinary(kind, 4, seed + 1, sparse=False)
    case = case_of(kind, base, queries, k, tags, asked)
    ids, _ = exact(case.problems[0])
    assert invalid(case, traced(ids)) == ""
    wrong = ids.copy()
    row, place = data.draw(st.integers(0, 3)), data.draw(st.integers(0, k - 1))
    kinds = {"an id that no row has": count, "-1 may only stand at the end": -1, "an id twice": ids[row, 0]}
    said, value = data.draw(st.sampled_from(sorted(kinds.items())))
    wrong[row, place] = value
    real = int((ids[row] >= 0).sum())
    if value == -1:
        seen = place < real - 1
    elif value == count:
        seen = True
    else:
        seen = value >= 0 and 0 < place <= real
    if seen:
        assert said in invalid(case, traced(wrong))
    wrong = ids.copy()
    wrong[2, 0] = 0
    assert "lacks a tag" in invalid(case, traced(wrong))


def test_ids_that_are_not_live() -> None:
    kind = Kind("euclidean", "float32", 16)
    base = apart(kind, 4, 0, sparse=False)
    steps = (Insert(range(4), range(4)), Delete(range(2)), Search(1, 2))
    case = Case(Data("euclidean", base, base[:1]), steps)
    assert invalid(case, traced([[2, 3]])) == ""
    assert "an id that is not live" in invalid(case, traced([[1, 2]]))
    assert "no id at all" in invalid(case, traced([[-2, 3]]))


def test_what_is_asked_of_few_and_of_many() -> None:
    assert [least_found(count) for count in (1, 2, 3, 4, 5, 40)] == [1.0, 1.0, 1 / 3, 0.5, 0.4, 0.5]


def test_ties_may_change_places_and_nothing_else() -> None:
    base = np.array([[0, 0], [0, 0], [1, 0], [5, 0]], np.float32)
    problem = case_of(Kind("euclidean", "float32", 2), base, base[:1], 2).problems[0]
    ids = [np.array([one], np.int32) for one in ([0, 1], [1, 0], [0, 2], [0, -1])]
    assert differing(problem, ids[0], ids[1]) == ""
    assert "was answered [0, 1], then [0, 2]" in differing(problem, ids[0], ids[2])
    assert differing(problem, ids[0], ids[3])


def evaluated(name: str, value):
    known = {"np": np, "csr_matrix": csr_matrix, "base64": base64, "zlib": zlib}
    exec("\n".join(_array(name, value)), known)
    return known[name]


@given(
    st.sampled_from(["float32", "float16", "uint8", "int8", "float64"]).flatmap(
        lambda dtype: arrays(
            dtype,
            array_shapes(min_dims=2, max_dims=2, max_side=60),
            elements={"allow_nan": False, "allow_infinity": False} if dtype[0] == "f" else None,
        )
    )
)
def test_an_array_in_a_script_is_the_array(array) -> None:
    again = evaluated("rows", array)
    assert again.dtype == array.dtype
    assert again.shape == array.shape
    np.testing.assert_array_equal(again, array)


@settings(max_examples=10)
@given(seeds, st.integers(1, 400))
def test_a_sparse_matrix_in_a_script_is_the_matrix(seed: int, count: int) -> None:
    rows = ordinary(Kind("ip", "float32", 40), count, seed, sparse=True)
    again = evaluated("rows", rows)
    assert (again != rows).nnz == 0
    assert again.indices.dtype == np.int32


@pytest.mark.parametrize("sets", [[set()], [set(), {0, NOWHERE}]])
def test_bags_may_be_empty(sets) -> None:
    made = bags(sets)
    assert made.shape == (len(sets), TAGS)
    assert [set(row.indices.tolist()) for row in made] == sets
