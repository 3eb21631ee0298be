"""Round trips through every format, and files that are not what they say."""

from __future__ import annotations

import gzip
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_matrix

from ann_bench.arrays import ArrayRef, CsrRef
from ann_bench.datasets.files import derived, writing
from ann_bench.datasets.formats import (
    XBIN,
    Reading,
    format_of,
    locate,
    read_truth,
    spmat_writer,
    write_spmat,
    write_truth,
    write_xbin,
    xbin_writer,
)
from ann_bench.datasets.formats.hdf5 import truth_from_hdf5
from ann_bench.datasets.formats.spmat import write_canonical
from ann_bench.errors import DataError, StorageError, UsageError

SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=9)
DTYPES = sorted(XBIN.items())


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@st.composite
def named_arrays(draw: st.DrawFn) -> tuple[str, np.ndarray]:
    suffix, dtype = draw(st.sampled_from(DTYPES))
    return f"a.{suffix}", draw(hnp.arrays(dtype, SHAPES))


@st.composite
def matrices(draw: st.DrawFn) -> csr_matrix:
    rows, columns = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    dense = draw(hnp.arrays(np.float32, (rows, columns), elements=st.sampled_from([0, 0, 1, 2.5])))
    return csr_matrix(dense)


@given(named_arrays())
def test_xbin_round_trip(named: tuple[str, np.ndarray]) -> None:
    name, array = named
    with folder() as path:
        write_xbin(path / name, array)
        ref = locate(path / name)
        assert isinstance(ref, ArrayRef)
        assert ref.dtype == array.dtype.name
        np.testing.assert_array_equal(ref.open(), array)
        assert ref.open().tobytes() == array.tobytes()
        np.testing.assert_array_equal(locate(path / name, Reading(rows=1)).open(), array[:1])


@given(hnp.arrays(st.sampled_from(["f4", "f2", "f8", "u1", "i1", "i4"]), SHAPES), st.sampled_from([(1, 0), (2, 0)]))
def test_npy_round_trip(array: np.ndarray, version: tuple[int, int]) -> None:
    with folder() as path:
        with (path / "a.npy").open("wb") as stream:
            np.lib.format.write_array(stream, array, version=version)
        assert locate(path / "a.npy").open().tobytes() == array.tobytes()


@given(matrices(), st.sampled_from(["a.spmat", "a.csr"]))
def test_spmat_round_trip(matrix: csr_matrix, name: str) -> None:
    with folder() as path:
        write_spmat(path / name, matrix)
        ref = locate(path / name)
        assert isinstance(ref, CsrRef)
        assert ref.shape == matrix.shape
        np.testing.assert_array_equal(ref.open().toarray(), matrix.toarray())
        np.testing.assert_array_equal(locate(path / name, Reading(rows=1)).open().toarray(), matrix.toarray()[:1])


@given(st.integers(1, 5).flatmap(lambda k: st.tuples(st.integers(0, 6), st.just(k))))
def test_truth_round_trip(shape: tuple[int, int]) -> None:
    ids = np.arange(shape[0] * shape[1]).reshape(shape)
    with folder() as path:
        write_truth(path / "a.gt", ids, ids / 4)
        read, distances = read_truth(path / "a.gt")
        assert (read.dtype, distances.dtype) == (np.int32, np.float32)
        np.testing.assert_array_equal(read, ids)
        np.testing.assert_array_equal(distances, ids / 4)


def files(path: Path) -> list[Path]:
    """One small file of each format."""
    rng = np.random.default_rng(0)
    for suffix, dtype in DTYPES:
        write_xbin(path / f"a.{suffix}", rng.integers(0, 99, (3, 4)).astype(dtype))
    np.save(path / "a.npy", np.ones((3, 4), np.float32))
    write_spmat(path / "a.spmat", csr_matrix((rng.random((4, 5)) < 0.5).astype(np.float32)))
    return sorted(path.iterdir())


