"""Noise changes every query a little, whatever its type, and anybody can make it again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from ann_bench.judge.asked import Asked
from ann_bench.judge.noise import SHARE, Noise, Spread, key_of, spread_of, words

relaxed = settings(deadline=None, max_examples=80)
INTEGERS, FLOATS = ["uint8", "int8", "int32"], ["float16", "float32", "float64"]


@st.composite
def dense(draw, types=tuple(INTEGERS + FLOATS)):
    """Base and queries: any scale, values at the ends of the type among them, constant columns, single rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dtype = np.dtype(draw(st.sampled_from(types)))
    rows, queries, dim = draw(st.integers(1, 50)), draw(st.integers(1, 30)), draw(st.integers(1, 40))
    both = rng.standard_normal((rows + queries, dim)) * 10.0 ** draw(st.integers(-4, 4))
    both[:, rng.random(dim) < 0.2] = draw(st.sampled_from([0.0, 1.0, 100.0]))
    if dtype.kind in "iu":
        range_ = np.iinfo(dtype)
        both = np.clip(np.rint(both), range_.min, range_.max)
        both[rng.random(both.shape) < 0.1] = range_.max
        both[rng.random(both.shape) < 0.1] = range_.min
    elif draw(st.booleans()):
        both = np.rint(both)
    both = np.clip(both, *(np.finfo(dtype).min, np.finfo(dtype).max) if dtype.kind == "f" else (None, None))
    return both[:rows].astype(dtype), both[rows:].astype(dtype)


@st.composite
def sparse(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = draw(st.integers(1, 20)), draw(st.integers(1, 30))
    values = rng.standard_normal(shape) if draw(st.booleans()) else rng.integers(-2, 4, shape)
    dtype = draw(st.sampled_from(["float32", "float64"]))
    return csr_matrix(np.where(rng.random(shape) < 0.4, values, 0).astype(dtype))


def noisy(base, queries, numbers=None, key=7):
    numbers = np.arange(queries.shape[0]) if numbers is None else numbers
    return Asked(queries, None, Noise(key, spread_of(base, queries))).take(numbers)[0]


@relaxed
@given(dense())
def test_every_query_changes_a_little(case) -> None:
    base, queries = case
    kept = queries.copy()
    found = noisy(base, queries)
    assert found.dtype == queries.dtype
    np.testing.assert_array_equal(queries, kept)
    assert (found != queries).any(axis=1).all()
    assert np.isfinite(found.astype(np.float64)).all()
    moved = np.abs(found.astype(np.float64) - queries.astype(np.float64))
    spread = spread_of(base, queries)
    if spread.whole:
        assert moved.max() <= max(1.0, np.spacing(np.abs(queries).max()).astype(float))
    else:
        rounding = np.spacing(np.abs(queries) + np.finfo(queries.dtype).tiny).astype(np.float64)
        assert (moved <= spread.deviation * SHARE + rounding).all()


@relaxed
@given(dense(types=("uint8", "int8", "float32")), st.integers(0, 2**63))
def test_the_same_seed_makes_the_same_of_any_rows(case, key: int) -> None:
    base, queries = case
    whole = noisy(base, queries, key=key)
    numbers = np.random.default_rng(key).permutation(len(queries))[: max(1, len(queries) // 2)]
    np.testing.assert_array_equal(noisy(base, queries, numbers, key), whole[numbers])


@relaxed
@given(sparse(), st.integers(0, 2**63))
def test_sparse_queries_keep_their_places(queries: csr_matrix, key: int) -> None:
    found = noisy(queries, queries, key=key)
    np.testing.assert_array_equal(found.indptr, queries.indptr)
    np.testing.assert_array_equal(found.indices, queries.indices)
    assert (found.data != 0).all()
    full = np.diff(queries.indptr) > 0
    differs = np.array([(found[i] != queries[i]).nnz > 0 for i in range(queries.shape[0])])
    assert differs[full].all()
    limit = 1.0 if spread_of(queries, queries).whole else 0.005 * np.abs(queries.data) + 1e-6
    assert (np.abs(found.data - queries.data) <= limit).all()
    numbers = np.arange(queries.shape[0])[::2]
    np.testing.assert_array_equal(noisy(queries, queries, numbers, key).toarray(), found[numbers].toarray())


def test_noise_is_small_against_the_data_and_queries_of_another_size() -> None:
    rng = np.random.default_rng(1)
    base = rng.standard_normal((2000, 50)).astype(np.float32) * 100
    queries = rng.standard_normal((500, 50)).astype(np.float32)
    for asked, size in ((queries, 1.0), (queries * 1000, 100.0)):
        moved = noisy(base, asked) - asked
        assert 0.0003 * size < moved.std() < 0.002 * size
        assert abs(moved.mean()) < 0.1 * moved.std()


def test_whole_noise_takes_about_as_much() -> None:
    rng = np.random.default_rng(1)
    base = np.clip(rng.normal(0, 12, (2000, 200)), -127, 127).astype(np.int8)
    moved = noisy(base, base).astype(int) - base
    assert set(np.unique(moved)) == {-1, 0, 1}
    assert 0.07 < (moved != 0).mean() < 0.12
    assert abs(moved.mean()) < 0.01
    bits = rng.integers(0, 2, (500, 64)).astype(np.uint8)
    changed = np.abs(noisy(bits, bits).astype(int) - bits).sum(axis=1)
    assert changed.min() == 1
    assert changed.mean() < 1.1


def test_other_keys_make_other_noise() -> None:
    queries = np.random.default_rng(1).standard_normal((100, 20)).astype(np.float32)
    one, other = (noisy(queries, queries, key=key_of(5, variant, 0)) for variant in range(2))
    assert (one != other).any(axis=1).all()


def test_words_are_those_of_splitmix64() -> None:
    """The published first words for the seed 1234567: nobody's numpy changes them."""
    golden = 0x9E3779B97F4A7C15
    found = words((1234567 + golden) % 2**64, np.zeros(3, dtype=np.int64), np.arange(3))
    assert found.tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@pytest.mark.parametrize("dtype", FLOATS)
def test_data_without_any_spread(dtype: str) -> None:
    for value in (0.0, 1.5):
        queries = np.full((4, 3), value, dtype=dtype)
        assert (noisy(queries, queries) != queries).any(axis=1).all()


def test_nothing_to_change() -> None:
    empty = csr_matrix((3, 5), dtype=np.float32)
    assert noisy(empty, empty).nnz == 0
    spread = spread_of(np.zeros((4, 3), np.float32), np.zeros((0, 3), np.float32))
    assert spread == Spread(spread.deviation, whole=False)
    assert noisy(np.zeros((4, 3), np.float32), np.zeros((0, 3), np.float32)).shape == (0, 3)


def test_large_sets_go_in_blocks() -> None:
    queries = np.random.default_rng(1).integers(0, 256, (9000, 64), dtype=np.uint8)
    whole = noisy(queries, queries)
    last = np.arange(8990, 9000)
    np.testing.assert_array_equal(noisy(queries, queries, last), whole[last])
    assert (whole != queries).any(axis=1).all()
