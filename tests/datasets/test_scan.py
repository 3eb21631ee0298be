"""Fingerprints and the checks that come with them."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from ann_bench.arrays import ArrayRef, CsrRef, Ref
from ann_bench.datasets import scan
from ann_bench.datasets.fingerprint import fingerprint
from ann_bench.datasets.formats import locate, write_spmat, write_xbin
from ann_bench.datasets.scan import Facts, facts, file_sha256
from ann_bench.errors import DataError


def aged(path: Path) -> Path:
    """Let a file look as if it had not changed for a while."""
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns - 10**9))
    return path


def sparse(path: Path, indptr: list[int], indices: list[int], data: list[float], columns: int = 9) -> CsrRef:
    """A matrix written byte for byte, however wrong."""
    header = np.array([len(indptr) - 1, columns, len(indices)], np.int64).tobytes()
    parts = np.array(indptr, np.int64), np.array(indices, np.int32), np.array(data, np.float32)
    path.write_bytes(header + b"".join(part.tobytes() for part in parts))
    ref = locate(path)
    assert isinstance(ref, CsrRef)
    return ref


@given(st.integers(0, 50), st.integers(0, 99), st.integers(1, 255))
@settings(max_examples=50)
def test_fingerprint_follows_the_content_alone(offset: int, position: int, change: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        content = bytes(range(100))
        one, other, changed = (Path(name) / n for n in "abc")
        one.write_bytes(content)
        other.write_bytes(b"x" * offset + content + b"y")
        changed.write_bytes(content[:position] + bytes([content[position] ^ change]) + content[position + 1 :])
        ref = ArrayRef(str(one), "uint8", (10, 10))
        assert fingerprint(ref) == fingerprint(ArrayRef(str(other), "uint8", (10, 10), offset))
        assert fingerprint(ref) != fingerprint(ref.at(str(changed)))
        assert fingerprint(ref) != fingerprint(ArrayRef(str(one), "int8", (10, 10)))
        assert fingerprint(ref) != fingerprint(ArrayRef(str(one), "uint8", (20, 5)))
        assert fingerprint(ref) != fingerprint(ref.head(9))


@given(st.integers(0, 13), st.sampled_from(["indptr", "indices", "data", "columns"]))
@settings(max_examples=30)
def test_fingerprint_of_a_matrix(at: int, part: str) -> None:
    indptr, indices, data, columns = [0, 5, 9, 14], [*range(5), *range(4), *range(5)], [1.0] * 14, 9
    with tempfile.TemporaryDirectory() as name:
        first = sparse(Path(name) / "a.spmat", indptr, indices, data)
        same = sparse(Path(name) / "b.spmat", indptr, indices, data)
        if part == "indptr":
            indptr[1 + at % 2] += 1
        elif part == "indices":
            indices[at] += 1
        elif part == "data":
            data[at] = 2.0
        else:
            columns += 1
        other = sparse(Path(name) / "c.spmat", indptr, indices, data, columns)
        assert fingerprint(first) == fingerprint(same) != fingerprint(other)


def test_blocks_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    rng = np.random.default_rng(0)
    write_xbin(tmp_path / "a.fbin", rng.random((1000, 7)).astype(np.float32))
    matrix = csr_matrix((rng.random((300, 40)) < 0.3).astype(np.float32))
    write_spmat(tmp_path / "a.spmat", matrix)
    refs = [locate(tmp_path / "a.fbin"), locate(tmp_path / "a.spmat")]
    found = [facts(ref) for ref in refs]
    monkeypatch.setattr(scan, "_BLOCK", 96)
    monkeypatch.setenv("ANN_BENCH_CACHE", str(tmp_path / "other"))
    assert [facts(ref) for ref in refs] == found
    assert all(f.problem is None and f.canonical for f in found)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_the_first_row_that_is_not_finite(
    tmp_path: Path, dtype: str, bad: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "_BLOCK", 64)
    array = np.ones((50, 4), dtype)
    array[17, 3] = array[30, 0] = bad
    np.save(tmp_path / "a.npy", array)
    assert facts(locate(tmp_path / "a.npy")).problem == "row 17 holds NaN or infinity"


@pytest.mark.parametrize("block", [8, 16, 1 << 20])
@pytest.mark.parametrize(
    ("indptr", "indices", "data", "problem"),
    [
        ([0, 2, 4], [0, 1, 2, 9], [1] * 4, "row 1 names column 9, valid are 0 to 8"),
        ([0, 2, 4], [0, -1, 2, 3], [1] * 4, "row 0 names column -1, valid are 0 to 8"),
        ([0, 3, 2, 4], [0, 1, 2, 3], [1] * 4, "row 1 ends before it begins"),
        ([1, 2, 4], [0, 1, 2, 3], [1] * 4, "the first row begins at 1 instead of 0"),
        ([0, 2, 3], [0, 1, 2, 3], [1] * 4, "the last row ends at 3 instead of 4"),
        ([0, 0, 4], [0, 1, 2, 3], [1, 1, np.nan, 1], "row 1 holds NaN or infinity"),
    ],
)
def test_matrices_that_make_no_sense(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, indptr, indices, data, problem: str
) -> None:
    monkeypatch.setattr(scan, "_BLOCK", block)
    assert facts(sparse(tmp_path / "a.spmat", indptr, indices, data)).problem == problem


@given(st.lists(st.lists(st.integers(0, 8), max_size=5), min_size=1, max_size=8), st.sampled_from([8, 16, 24, 4096]))
def test_canonical(rows: list[list[int]], block: int) -> None:
    indptr = [0, *np.cumsum([len(row) for row in rows]).tolist()]
    indices = [column for row in rows for column in row]
    before = scan._BLOCK
    scan._BLOCK = block
    try:
        with tempfile.TemporaryDirectory() as name:
            found = facts(sparse(Path(name) / "a.spmat", indptr, indices, [1.0] * len(indices)))
    finally:
        scan._BLOCK = before
    assert found.problem is None
    assert found.canonical == all(row == sorted(set(row)) for row in rows)


def test_remembered_until_the_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.u8bin"
    write_xbin(path, np.zeros((3, 3), np.uint8))
    ref: Ref = locate(aged(path))
    first = facts(ref)
    with monkeypatch.context() as patch:
        patch.setattr(scan._Scan, "dense", None)  # not to be called
        assert facts(ref) == first
    write_xbin(path, np.ones((3, 3), np.uint8))
    assert facts(ref).fingerprint != first.fingerprint


def test_a_change_within_a_tick_of_the_clock_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1")
    stamp = time.time_ns()
    os.utime(path, ns=(stamp, stamp))
    first = file_sha256(path)
    path.write_bytes(b"2")
    os.utime(path, ns=(stamp, stamp))
    assert file_sha256(path) != first


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ANN_BENCH_CACHE", str(tmp_path / "file"))
    write_xbin(tmp_path / "a.u8bin", np.zeros((3, 3), np.uint8))
    assert facts(locate(aged(tmp_path / "a.u8bin"))).problem is None


def test_a_file_that_vanished_or_shrank(tmp_path: Path) -> None:
    ref = ArrayRef(str(tmp_path / "a"), "uint8", (10, 10))
    with pytest.raises(DataError, match="a: cannot be read"):
        fingerprint(ref)
    (tmp_path / "a").write_bytes(bytes(99))
    with pytest.raises(DataError, match="a: ends before its array does"):
        fingerprint(ref)


def test_an_empty_array(tmp_path: Path) -> None:
    assert facts(ArrayRef(str(tmp_path / "none"), "float32", (0, 4))) == Facts(
        fingerprint(ArrayRef("", "float32", (0, 4)))
    )
