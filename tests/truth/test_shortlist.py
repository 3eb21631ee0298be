"""All the searches of a workload from one scan: equal to one group after the other, bounded, and stopped when asked."""

from __future__ import annotations

import _thread
import threading
import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from ann_bench.arrays import Held
from ann_bench.errors import UsageError
from ann_bench.truth import compute, dense, shortlist, sweep, way
from ann_bench.truth.compute import passes
from ann_bench.truth.lives import Lifetime, lifetimes, whole
from ann_bench.truth.model import Problem
from ann_bench.truth.problems import Searches
from ann_bench.truth.store import truths_for
from ann_bench.truth.timeline import levels, walk
from tests.truth.helpers import naive, save, save_csr, use_always

KINDS = [("float32", "euclidean"), ("float32", "ip"), ("float32", "angular"), ("float16", "ip"), ("uint8", "euclidean"),
         ("int8", "euclidean"), ("int8", "ip")]  # fmt: skip


@pytest.fixture
def always(monkeypatch):
    """No problem is too small for the one scan."""
    use_always(monkeypatch)


def counting(patch: pytest.MonkeyPatch) -> list[int]:
    """How many queries each block leaves without a shortlist from now on."""
    found: list[int] = []
    real = compute.shortlists

    def counted(task, chosen):
        made, rest = real(task, chosen)
        found.append(len(rest))
        return made, rest

    patch.setattr(compute, "shortlists", counted)
    return found


def windows(rng: np.random.Generator, rows: int, count: int) -> list[np.ndarray]:
    """Live sets: two runs each, ids that stand for other rows, some empty."""
    found = []
    for _ in range(count):
        (first, last), shift = sorted(rng.integers(0, rows + 1, 2).tolist()), int(rng.integers(0, 3))
        middle = (first + last) // 2
        runs = [(first, first, middle - first), (middle + 1, middle - min(shift, middle), last - middle)]
        found.append(np.array([run for run in runs if run[2] > 0], dtype=np.int64).reshape(-1, 3))
    return found


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(KINDS),
    k=st.sampled_from([1, 3, 32]),
    values=st.sampled_from(["few", "many", "far", "twins"]),
    size=st.sampled_from([1, 7, 1 << 20]),
)
def test_equal_to_one_group_after_the_other(tmp_path_factory, seed, kind, k, values, size):
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(seed)
    rows, asked = int(rng.integers(1, 90)), int(rng.integers(1, 9))
    base, queries = (made(rng, n, values, kind[0]) for n in (rows, asked))
    problem = Problem(kind[1], k, save(folder, base), save(folder, queries))
    lives = [*windows(rng, rows, 7), whole(rows)]
    searches = Searches([problem], [0] * 8, lives)
    with pytest.MonkeyPatch.context() as patch:
        use_always(patch)
        for module, name in ((way, "_PORTION"), (sweep, "SCORES"), (shortlist, "_GATHERED"), (dense, "_BLOCK_SCORES")):
            patch.setattr(module, name, size)
        patch.setattr(dense, "_BLOCK_SCORES_OF_BYTES", size)
        patch.setattr(dense, "_FEWEST_ROWS", min(size, 1 << 10))
        left = counting(patch)
        found = truths_for(searches, folder / "once")
    assert len(left) == 1
    if values == "many" and kind[0] == "float32":
        assert left == [0]
    for truth, other in zip(found, truths_for(searches, folder / "groups"), strict=True):
        np.testing.assert_array_equal(truth.ids, other.ids)
        np.testing.assert_array_equal(truth.distances, other.distances)
    if values == "few" and kind[1] != "angular":
        for truth, one in zip(found, searches, strict=True):
            ids, distances = naive(one)
            np.testing.assert_array_equal(truth.ids, ids)
            np.testing.assert_array_equal(truth.distances, distances)


