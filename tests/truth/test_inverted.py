"""Inner products of sparse rows by inverted indexes: against brute force, with the kernels forced on tiny data."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from ann_bench.arrays import ArrayRef, CsrRef, held_csr
from ann_bench.errors import DataError
from ann_bench.truth import cores, inverted, sparse_parts
from ann_bench.truth.exact import exact
from ann_bench.truth.model import Live, Problem
from tests.truth import test_debian
from tests.truth.helpers import save_bags, save_csr
from tests.truth.test_exact import bags, live_set, same


@pytest.fixture
def forced(monkeypatch):
    monkeypatch.setattr(inverted, "FEWEST_PAIRS", 0)


@pytest.fixture(params=["large blocks", "tiny blocks"])
def blocks(request, forced, monkeypatch):
    """Blocks of a few rows, spans of a few blocks, portions of a few queries; and the sizes of real work."""
    if request.param == "tiny blocks":
        monkeypatch.setattr(inverted, "BLOCK_ROWS", 9)
        monkeypatch.setattr(inverted, "_BLOCK_ENTRIES", 30)
        monkeypatch.setattr(inverted, "_SPAN_ENTRIES", 70)
        monkeypatch.setattr(inverted, "_QUERIES", 3)


def sparse(rng: np.random.Generator, shape: tuple[int, int], density: float, low: int) -> csr_matrix:
    """Few different values, empty rows, many ties; about a third of the rows are twins of others."""
    values = rng.integers(low, 9, shape) * (rng.random(shape) < density) / 8
    if shape[0]:
        twins = rng.integers(0, shape[0], shape[0] // 3)
        values[rng.integers(0, shape[0], len(twins))] = values[twins]
    return csr_matrix(values.astype(np.float32))


@settings(max_examples=120, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    sizes=st.tuples(st.integers(0, 90), st.integers(0, 14), st.integers(1, 30), st.integers(1, 20)),
    density=st.sampled_from([0.0, 0.05, 0.3, 1.0]),
    low=st.sampled_from([-8, 0, 1]),
    kind=st.tuples(st.booleans(), st.booleans(), st.booleans(), st.sampled_from(["float32", "float64", "int8"])),
)
def test_equals_brute_force(seed, sizes, density, low, kind):
    rng = np.random.default_rng(seed)
    (rows, count, dim, k), (live, filtered, small, dtype) = sizes, kind
    base, queries = sparse(rng, (rows, dim), density, low), sparse(rng, (count, dim), density, low)
    if dtype != "float32":
        base = (base * 8).astype(dtype)
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        patch.setattr(inverted, "FEWEST_PAIRS", 0)
        if small:
            patch.setattr(inverted, "BLOCK_ROWS", 7)
            patch.setattr(inverted, "_BLOCK_ENTRIES", 20)
            patch.setattr(inverted, "_QUERIES", 2)
        tags = query_tags = None
        if filtered:
            tags = save_bags(folder, bags(rng, rows, 4, 5), 4)
            query_tags = save_bags(folder, bags(rng, count, 4, 2), 4)
        chosen = live_set(rng, rows) if live and rows else None
        problem = Problem("ip", k, save_csr(folder, base), save_csr(folder, queries), tags, query_tags, chosen)
        assert inverted.serves(problem) is not filtered
        same(problem)


@pytest.mark.parametrize("low", [-8, 1])
def test_both_ways_agree_bit_for_bit(blocks, monkeypatch, low):
    """Values of many digits over enough blocks that terms are left out: ids and distances, bit by bit."""
    rng = np.random.default_rng(3)
    base, queries = sparse(rng, (3_000, 60), 0.2, low), sparse(rng, (50, 60), 0.2, low)
    for matrix in (base, queries):
        matrix.data *= rng.gamma(1, 1, len(matrix.data)).astype(np.float32)
    chosen = Live(np.arange(0, 5_800, 2), rng.permutation(3_000)[:2_900])
    for live in (None, chosen):
        problem = Problem("ip", 10, held_csr(base), held_csr(queries), live=live)
        found = exact(problem)
        with monkeypatch.context() as patch:
            patch.setattr(inverted, "FEWEST_PAIRS", 10**18)
            wanted = exact(problem)
        for mine, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(mine, other)


def test_terms_are_left_out(forced, monkeypatch):
    """A common term of little weight is not added up where a rare one decides; the answers stay right."""
    monkeypatch.setattr(inverted, "BLOCK_ROWS", 200)
    rng = np.random.default_rng(4)
    values = np.zeros((2_000, 40), dtype=np.float32)
    values[:, 0] = rng.integers(1, 4, 2_000) / 8
    values[np.arange(2_000), rng.integers(1, 40, 2_000)] = rng.integers(1, 9, 2_000) * 4
    queries = np.ones((40, 40), dtype=np.float32)
    queries[:, 1:] = np.eye(40)[:, 1:] * 3
    made = []

    def kept(*parts):
        made.append(sparse_parts.Kept(*parts))
        return made[-1]

    monkeypatch.setattr(inverted, "Kept", kept)
    same(Problem("ip", 5, held_csr(csr_matrix(values)), held_csr(csr_matrix(queries))))
    assert (made[0].shares != inverted._SHARE).any()


@pytest.mark.parametrize("scales", [(-126, -126), (-126, 0), (0, -140), (-73, -73), (60, 60), (123, 123), (123, -126)])
def test_values_at_the_ends_of_float32(blocks, scales):
    rng = np.random.default_rng(9)
    parts = [sparse(rng, (n, 6), 0.6, -8) for n in (90, 9)]
    for part, scale in zip(parts, scales, strict=True):
        part.data = np.ldexp(part.data * 8, scale).astype(np.float32)
    same(Problem("ip", 6, *(held_csr(part) for part in parts)))


def test_rows_that_are_not_canonical(tmp_path, blocks):
    """Column numbers in any order, some of them twice: twins are summed."""
    rng = np.random.default_rng(5)
    lengths = rng.integers(0, 9, 60)
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    parts = rng.integers(0, 7, indptr[-1]), (rng.integers(-9, 9, indptr[-1]) / 8).astype(np.float32)
    base = csr_matrix((parts[1], parts[0], indptr), shape=(60, 7))
    same(Problem("ip", 8, save_csr(tmp_path, base), held_csr(sparse(rng, (9, 7), 0.5, -8))))


@settings(max_examples=300, deadline=None)
@given(st.floats(-(2.0**59), 2.0**59, width=32), st.integers(0, 2**16 - 1))
def test_a_posting_keeps_its_row_and_rounds_its_weight(value, row):
    from ann_bench.truth import sparse_kernels

    posting = np.uint32(sparse_kernels._packed(value, row))
    assert posting & 0xFFFF == row
    weight = float(posting.view(np.float32))
    assert abs(weight - value) <= max(2.0**-8 * abs(value), 2.0**-133)
    assert weight == 0 or value == 0 or (weight > 0) == (value > 0)


@pytest.mark.parametrize("sign", [1, -1])
def test_scores_nearer_to_each_other_than_postings_can_tell(blocks, sign):
    """Weights that differ in their last bits only: the rounding hides which row is nearest, the answers do not."""
    rng = np.random.default_rng(10)
    values = 1 + rng.integers(0, 40, (3_000, 4)) * 2.0**-23
    queries = csr_matrix(sign * rng.integers(1, 9, (6, 4)).astype(np.float32) / 8)
    same(Problem("ip", 7, held_csr(csr_matrix(values.astype(np.float32))), held_csr(queries)))


@pytest.mark.parametrize(("canonical", "dtype"), [(True, "float32"), (False, "float32"), (False, "float64")])
def test_memory_stays_within_what_is_said(forced, monkeypatch, canonical, dtype):
    monkeypatch.setattr(inverted, "_SPAN_ENTRIES", 1 << 17)
    monkeypatch.setattr(inverted, "_BLOCK_ENTRIES", 1 << 15)
    base = sparse(np.random.default_rng(11), (20_000, 60), 0.4, 1).astype(dtype)
    base.data += np.asarray(1e-9, dtype=dtype)  # float64 that float32 cannot hold
    if not canonical:
        base.indices = base.indices[::-1].copy()
    problem = Problem("ip", 5, held_csr(base), held_csr(base[:9]))
    exact(problem)  # loads the kernels
    tracemalloc.start()
    try:
        exact(problem)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 4 << 17 < peak < inverted.working_bytes(problem, cores.threads()) + (1 << 18)


def test_rows_and_queries_without_entries(blocks):
    base, queries = sparse(np.random.default_rng(6), (50, 8), 0.1, -8), csr_matrix((4, 8), dtype=np.float32)
    same(Problem("ip", 5, held_csr(base), held_csr(queries)))
    same(Problem("ip", 5, held_csr(csr_matrix((30, 8), dtype=np.float32)), held_csr(base)))


def test_column_numbers_that_the_base_cannot_have(tmp_path, forced):
    base = csr_matrix(np.eye(4, dtype=np.float32))
    ref = save_csr(tmp_path, base)
    for wrong in (-1, 4, 2**31 - 1):
        numbers = base.indices.astype(np.int32)
        numbers[2] = wrong
        numbers.tofile(tmp_path / "wrong")
        broken = CsrRef(ref.indptr, ArrayRef(str(tmp_path / "wrong"), "int32", (4,)), ref.data, ref.shape)
        with pytest.raises(DataError, match="column numbers outside 0 to 3"):
            exact(Problem("ip", 2, broken, ref))


def test_other_metrics_keep_their_way(forced, tmp_path):
    rng = np.random.default_rng(7)
    parts = save_csr(tmp_path, sparse(rng, (60, 9), 0.4, -8)), save_csr(tmp_path, sparse(rng, (9, 9), 0.4, -8))
    for metric in ("euclidean", "angular"):
        assert not inverted.serves(Problem(metric, 4, *parts))
        same(Problem(metric, 4, *parts))


def test_progress_reaches_the_end_and_never_goes_back(blocks):
    rng = np.random.default_rng(8)
    told = []
    problem = Problem("ip", 3, held_csr(sparse(rng, (300, 9), 0.4, 0)), held_csr(sparse(rng, (20, 9), 0.4, 0)))
    exact(problem, lambda task, done, total: told.append((done, total)))
    assert told[0] == (0, 20)
    assert told[-1] == (20, 20)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_an_interruption_ends_the_work(blocks):
    def broken(task, done, total):
        if done or told:
            raise KeyboardInterrupt
        told.append(done)

    told = []
    base = held_csr(sparse(np.random.default_rng(9), (300, 9), 0.4, 0))
    with pytest.raises(KeyboardInterrupt):
        exact(Problem("ip", 3, base, base), broken)


def test_the_shipped_answers(tmp_path, forced):
    test_debian.test_sparse(tmp_path)


def test_small_work_loads_no_kernels():
    code = (
        "import sys, numpy, ann_bench.truth.store, ann_bench.truth.exact as s;"
        "from scipy.sparse import csr_matrix as c;"
        "from ann_bench.arrays import held_csr as h; from ann_bench.truth.model import Problem as P;"
        "e = h(c(numpy.eye(4, dtype='float32'))); s.exact(P('ip', 2, e, e)); assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).resolve().parents[2])