def test_a_file_cut_at_any_byte_is_refused(tmp_path: Path) -> None:
    for whole in files(tmp_path):
        content = whole.read_bytes()
        for length in range(len(content)):
            whole.write_bytes(content[:length])
            with pytest.raises(DataError, match=str(whole)):
                locate(whole)


@given(st.binary(min_size=1, max_size=20))
@settings(max_examples=20)
def test_trailing_bytes_are_refused(rest: bytes) -> None:
    with folder() as path:
        for whole in files(path):
            content = whole.read_bytes()
            whole.write_bytes(content + rest)
            with pytest.raises(DataError, match="longer than its header says"):
                locate(whole)


def test_sizes_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.fbin"
    path.write_bytes(struct.pack("<II", 10, 4) + bytes(100))
    with pytest.raises(DataError, match=r"a\.fbin: shorter .* 108 bytes instead of 168 \(10 rows of 4 float32\)"):
        locate(path)
    write_xbin(path, np.zeros((3, 4), np.float32))
    with pytest.raises(DataError, match="has 3 rows, 4 are asked for"):
        locate(path, Reading(rows=4))
    with pytest.raises(DataError, match="no such file"):
        locate(tmp_path / "b.fbin")


@pytest.mark.parametrize("length", range(40))
def test_a_truth_file_cut_short_is_refused(tmp_path: Path, length: int) -> None:
    write_truth(tmp_path / "a.gt", np.zeros((2, 2), np.int32), np.zeros((2, 2)))
    content = (tmp_path / "a.gt").read_bytes()
    assert len(content) == 40
    (tmp_path / "a.gt").write_bytes(content[:length])
    with pytest.raises(DataError):
        read_truth(tmp_path / "a.gt")


def test_formats_by_name() -> None:
    assert format_of("x.hdf5").name == "hdf5"
    assert format_of("x.bin", "fbin").name == "fbin"
    assert format_of("x.bin.gz", "csr").packed
    assert format_of("x.bin", "csr.gz").packed
    with pytest.raises(UsageError, match="does not tell the format; say `format:`"):
        format_of("vectors.bin")
    with pytest.raises(UsageError, match="unknown format 'fbim': did you mean 'fbin'"):
        format_of("vectors.bin", "fbim")


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.asfortranarray(np.ones((3, 4))), "C order"),
        (np.ones((3, 4), dtype=">f4"), "little-endian"),
        (np.ones(3, dtype=[("a", "f4")]), "plain"),
    ],
)
def test_npy_that_cannot_be_mapped(tmp_path: Path, array: np.ndarray, reason: str) -> None:
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(DataError, match=reason):
        locate(tmp_path / "a.npy")


@given(st.data())
@settings(max_examples=30)
def test_packed_files(data: st.DataObject) -> None:
    name, array = data.draw(named_arrays())
    with folder() as path:
        write_xbin(path / name, array)
        packed = path / f"{name}.gz"
        content = gzip.compress((path / name).read_bytes())
        packed.write_bytes(content)
        reading = Reading(copies=path / "copies")
        np.testing.assert_array_equal(locate(packed, reading).open(), array)
        packed.write_bytes(content[: data.draw(st.integers(2, len(content) - 1))])
        with pytest.raises(DataError, match="damaged or cut short"):
            locate(packed, reading)
        packed.write_bytes(content + b"junk")
        with pytest.raises(DataError, match="damaged or cut short"):
            locate(packed, reading)


def test_a_packed_file_is_unpacked_once_and_again_when_it_changes(tmp_path: Path) -> None:
    packed = tmp_path / "a.u8bin.gz"
    for value in (1, 2):
        write_xbin(tmp_path / "a.u8bin", np.full((value, 4), value, np.uint8))
        packed.write_bytes(gzip.compress((tmp_path / "a.u8bin").read_bytes()))
        first = locate(packed, Reading(copies=tmp_path / "copies"))
        made = Path(first.path).stat().st_mtime_ns
        assert first.shape == (value, 4)
        assert locate(packed, Reading(copies=tmp_path / "copies")) == first
        assert Path(first.path).stat().st_mtime_ns == made


