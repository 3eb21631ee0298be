"""Many queries against dense rows: whole scores in tiles, and bytes scored in integers."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ann_bench.truth import dense, integers, scan, tiles
from ann_bench.truth import exact as module
from ann_bench.truth.exact import exact
from ann_bench.truth.model import Live, Problem
from tests.truth.helpers import save
from tests.truth.test_exact import METRICS, live_set, same, vectors

DTYPES = ["float32", "float16", "uint8", "int8"]
MANY = 10**9


@pytest.fixture(params=["tiles", "compiled", "cells", "integers off"])
def path(request, monkeypatch):
    """All queries in tiles (also by compiled loops), none of them, and tiles where bytes are scored as floats."""
    monkeypatch.setattr(dense, "FEWEST_QUERIES", MANY if request.param == "cells" else 1)
    monkeypatch.setattr(dense, "FEWEST_PAIRS", 0 if request.param == "compiled" else MANY)
    if request.param == "integers off":
        monkeypatch.setattr(dense, "scored_in_integers", lambda *of: False)
    return request.param


@pytest.fixture(params=["as it is", "tiny"])
def cut(request, monkeypatch):
    """Blocks of rows, tiles and lists of candidates so small that everything is cut."""
    if request.param == "tiny":
        monkeypatch.setattr(module, "_FEWEST_ROWS", 7)
        monkeypatch.setattr(module, "_BLOCK_BYTES", 1)
        monkeypatch.setattr(tiles, "SCORES", 20)
        monkeypatch.setattr(tiles, "WIDTH", 3)
        monkeypatch.setattr(tiles, "_ROOM", 2)
        monkeypatch.setattr(tiles, "_MOST_CANDIDATES", 3)
        monkeypatch.setattr(scan, "SCORES", 20)
        monkeypatch.setattr(scan, "CROWD", 0)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_duplicates_and_ties_across_blocks(tmp_path, path, cut, metric, dtype):
    rng = np.random.default_rng(1)
    for spread, k in ((0, 5), (1, 9), (30, 4), (127, 1), (2, 100)):  # all zero, almost all tied, few ties, k > rows
        base, queries = vectors(rng, (70, 6), dtype, spread), vectors(rng, (34, 6), dtype, spread)
        base[40:] = base[:30]
        base[5], queries[3] = 0, 0
        parts = save(tmp_path, base), save(tmp_path, queries)
        same(Problem(metric, k, *parts))
        same(Problem(metric, k, *parts, live=live_set(rng, 70)))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    metric=st.sampled_from(METRICS),
    dtype=st.sampled_from(DTYPES),
    sizes=st.tuples(st.integers(0, 300), st.integers(1, 40), st.integers(1, 80), st.integers(1, 12)),
    kind=st.tuples(st.booleans(), st.booleans(), st.sampled_from([0, 1, 3, 127]), st.booleans()),
)
def test_equals_brute_force_in_tiles(seed, metric, dtype, sizes, kind):
    rng = np.random.default_rng(seed)
    (rows, count, dim, k), (live, small, spread, compiled) = sizes, kind
    base, queries = vectors(rng, (rows, dim), dtype, spread), vectors(rng, (count, dim), dtype, spread)
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(dense, "FEWEST_QUERIES", 1)
        patch.setattr(dense, "FEWEST_PAIRS", 0 if compiled else MANY)
        if small:
            patch.setattr(module, "_BLOCK_BYTES", 1)
            patch.setattr(tiles, "SCORES", 100)
            patch.setattr(tiles, "WIDTH", 9)
        parts = save(Path(name), base), save(Path(name), queries)
        same(Problem(metric, k, *parts, live=live_set(rng, rows) if live and rows else None))


@pytest.mark.parametrize("metric", ["euclidean", "ip"])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("dim", [1, 63, 65, 259, 3_000, 20_000])
def test_extreme_bytes(tmp_path, path, metric, dtype, dim):
    """Every value at an end of its type, in sums that neither float32 nor, in the last case, int32 could hold."""
    rng = np.random.default_rng(2)
    ends = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype=dtype)
    base, queries = ends[rng.integers(0, 2, (40, dim))], ends[rng.integers(0, 2, (20, dim))]
    base[:3], queries[:2] = ends[0], ends[[0, 1]][:, None]
    base[3:5] = ends[1]
    same(Problem(metric, 6, save(tmp_path, base), save(tmp_path, queries)))


def test_what_integers_score():
    byte, signed, real = np.dtype("uint8"), np.dtype("int8"), np.dtype("float32")
    assert integers.scored_in_integers("euclidean", byte, byte, 200)
    assert integers.scored_in_integers("ip", signed, signed, 200)
    assert not integers.scored_in_integers("angular", byte, byte, 200)
    assert not integers.scored_in_integers("ip", byte, signed, 200)
    assert not integers.scored_in_integers("ip", real, real, 200)
    assert not integers.scored_in_integers("ip", byte, byte, 2**31 // (2 * 255**2) + 1)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("scales", [(-126, -126), (-126, 0), (0, -140), (-73, -73), (60, 60), (123, 123), (123, -126)])
def test_values_at_the_ends_of_float32(tmp_path, path, cut, metric, scales):
    rng = np.random.default_rng(3)
    base, queries = (
        np.ldexp(rng.integers(-9, 10, (n, 5)).astype(np.float32), scale)
        for n, scale in zip((200, 40), scales, strict=True)
    )
    same(Problem(metric, 6, save(tmp_path, base), save(tmp_path, queries)))


@pytest.mark.parametrize("metric", ["euclidean", "ip"])
def test_one_block_of_huge_values_among_ordinary_ones(tmp_path, monkeypatch, metric):
    """Blocks of one search may need float64 while others do not."""
    monkeypatch.setattr(module, "_BLOCK_BYTES", 1)
    rng = np.random.default_rng(4)
    base, queries = (rng.integers(-9, 10, (n, 4)).astype(np.float32) for n in (400, 40))
    base[100:150] *= np.float32(2.0**80)
    same(Problem(metric, 8, save(tmp_path, base), save(tmp_path, queries)))


@pytest.mark.parametrize("offset", [0, 1e4, 1e7])
def test_far_from_the_origin(tmp_path, path, offset):
    """Where float32 keeps no digit of a difference every row is a candidate: more than are held at once."""
    rng = np.random.default_rng(5)
    base, queries = ((offset + rng.integers(-50, 50, (n, 8))).astype(np.float32) for n in (9_000, 40))
    problem = Problem("euclidean", 10, save(tmp_path, base), save(tmp_path, queries))
    ids, distances = exact(problem)
    for number in range(0, 40, 9):
        every = ((base.astype(np.float64) - queries[number]) ** 2).sum(axis=1)
        order = np.lexsort((np.arange(len(every)), every))[:10]
        np.testing.assert_array_equal(ids[number], order)
        np.testing.assert_array_equal(distances[number], every[order])


@pytest.mark.parametrize("dtype", DTYPES)
def test_paths_agree_to_the_last_bit(tmp_path, monkeypatch, dtype):
    """Real-valued vectors, thousands of rows: whichever way they are found, ids and distances are the same."""
    rng = np.random.default_rng(6)
    base, queries = rng.normal(0, 60, (12_000, 48)).clip(0, 120), rng.normal(0, 60, (70, 48)).clip(0, 120)
    parts = save(tmp_path, base.astype(dtype)), save(tmp_path, queries.astype(dtype))
    live = Live(np.arange(0, 24_000, 2), rng.permutation(12_000))
    for metric in METRICS:
        for problem in (Problem(metric, 10, *parts), Problem(metric, 10, *parts, live=live)):
            answers = []
            for fewest in (1, MANY):
                monkeypatch.setattr(dense, "FEWEST_QUERIES", fewest)
                answers.append(exact(problem))
            np.testing.assert_array_equal(answers[0][0], answers[1][0])
            np.testing.assert_array_equal(answers[0][1], answers[1][1])


def test_importing_the_package_does_not_import_the_products():
    code = "import sys, ann_bench.cli; sys.exit('numkong' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_small_problems_do_not_load_the_compiler():
    code = """
import sys
import numpy as np
from pathlib import Path
from tests.truth.helpers import save
from ann_bench.truth.distance import pair_distances
from ann_bench.truth.exact import exact
from ann_bench.truth.model import Problem
rows = np.random.default_rng(0).standard_normal((2000, 8), dtype=np.float32)
exact(Problem("euclidean", 3, save(Path(sys.argv[1]), rows), save(Path(sys.argv[1]), rows[:100])))
pair_distances("ip", rows, rows, np.zeros((2000, 10), dtype=int))
sys.exit("numba" in sys.modules)
"""
    with tempfile.TemporaryDirectory() as name:
        assert subprocess.run([sys.executable, "-c", code, name], check=False).returncode == 0
