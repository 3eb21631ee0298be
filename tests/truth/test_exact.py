from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from ann_bench.errors import DataError, StorageError, UsageError
from ann_bench.truth import dense, groups, postings, scan, tiles
from ann_bench.truth import exact as module
from ann_bench.truth.exact import exact
from ann_bench.truth.model import Live, Problem
from tests.truth.helpers import naive, save, save_any, save_bags

METRICS = ["euclidean", "ip", "angular"]
DTYPES = ["uint8", "int8", "float16", "float32", "float64", "int32"]


def vectors(rng: np.random.Generator, shape: tuple[int, int], dtype: str, spread: int) -> np.ndarray:
    """Few different values: many ties and twins."""
    low = 0 if dtype == "uint8" else -spread
    values = rng.integers(low, spread + 1, shape)
    return (values / 4 if dtype.startswith("float") else values).astype(dtype)


def bags(rng: np.random.Generator, rows: int, vocabulary: int, most: int) -> list[list[int]]:
    return [rng.integers(0, vocabulary, rng.integers(0, most + 1)).tolist() for _ in range(rows)]


def live_set(rng: np.random.Generator, rows: int) -> Live:
    count = int(rng.integers(0, rows + 1))
    ids = np.sort(rng.choice(3 * rows + 1, count, replace=False))
    return Live(ids.astype(np.int64), rng.integers(0, max(1, rows), count).astype(np.int64))


def same(problem: Problem, **options: object) -> None:
    ids, distances = exact(problem, **options)
    wanted_ids, wanted = naive(problem)
    assert ids.dtype == np.int32
    assert distances.dtype == np.float64
    assert ids.shape == distances.shape == wanted.shape
    if problem.metric != "angular":
        np.testing.assert_array_equal(distances, wanted)
        np.testing.assert_array_equal(ids, wanted_ids)
        return
    # Cosines that are equal on paper may differ in the last bit, so only the distances say what is right.
    np.testing.assert_allclose(distances, wanted, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(ids < 0, wanted_ids < 0)
    again = (distances[:, 1:] == distances[:, :-1]) & (ids[:, 1:] >= 0)
    assert (ids[:, 1:] > ids[:, :-1])[again].all()


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    metric=st.sampled_from(METRICS),
    dtypes=st.tuples(st.sampled_from(DTYPES), st.sampled_from(DTYPES)),
    sizes=st.tuples(st.integers(0, 70), st.integers(0, 12), st.integers(1, 9), st.integers(1, 15)),
    kind=st.tuples(st.booleans(), st.booleans(), st.booleans(), st.integers(1, 40)),
)
def test_equals_brute_force(seed, metric, dtypes, sizes, kind):
    rng = np.random.default_rng(seed)
    (rows, count, dim, k), (filtered, live, sparse, spread) = sizes, kind
    base, queries = vectors(rng, (rows, dim), dtypes[0], spread), vectors(rng, (count, dim), dtypes[1], spread)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tags = query_tags = None
        if filtered:
            tags = save_bags(folder, bags(rng, rows, 6, 8), 6)
            query_tags = save_bags(folder, bags(rng, count, 8, 4), 8)
        if sparse:
            kept = ["float32", "float64", "int8", "int32"]
            base, queries = (csr_matrix(m if m.dtype.name in kept else m.astype(np.float32)) for m in (base, queries))
        problem = Problem(
            metric, k, save_any(folder, base), save_any(folder, queries), tags, query_tags,
            live_set(rng, rows) if live and rows else None,
        )  # fmt: skip
        same(problem)