def made(rng: np.random.Generator, rows: int, values: str, dtype: str) -> np.ndarray:
    if values == "few":
        return rng.integers(0, 3, (rows, 3)).astype(dtype)
    least, most, away = {"uint8": (0, 200, 50), "int8": (-120, 100, 25)}.get(dtype, (0, 0, 2000))
    wide = rng.integers(least, most, (rows, 12)) if most else rng.normal(size=(rows, 12))
    if values == "far":  # rounding hides what is near
        wide = wide + away
    if values == "twins":
        wide[rng.integers(0, rows, rows // 2)] = wide[0]
    return wide.astype(dtype)


def stream(folder, rows: int, asked: int, searches: int, twins: int = 0) -> Searches:
    """A window that slides over the rows. Many twins, which only the first queries are near to, lie in the middle."""
    rng = np.random.default_rng(5)
    base, queries = (rng.normal(size=(n, 8)).astype(np.float32) for n in (rows, asked))
    if twins:
        base[rows // 2 : rows // 2 + twins] = base[rows // 2] + 20
        queries[:3] += 20
    problem = Problem("euclidean", 10, save(folder, base), save(folder, queries))
    step = rows // (searches + 1)
    lives = [np.array([(step * i, step * i, 2 * step)], dtype=np.int64) for i in range(searches)]
    return Searches([problem], [0] * searches, lives)


def test_only_queries_among_twins_are_asked_again(tmp_path, monkeypatch, always):
    searches = stream(tmp_path, 900, 40, 10, twins=60)
    left, told = counting(monkeypatch), []
    found = truths_for(searches, tmp_path / "once", lambda task, done, total: told.append((task, done)))
    assert left == [3]
    progress = [done for task, done in told if task == "exact answers"]
    assert progress == sorted(progress)
    assert progress[-1] == 40
    assert "near ties" in dict(told)
    for truth, problem in zip(found, searches, strict=True):
        ids, _ = naive(problem)
        np.testing.assert_array_equal(truth.ids, ids)


def test_data_that_scores_tell_nothing_of_are_scanned_in_vain_once(tmp_path, monkeypatch, always):
    searches = stream(tmp_path, 300, 30, 10)
    same = Held.of(np.ones((300, 8), dtype=np.float32))
    kinds = [replace(searches.kinds[0], base=same)]
    (one,) = passes(Searches(kinds, searches.kind_of, searches.lives))
    left = counting(monkeypatch)
    means = compute.Means(compute.DEFAULT_MEMORY, tmp_path)
    for first in (0, 15):
        for top in one.block(first, first + 15, means, lambda *args: None):
            assert (np.diff(top.ids, axis=1) == 1).all()
    assert left == [15]


def test_where_there_are_no_scores_in_float32(tmp_path, monkeypatch, always):
    searches = stream(tmp_path, 300, 30, 10)
    large = Held.of(searches.kinds[0].base.open() * np.float32(1e18))
    (one,) = passes(Searches([replace(searches.kinds[0], base=large)], searches.kind_of, searches.lives))
    left = counting(monkeypatch)
    means = compute.Means(compute.DEFAULT_MEMORY, tmp_path)
    tops = list(one.block(0, 30, means, lambda *args: None))
    assert left == [30]
    ids, _ = naive(replace(searches[4], base=large))
    np.testing.assert_array_equal(tops[4].ids, ids)


@pytest.mark.parametrize("stops", ["interrupt", "error"])
def test_stopped_in_the_middle(tmp_path, monkeypatch, always, stops):
    searches = stream(tmp_path, 4000, 40, 10)
    monkeypatch.setattr(compute, "_QUERIES", (20, 20))
    monkeypatch.setattr(dense, "_BLOCK_SCORES", 1)
    monkeypatch.setattr(dense, "_FEWEST_ROWS", 10)
    before, calls = threading.active_count(), 0

    def stop(task: str, done: int, total: int | None) -> None:
        nonlocal calls
        calls += task == "exact answers" and done > 25
        if calls == 1 and stops == "interrupt":
            _thread.interrupt_main()
        elif calls == 1:
            raise UsageError("that will do")

    with pytest.raises(KeyboardInterrupt if stops == "interrupt" else UsageError):
        truths_for(searches, tmp_path / "cache", stop)
    until = time.monotonic() + 30  # an interrupt may come while others are waited for: they end with their block
    while threading.active_count() > before:
        assert time.monotonic() < until, "a thread goes on"
        time.sleep(0.01)
    left = counting(monkeypatch)
    found = truths_for(searches, tmp_path / "cache")
    assert left == [0]  # the first block was kept
    np.testing.assert_array_equal(found[9].ids, naive(searches[9])[0])


def test_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(way, "_FEWEST_PAIRS", 1)
    monkeypatch.setattr(compute, "_THREAD_BYTES", 8 << 20)  # small vectors: what the bound is about is the lists
    searches = stream(tmp_path, 6000, 1500, 150)
    (one,) = passes(searches)
    budget = one._fixed() + (12 << 20)
    assert one._way(budget) is not None
    assert one.block_queries(budget) < 1500
    truths_for(searches[:20], tmp_path / "warm")
    tracemalloc.start()
    try:
        truths_for(searches, tmp_path / "cache", memory_bytes=budget)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < budget
    assert one._way(one._fixed() + (1 << 20)) is None


def test_which_problems_go_this_way(tmp_path):
    problem = Problem("euclidean", 10, *(Held.of(np.zeros((n, 4), dtype=np.float32)) for n in (1000, 300_000)))
    groups = lifetimes([whole(10 * n) for n in range(1, 101)])

    def serves(changed: Problem, lives=groups, memory: int = 1 << 30) -> bool:
        return way.Way.of(changed, lives, 100, memory) is not None

    assert serves(problem)
    sparse = save_csr(tmp_path, csr_matrix((1000, 4), dtype=np.float32))
    assert not serves(replace(problem, base=sparse, queries=sparse))
    assert not serves(replace(problem, tags=sparse, query_tags=sparse))
    assert not serves(replace(problem, radius=1.0))
    assert not serves(replace(problem, k=100))
    assert not serves(replace(problem, base=Held.of(np.zeros((1000, 4)))))
    assert not serves(replace(problem, queries=problem.queries.head(1000)))
    assert not serves(problem, groups[:7])
    assert not serves(problem, memory=1 << 20)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 19), st.integers(1, 20)), max_size=20), st.integers(1, 20))
def test_each_search_meets_the_groups_of_its_time_once(spans, searches):
    groups = [Lifetime(birth, birth + length, whole(1)) for birth, length in spans]
    nodes, held, time = walk(groups, searches), [], 0
    for node in nodes:
        held[node.level - 1 :] = [node.joining.tolist()]
        if node.leaf:
            alive = [i for i, group in enumerate(groups) if group.birth <= time < group.death]
            assert sorted(number for numbers in held for number in numbers) == alive
            time += 1
    assert time == searches
    assert levels(nodes) <= 7
