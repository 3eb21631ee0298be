"""Range search against a brute force that anyone can read: every metric, every type, and the border itself."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from ann_bench.truth import within as module
from ann_bench.truth.distance import pair_distances
from ann_bench.truth.model import Live, Problem
from ann_bench.truth.within import TooManyError, within
from tests.truth.helpers import bag, save, save_any, save_bags

METRICS = ["euclidean", "ip", "angular"]
DTYPES = ["float32", "float16", "uint8", "int8", "float64"]


def naive_within(problem: Problem) -> list[list[tuple[float, int]]]:
    """All rows one by one, nearest first, by the definition that truth and scores share."""
    rows = problem.base.shape[0]
    live = problem.live or Live(np.arange(rows), np.arange(rows))
    queries = problem.queries.open()
    everything = np.tile(np.arange(rows), (queries.shape[0], 1))
    distances = pair_distances(problem.metric, queries, problem.base.open(), everything)
    found = []
    for number in range(queries.shape[0]):
        wanted = bag(problem.query_tags, number)
        pairs = [
            (float(distances[number, row]), point)
            for point, row in zip(live.ids.tolist(), live.rows.tolist(), strict=True)
            if wanted <= bag(problem.tags, row) and distances[number, row] < problem.reach
        ]
        found.append(sorted(pairs))
    return found


def same(problem: Problem) -> int:
    """Compare with the brute force; returns how many answers there are."""
    found, wanted = within(problem), naive_within(problem)
    assert found.found.counts.tolist() == [len(pairs) for pairs in wanted]
    assert found.found.ids.tolist() == [point for pairs in wanted for _, point in pairs]
    assert found.distances.tolist() == [distance for pairs in wanted for distance, _ in pairs]
    return len(found.distances)


def vectors(rng: np.random.Generator, shape: tuple[int, int], dtype: str, spread: int) -> np.ndarray:
    """Small whole numbers, so that distances repeat, or any floats (spread 0)."""
    if np.dtype(dtype).kind in "iu":
        low = 0 if dtype == "uint8" else -spread
        return rng.integers(low, spread + 1, shape).astype(dtype)
    values = rng.normal(size=shape) * 3 if not spread else rng.integers(-spread, spread + 1, shape)
    return values.astype(dtype)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    metric=st.sampled_from(METRICS),
    dtype=st.sampled_from(DTYPES),
    spread=st.sampled_from([0, 1, 3, 100]),
    border=st.booleans(),
    alive=st.booleans(),
    tagged=st.booleans(),
)
def test_against_brute_force(seed, metric, dtype, spread, border, alive, tagged):
    rng = np.random.default_rng(seed)
    rows, count, dim = int(rng.integers(1, 60)), int(rng.integers(1, 12)), int(rng.integers(1, 9))
    spread = spread or (5 if np.dtype(dtype).kind in "iu" else 0)
    base, queries = vectors(rng, (rows, dim), dtype, spread), vectors(rng, (count, dim), dtype, spread)
    queries[0] = base[0]
    if rng.random() < 0.3:
        base[-1], queries[-1] = 0, 0
    distances = pair_distances(metric, queries, base, np.tile(np.arange(rows), (count, 1))).ravel()
    reach = float(rng.choice(distances)) if border else float(rng.uniform(distances.min() - 1, distances.max() + 1))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        problem = Problem(
            metric, 10, save(place, base), save(place, queries), radius=-reach if metric == "ip" else reach
        )
        if alive:
            ids = np.sort(rng.choice(3 * rows, rows // 2, replace=False)).astype(np.int64)
            problem = replace(problem, live=Live(ids, rng.permutation(rows)[: rows // 2].astype(np.int64)))
        if tagged:
            own = [np.flatnonzero(line < 0.6).tolist() for line in rng.random((rows, 3))]
            asked = [np.flatnonzero(line < 0.4).tolist() for line in rng.random((count, 3))]
            problem = replace(problem, tags=save_bags(place, own, 3), query_tags=save_bags(place, asked, 3))
        same(problem)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks_cut_everywhere(tmp_path, monkeypatch, metric, dtype):
    rng = np.random.default_rng(3)
    base, queries = vectors(rng, (300, 5), dtype, 4), vectors(rng, (70, 5), dtype, 4)
    for name, value in {"_BLOCK_BYTES": 1, "_FEWEST_ROWS": 7, "_QUERIES": 3, "_SCORES": 10}.items():
        monkeypatch.setattr(module, name, value)
    for radius in (0.0, 1.0, 5.0, 0.5, -3.0):
        same(Problem(metric, 10, save(tmp_path, base), save(tmp_path, queries), radius=radius))


def test_the_border_is_outside(tmp_path):
    base = np.arange(10, dtype=np.float32)[:, None]
    problem = Problem("euclidean", 1, save(tmp_path, base), save(tmp_path, base[:1]), radius=9.0)
    assert within(problem).found.ids.tolist() == [0, 1, 2]
    assert within(replace(problem, radius=float(np.nextafter(9.0, 10)))).found.ids.tolist() == [0, 1, 2, 3]
    ones = Problem("ip", 1, save(tmp_path, base), save(tmp_path, base[1:2]), radius=7.0)
    assert within(ones).found.ids.tolist() == [9, 8]
    assert within(replace(ones, radius=float(np.nextafter(7.0, 6)))).found.ids.tolist() == [9, 8, 7]


@pytest.mark.parametrize("metric", METRICS)
def test_nothing_and_everything(tmp_path, metric):
    rng = np.random.default_rng(5)
    base, queries = rng.normal(size=(200, 6)).astype(np.float32), rng.normal(size=(30, 6)).astype(np.float32)
    problem = Problem(metric, 1, save(tmp_path, base), save(tmp_path, queries))
    nothing, everything = (1e9, -1e9) if metric == "ip" else (0.0, 1e9)
    assert same(replace(problem, radius=nothing)) == 0
    assert same(replace(problem, radius=everything)) == 200 * 30
    for radius in (1e300, -1e300):
        same(replace(problem, radius=radius))


def test_far_from_the_origin_and_near_each_other(tmp_path):
    """Where float32 scores say nothing, the exact distance of every row does."""
    rng = np.random.default_rng(6)
    base = (5000 + rng.normal(size=(200, 8))).astype(np.float32)
    assert same(Problem("euclidean", 1, save(tmp_path, base), save(tmp_path, base[:20]), radius=12.0)) > 20


def test_lengths_that_float32_cannot_square(tmp_path):
    rng = np.random.default_rng(7)
    for scale in (1e25, 1e-25):
        base = (rng.normal(size=(60, 4)) * scale).astype(np.float32)
        for metric, radius in (("euclidean", 3 * scale**2), ("angular", 0.7), ("ip", 0.5 * scale**2)):
            same(Problem(metric, 1, save(tmp_path, base), save(tmp_path, base[:9]), radius=radius))


@pytest.mark.parametrize("metric", METRICS)
def test_sparse_rows(tmp_path, metric):
    rng = np.random.default_rng(8)
    dense = np.where(rng.random((120, 15)) < 0.3, rng.random((120, 15)), 0).astype(np.float32)
    dense[7] = 0
    base, queries = csr_matrix(dense), csr_matrix(dense[:11])
    for radius in (0.2, 0.9, 1.5):
        same(Problem(metric, 1, save_any(tmp_path, base), save_any(tmp_path, queries), radius=radius))


def test_no_room_is_said_unless_it_is_one_query(tmp_path):
    base = np.zeros((500, 3), dtype=np.uint8)
    problem = Problem("euclidean", 1, save(tmp_path, base), save(tmp_path, base[:2]), radius=1.0)
    with pytest.raises(TooManyError):
        within(problem, most=999)
    assert len(within(problem, most=1000).distances) == 1000
    assert len(within(replace(problem, queries=problem.queries.part(0, 1)), most=10).distances) == 500