@pytest.fixture
def tiny_blocks(monkeypatch):
    """Sizes so small that every block, cell, portion and job is cut."""
    monkeypatch.setattr(module, "_FEWEST_ROWS", 5)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 1)
    monkeypatch.setattr(module, "_QUERIES", 3)
    monkeypatch.setattr(module, "_SHARED", 2)
    monkeypatch.setattr(scan, "SCORES", 17)
    monkeypatch.setattr(tiles, "SCORES", 17)
    monkeypatch.setattr(tiles, "_MOST_CANDIDATES", 3)
    monkeypatch.setattr(dense, "FEWEST_QUERIES", 2)
    monkeypatch.setattr(scan, "CROWD", 0)
    monkeypatch.setattr(groups, "_LOOKUPS", 9)
    monkeypatch.setattr(postings, "_BLOCK_ENTRIES", 7)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_equals_brute_force_in_tiny_blocks(tmp_path, tiny_blocks, metric, sparse, filtered, dtype):
    rng = np.random.default_rng(5)
    for spread in (0, 1, 30):
        base, queries = vectors(rng, (90, 6), dtype, spread), vectors(rng, (25, 6), dtype, spread)
        if sparse:
            base, queries = csr_matrix(base), csr_matrix(queries)
        tags = save_bags(tmp_path, bags(rng, 90, 5, 6), 5) if filtered else None
        query_tags = save_bags(tmp_path, bags(rng, 25, 5, 3), 5) if filtered else None
        parts = save_any(tmp_path, base), save_any(tmp_path, queries)
        same(Problem(metric, 4, *parts, tags, query_tags), memory_bytes=0, scratch=tmp_path)
        same(Problem(metric, 4, *parts, tags, query_tags, live_set(rng, 90)))


def test_marks_and_searches_find_the_same(tmp_path, monkeypatch):
    rng = np.random.default_rng(6)
    base, queries = vectors(rng, (200, 3), "uint8", 20), vectors(rng, (60, 3), "uint8", 20)
    tags, query_tags = save_bags(tmp_path, bags(rng, 200, 6, 6), 6), save_bags(tmp_path, bags(rng, 60, 6, 4), 6)
    problem = Problem("euclidean", 5, save(tmp_path, base), save(tmp_path, queries), tags, query_tags)
    for cost in (0, 10**9):
        monkeypatch.setattr(groups, "_SEARCH_COST", cost)
        same(problem)


@pytest.mark.parametrize("metric", METRICS)
def test_large_enough_for_thresholds_to_work(tmp_path, metric):
    """Thousands of rows: bounds from group minima, running thresholds, candidates, in both kinds of arithmetic."""
    rng = np.random.default_rng(7)
    for dtype, spread in (("uint8", 255), ("int8", 127), ("float32", 1000), ("uint8", 1)):
        base, queries = vectors(rng, (9_000, 40), dtype, spread), vectors(rng, (30, 40), dtype, spread)
        ids, distances = exact(Problem(metric, 7, save(tmp_path, base), save(tmp_path, queries)))
        for number in range(0, 30, 7):
            wide, query = base.astype(np.float64), queries[number].astype(np.float64)
            if metric == "euclidean":
                every = ((wide - query) ** 2).sum(axis=1)
            elif metric == "ip":
                every = -(wide @ query)
            else:
                lengths = np.sqrt((wide * wide).sum(axis=1) * (query @ query))
                every = 1 - np.divide(wide @ query, lengths, out=np.zeros(len(wide)), where=lengths > 0)
            order = np.lexsort((np.arange(len(every)), every))[:7]
            np.testing.assert_allclose(distances[number], every[order], rtol=1e-12, atol=1e-14)
            if metric != "angular":
                np.testing.assert_array_equal(ids[number], order)


@pytest.mark.parametrize("metric", ["euclidean", "ip"])
def test_integers_beyond_what_float32_holds(tmp_path, metric):
    """Sums near 6.5e7, distances that differ by 1: float32 keeps every fourth whole number there."""
    rng = np.random.default_rng(12)
    base, queries = ((255 - rng.integers(0, 2, (n, 1_000))).astype(np.uint8) for n in (400, 12))
    same(Problem(metric, 8, save(tmp_path, base), save(tmp_path, queries)))


@pytest.mark.parametrize("metric", ["euclidean", "angular"])
@pytest.mark.parametrize("offset", [1e4, 1e7])
@pytest.mark.parametrize("block", [1, 1 << 22])
def test_huge_offsets_do_not_cancel(tmp_path, monkeypatch, metric, offset, block):
    """|x|^2 - 2 q.x loses every digit in float32, and so does 1 - cosine; in one block, and from block to block."""
    monkeypatch.setattr(module, "_BLOCK_BYTES", block)
    rng = np.random.default_rng(8)
    base = (offset + rng.integers(-50, 50, (3_000, 16))).astype(np.float32)
    queries = (offset + rng.integers(-50, 50, (20, 16))).astype(np.float32)
    problem = Problem(metric, 10, save(tmp_path, base), save(tmp_path, queries))
    ids, distances = exact(problem)
    for number, query in enumerate(queries.astype(np.float64)):
        wide = base.astype(np.float64)
        if metric == "euclidean":
            every = ((wide - query) ** 2).sum(axis=1)
            np.testing.assert_array_equal(ids[number], np.lexsort((np.arange(3_000), every))[:10])
            np.testing.assert_array_equal(distances[number], np.sort(every)[:10])
        else:
            every = 1 - (wide @ query) / np.sqrt((wide * wide).sum(axis=1) * (query @ query))
            np.testing.assert_allclose(distances[number], np.sort(every)[:10], rtol=0, atol=2e-15)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("scales", [(-126, -126), (-126, 0), (0, -140), (-73, -73), (60, 60), (123, 123), (123, -126)])