def test_a_file_called_packed_that_is_not(tmp_path: Path) -> None:
    write_xbin(tmp_path / "a.u8bin", np.ones((2, 2), np.uint8))
    (tmp_path / "a.u8bin").rename(tmp_path / "a.u8bin.gz")
    assert locate(tmp_path / "a.u8bin.gz").shape == (2, 2)


ARRAY = np.arange(1200, dtype=np.float32).reshape(100, 12)


@pytest.mark.parametrize(
    ("storage", "mapped"),
    [({}, True), ({"chunks": (7, 5)}, False), ({"compression": "gzip"}, False), ({"dtype": ">f4"}, False)],
)
@pytest.mark.parametrize("userblock", [0, 512])
def test_hdf5(tmp_path: Path, storage: dict[str, Any], mapped: bool, userblock: int) -> None:
    path = tmp_path / "a.hdf5"
    with h5py.File(path, "w", userblock_size=userblock) as file:
        file.create_dataset("test", data=np.zeros((3, 12), np.float32))
        file.create_dataset("group/train", data=ARRAY, **storage)
    ref = locate(path, Reading(key="group/train", copies=tmp_path / "copies"))
    assert (ref.path == str(path)) == mapped
    np.testing.assert_array_equal(ref.open(), ARRAY)
    with pytest.raises(UsageError, match="say `key:` with one of its arrays: group/train, test"):
        locate(path)
    with pytest.raises(UsageError, match="did you mean 'test'"):
        locate(path, Reading(key="tset"))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match=r"cannot be read as HDF5|cut short"):
        locate(path, Reading(key="group/train", copies=tmp_path / "copies"))


def test_truth_out_of_hdf5(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        file["neighbors"] = np.arange(6).reshape(2, 3)
        file["distances"] = np.arange(6, dtype=np.float32).reshape(2, 3)
    ids, distances = read_truth(truth_from_hdf5(tmp_path / "a.hdf5", None, tmp_path))
    np.testing.assert_array_equal(ids, np.arange(6).reshape(2, 3))
    np.testing.assert_array_equal(distances, np.arange(6).reshape(2, 3))


def test_canonical_copy(tmp_path: Path) -> None:
    with spmat_writer(tmp_path / "a.spmat", (3, 9)) as writer:
        writer.append(np.array([4, 0, 2]), np.array([5, 1, 5, 0, 8, 2]), np.array([1, 2, 3, 4, 5, 6], np.float32))
    ref = locate(tmp_path / "a.spmat")
    assert isinstance(ref, CsrRef)
    write_canonical(ref, tmp_path / "b.spmat")
    matrix = locate(tmp_path / "b.spmat").open()
    np.testing.assert_array_equal(matrix.indices, [0, 1, 5, 2, 8])
    np.testing.assert_array_equal(matrix.data, [4, 2, 4, 6, 5])
    np.testing.assert_array_equal(matrix.toarray(), ref.open().toarray())


@given(st.lists(st.integers(1, 20), max_size=6), matrices())
def test_however_the_rows_are_cut_the_bytes_are_the_same(cuts: list[int], matrix: csr_matrix) -> None:
    dense = matrix.toarray()
    stops = sorted({min(cut, len(dense)) for cut in cuts} | {len(dense)})
    with folder() as path:
        write_xbin(path / "a.fbin", dense)
        write_spmat(path / "a.spmat", matrix)
        shape = dense.shape
        with xbin_writer(path / "b.fbin", shape, "float32") as rows, spmat_writer(path / "b.spmat", shape) as bags:
            for start, stop in zip([0, *stops], stops, strict=False):
                part = matrix[start:stop]
                rows.append(dense[start:stop])
                bags.append(np.diff(part.indptr), part.indices, part.data)
        for suffix in ("fbin", "spmat"):
            assert (path / f"a.{suffix}").read_bytes() == (path / f"b.{suffix}").read_bytes()


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=6))
def test_ones_need_not_be_given_before_or_after_values(blocks: list[tuple[int, bool]]) -> None:
    with folder() as path:
        with spmat_writer(path / "a.spmat", (len(blocks), 5)) as writer:
            for count, given_values in blocks:
                values = np.full(count, 0.5, np.float32) if given_values else None
                writer.append(np.array([count]), np.arange(count), values)
        expected = np.repeat([0.5 if given_values else 1 for _, given_values in blocks], [count for count, _ in blocks])
        found = locate(path / "a.spmat").open()
        np.testing.assert_array_equal(found.data, expected)


