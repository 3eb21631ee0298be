"""Compiled loops against numpy: the same places, the same lists, the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ann_bench.truth import dense_kernels as kernels
from ann_bench.truth import distance
from ann_bench.truth.best import Best
from tests.truth.test_exact import METRICS

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-45, 3e38]


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    shape=st.tuples(st.integers(0, 5), st.one_of(st.integers(0, 70), st.integers(1000, 2100))),
    room=st.integers(0, 30),
    kind=st.sampled_from(["special", "ties", "rare", "integers"]),
)
def test_below_finds_what_a_comparison_finds(seed, shape, room, kind):
    rng = np.random.default_rng(seed)
    if kind == "integers":
        scores, limits = rng.integers(-(2**31), 2**31, shape).astype(np.int32), np.full(shape[0], -(2**31) + 2**24)
        limits = limits.astype(np.int32)
    else:
        values = {"special": SPECIAL, "ties": [0, 1, 2], "rare": [1.0] * 300 + [0.5]}[kind]
        scores = rng.choice(values, shape).astype(np.float32)
        limits = rng.choice(values, shape[0]).astype(np.float32)
    wanted = np.flatnonzero(scores < limits[:, None])
    places = np.full(room, -7)
    assert kernels.below(scores, limits, places) == len(wanted)
    np.testing.assert_array_equal(places[: len(wanted)], wanted[:room])
    assert (places[len(wanted) :] == -7).all()


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    metric=st.sampled_from(METRICS),
    dim=st.one_of(st.integers(0, 40), st.integers(100, 1100)),
    dtypes=st.tuples(*[st.sampled_from(["float32", "float64"])] * 2),
    special=st.booleans(),
)
@example(seed=1, metric="euclidean", dim=8193, dtypes=("float32", "float32"), special=False)
@example(seed=2, metric="angular", dim=20_000, dtypes=("float32", "float64"), special=False)
def test_distances_are_those_of_numpy_bit_by_bit(seed, metric, dim, dtypes, special):
    rng = np.random.default_rng(seed)
    queries, base = (rng.standard_normal((n, dim)).astype(dtype) for n, dtype in zip((4, 30), dtypes, strict=True))
    if special and dim:
        base[rng.integers(0, 30, 9), rng.integers(0, dim, 9)] = SPECIAL
    base[3:5] = 0
    left, right = rng.integers(0, 4, 37), rng.integers(0, 30, 37)
    with np.errstate(all="ignore"):
        wanted = distance.paired(metric, queries[left], base[right], False)
        found = distance.measured(metric, queries, base, (left, right))
    np.testing.assert_array_equal(found, wanted)
    if not special:
        np.testing.assert_array_equal(found.view(np.int64), wanted.view(np.int64))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", ">f4", "uint8"])
def test_pair_distances_are_the_same_when_there_are_many(monkeypatch, metric, dtype):
    rng = np.random.default_rng(3)
    queries, base = rng.integers(0, 100, (9, 33)).astype(dtype), rng.integers(0, 100, (50, 33)).astype(dtype)
    base.flags.writeable = False
    rows = rng.integers(-1, 50, (9, 7)).astype(np.int32)
    wanted = distance.pair_distances(metric, queries, base, rows)
    monkeypatch.setattr(distance, "_COMPILED_VALUES", 0)
    monkeypatch.setattr(distance, "_SHARED_VALUES", 0)
    monkeypatch.setattr(distance, "_CHUNK_VALUES", 20)
    np.testing.assert_array_equal(distance.pair_distances(metric, queries, base, rows), wanted)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32), k=st.integers(1, 6), counts=st.lists(st.integers(0, 25), max_size=4), ties=st.booleans()
)
def test_points_are_inserted_as_they_are_offered(seed, k, counts, ties):
    rng, lists, last = np.random.default_rng(seed), (Best(5, k), Best(5, k)), 0
    for count in counts:
        queries = np.sort(rng.integers(0, 5, count))
        points = last + np.arange(count)
        last += count
        distances = rng.integers(0, 3, count).astype(float) if ties else rng.standard_normal(count)
        lists[0].offer(queries, points, distances)
        lists[1].insert(queries, points, distances)
    np.testing.assert_array_equal(lists[0].points, lists[1].points)
    np.testing.assert_array_equal(lists[0].distances, lists[1].distances)