def test_values_at_the_ends_of_float32(tmp_path, metric, scales):
    rng = np.random.default_rng(9)
    base, queries = (
        np.ldexp(rng.integers(-9, 10, (n, 5)).astype(np.float32), scale)
        for n, scale in zip((300, 9), scales, strict=True)
    )
    same(Problem(metric, 6, save(tmp_path, base), save(tmp_path, queries)))


@pytest.mark.parametrize("density", [0.02, 0.2])
def test_sparse_and_positive_with_few_terms_in_common(tmp_path, density):
    """Most inner products are 0: ties that must not all be measured, and go to the smaller ids."""
    rng = np.random.default_rng(11)
    base, queries = ((rng.integers(1, 9, (n, 30)) * (rng.random((n, 30)) < density) / 8) for n in (700, 40))
    both = (save_any(tmp_path, csr_matrix(m.astype(np.float32))) for m in (base, queries))
    same(Problem("ip", 15, *both))


def test_a_disk_that_cannot_hold_the_posting_lists(tmp_path, monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    base, tags = save(tmp_path, np.zeros((9, 3), "uint8")), save_bags(tmp_path, [[0]] * 9, 1)
    with pytest.raises(StorageError, match="No space left on device"):
        exact(Problem("ip", 1, base, base, tags, tags), memory_bytes=0, scratch=tmp_path)
    assert not list(tmp_path.glob("tmp*"))


def test_order_of_live_ids_decides_ties_not_the_order_of_rows(tmp_path):
    base, queries = np.zeros((5, 2), dtype=np.uint8), np.zeros((1, 2), dtype=np.uint8)
    live = Live(np.array([2, 3, 11]), np.array([4, 0, 2]))
    ids, _ = exact(Problem("euclidean", 4, save(tmp_path, base), save(tmp_path, queries), live=live))
    assert ids.tolist() == [[2, 3, 11, -1]]


def test_progress_reaches_the_end_and_never_goes_back(tmp_path):
    rng = np.random.default_rng(10)
    base, queries = vectors(rng, (500, 4), "uint8", 9), vectors(rng, (90, 4), "uint8", 9)
    tags, query_tags = save_bags(tmp_path, bags(rng, 500, 5, 4), 5), save_bags(tmp_path, bags(rng, 90, 5, 2), 5)
    told = []
    problem = Problem("ip", 3, save(tmp_path, base), save(tmp_path, queries), tags, query_tags)
    exact(problem, lambda task, done, total: told.append((done, total)))
    assert told[0] == (0, 90)
    assert told[-1] == (90, 90)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_an_error_in_a_thread_is_raised(tmp_path):
    def broken(task, done, total):
        if done:
            raise KeyboardInterrupt

    base = save(tmp_path, np.zeros((100, 3), dtype=np.uint8))
    with pytest.raises(KeyboardInterrupt):
        exact(Problem("ip", 3, base, base), broken)


def test_problems_that_make_no_sense(tmp_path):
    base, other = save(tmp_path, np.zeros((4, 3), "uint8")), save(tmp_path, np.zeros((4, 2), "uint8"))
    tags = save_bags(tmp_path, [[0]] * 3, 1)
    for error, match, problem in (
        (UsageError, "k must be at least 1", Problem("ip", 0, base, base)),
        (DataError, "3 dimensions, the queries have 2", Problem("ip", 1, base, other)),
        (DataError, "the base has none", Problem("ip", 1, base, base, None, tags)),
        (DataError, "the base has 4 vectors, its tags are for 3", Problem("ip", 1, base, base, tags, tags)),
        (DataError, "both be dense", Problem("ip", 1, base, tags)),
    ):
        with pytest.raises(error, match=match):
            exact(problem)
