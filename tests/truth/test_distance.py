from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from ann_bench.truth import distance as module
from ann_bench.truth.distance import pair_distances
from tests.truth.helpers import distance
from tests.truth.test_exact import DTYPES, METRICS, vectors


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    metric=st.sampled_from(METRICS),
    dtypes=st.tuples(st.sampled_from(DTYPES), st.sampled_from(DTYPES)),
    sizes=st.tuples(st.integers(1, 30), st.integers(0, 9), st.integers(1, 300), st.integers(0, 5)),
    sparse=st.booleans(),
)
def test_equals_the_plain_sum(seed, metric, dtypes, sizes, sparse):
    rng = np.random.default_rng(seed)
    rows, count, dim, m = sizes
    base, queries = vectors(rng, (rows, dim), dtypes[0], 127), vectors(rng, (count, dim), dtypes[1], 127)
    asked = rng.integers(-1, rows, (count, m))
    wanted = np.full((count, m), np.inf)
    for number, place in np.argwhere(asked >= 0):
        wanted[number, place] = distance(
            metric, queries[number].astype(np.float64), base[asked[number, place]].astype(np.float64)
        )
    if sparse:
        kept = ("float32", "float64", "int8", "int32", "uint8")
        base, queries = (csr_matrix(m if m.dtype.name in kept else m.astype(np.float32)) for m in (base, queries))
    found = pair_distances(metric, queries, base, asked)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-14 if metric == "angular" else 0)


@pytest.mark.parametrize("dtypes", [("uint8", "uint8"), ("int8", "int8"), ("uint8", "int8")])
@pytest.mark.parametrize("dim", [257, 259, 3000])
def test_extreme_integers_are_exact(dtypes, dim):
    queries = np.array([[np.iinfo(dtypes[0]).max] * dim, [np.iinfo(dtypes[0]).min] * dim], dtype=dtypes[0])
    base = np.array([[np.iinfo(dtypes[1]).max - 1] * dim, [np.iinfo(dtypes[1]).min] * dim], dtype=dtypes[1])
    rows = np.array([[0, 1], [0, 1]])
    wide, other = queries.astype(np.int64), base.astype(np.int64)
    products = wide @ other.T
    squares = ((wide[:, None] - other[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(pair_distances("ip", queries, base, rows), -products)
    np.testing.assert_array_equal(pair_distances("euclidean", queries, base, rows), squares)


def test_floats_are_as_good_as_fsum():
    rng = np.random.default_rng(1)
    base = (1e6 + rng.standard_normal((50, 333))).astype(np.float32)
    found = pair_distances("euclidean", base[:1], base, np.arange(50)[None])[0]
    for row in range(50):
        exact = math.fsum((float(a) - float(b)) ** 2 for a, b in zip(base[0], base[row], strict=True))
        assert found[row] == pytest.approx(exact, rel=1e-14)


def test_equal_rows_have_equal_distances_wherever_they_lie(monkeypatch):
    rng = np.random.default_rng(2)
    one = rng.standard_normal((1, 77)).astype(np.float32)
    base = np.repeat(one, 41, axis=0)
    query = rng.standard_normal((1, 77)).astype(np.float32)
    for chunk in (1, 77 * 3, 77 * 16, 1 << 17):
        monkeypatch.setattr(module, "_CHUNK_VALUES", chunk)
        for metric in METRICS:
            assert len(np.unique(pair_distances(metric, query, base, np.arange(41)[None]))) == 1


def test_a_zero_vector_has_angular_distance_one_to_everything():
    base = np.array([[0, 0], [3, 4]], dtype=np.float32)
    rows = np.array([[0, 1], [0, 1]])
    np.testing.assert_array_equal(pair_distances("angular", base, base, rows), [[1, 1], [1, 0]])
    np.testing.assert_array_equal(pair_distances("angular", csr_matrix(base), csr_matrix(base), rows), [[1, 1], [1, 0]])


def test_no_negative_zero():
    zero = np.zeros((1, 3), dtype=np.uint8)
    assert not np.signbit(pair_distances("ip", zero, zero, np.zeros((1, 1), dtype=int))).any()


@pytest.mark.parametrize("row", [-2, 4])
def test_a_row_outside_the_base_is_an_error(row):
    base = np.zeros((4, 3), dtype=np.uint8)
    with pytest.raises(IndexError, match="between -1 and 3"):
        pair_distances("ip", base, base, np.full((4, 1), row))


@pytest.mark.parametrize("metric", ["euclidean", "ip", "angular"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8", "int8", "float64"])
@pytest.mark.parametrize("chunk", [1, 900, 1 << 16])
def test_threads_and_chunks_change_no_bit(monkeypatch, metric, dtype, chunk):
    """Rows of -1 among others, one row for a query or more than a chunk holds, more threads than queries."""
    monkeypatch.setattr(module, "_CHUNK_VALUES", chunk)
    monkeypatch.setattr(module, "_SHARED_VALUES", 1)
    monkeypatch.setattr(module, "threads", lambda: 3)
    rng = np.random.default_rng(4)
    base, queries = (rng.normal(0, 40, (n, 37)).clip(0, 120).astype(dtype) for n in (50, 23))
    integers = dtype.endswith("int8")
    for count, width in ((23, 40), (23, 1), (1, 40), (23, 0), (2, 3)):
        rows = rng.integers(-1, 50, (count, width))
        found = pair_distances(metric, queries[:count], base, rows)
        wanted = np.full(rows.shape, np.inf)
        for number, place in zip(*np.nonzero(rows >= 0), strict=True):
            pair = queries[number : number + 1].astype(np.float64), base[rows[number, place]][None].astype(np.float64)
            wanted[number, place] = module.paired(metric, *pair, integers)[0]
        np.testing.assert_array_equal(found, wanted)
    assert (pair_distances(metric, queries, base[:0], np.full((23, 4), -1)) == np.inf).all()