@given(matrices())
def test_a_palette_changes_no_byte(matrix: csr_matrix) -> None:
    palette, codes = np.unique(np.append(matrix.data, np.float32(0)), return_inverse=True)
    codes = codes[:-1].astype(np.uint8)
    with folder() as path:
        write_spmat(path / "a.spmat", matrix)
        with spmat_writer(path / "b.spmat", matrix.shape, palette) as writer:
            writer.append(np.diff(matrix.indptr), matrix.indices, codes)
        assert (path / "a.spmat").read_bytes() == (path / "b.spmat").read_bytes()
        with pytest.raises(ValueError, match="needs values"), spmat_writer(path / "c.spmat", (1, 1), palette) as writer:
            writer.append(np.array([1]), np.array([0]))


def test_what_a_killed_maker_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".made.123.abcd.tmp").write_text("half")
    (tmp_path / "source").write_text("x")
    derived(tmp_path / "source", tmp_path / "made", lambda target: target.write_text("whole") and None)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["made", "made.from", "made.lock", "source"]


def test_hdf5_with_a_damaged_chunk(tmp_path: Path) -> None:
    path = tmp_path / "a.hdf5"
    with h5py.File(path, "w") as file:
        chunked = file.create_dataset("a", data=ARRAY, chunks=(10, 12), compression="gzip")
        place = chunked.id.get_chunk_info(5)
    content = bytearray(path.read_bytes())
    content[place.byte_offset : place.byte_offset + place.size] = bytes(place.size)
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.hdf5: damaged near row 0"):
        locate(path, Reading(copies=tmp_path / "copies"))
    assert [p.name for p in (tmp_path / "copies").iterdir() if not p.name.endswith(".lock")] == []


def test_writers_leave_nothing_half_written(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), xbin_writer(tmp_path / "a.u8bin", (4, 2), "uint8") as writer:
        writer.append(np.zeros((2, 2), np.uint8))
        raise RuntimeError
    with (
        pytest.raises(ValueError, match="2 rows were written instead of 4"),
        xbin_writer(tmp_path / "a.u8bin", (4, 2), "uint8") as writer,
    ):
        writer.append(np.zeros((2, 2), np.uint8))
    with pytest.raises(UsageError, match="suffix says uint8, the array is float32"):
        write_xbin(tmp_path / "a.u8bin", np.zeros((2, 2), np.float32))
    with pytest.raises(StorageError, match="cannot be written"):
        (tmp_path / "file").write_text("")
        write_xbin(tmp_path / "file" / "a.u8bin", np.zeros((2, 2), np.uint8))
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_full_disk(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with (
        pytest.raises(StorageError, match=r"No space left on device.*: free some space"),
        writing(tmp_path / "a"),
        Path("/dev/full").open("wb", buffering=0) as stream,
    ):
        stream.write(bytes(10))


def test_files_may_be_read_by_others(tmp_path: Path) -> None:
    write_xbin(tmp_path / "a.u8bin", np.zeros((2, 2), np.uint8))
    assert (tmp_path / "a.u8bin").stat().st_mode & 0o444
