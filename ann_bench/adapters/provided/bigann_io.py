"""The file formats of big-ann-benchmarks, under the names by which its wrappers read and write them. Little endian."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from scipy.sparse import csr_matrix

from ann_bench.arrays import Array

_HEADER = 8
_SPMAT_HEADER = 24


class NoNetwork(RuntimeError):
    """A wrapper wants to download something; what it needs has to lie in its folder, or be built."""


def sanitize(x: Array) -> Array:
    """The array, contiguous."""
    return np.ascontiguousarray(x)


def xbin_mmap(fname: str, dtype: Any, maxn: int = -1) -> Array:
    """A vector file, mapped: u32 rows, u32 dimensions, then the rows; at most `maxn` of them where it is positive.

    Raises ValueError where the file is not as long as its header says.
    """
    rows, dim = (int(value) for value in np.fromfile(fname, dtype="uint32", count=2))
    expected = _HEADER + rows * dim * np.dtype(dtype).itemsize
    if Path(fname).stat().st_size != expected:
        raise ValueError(f"{fname}: not {expected:,} bytes, which its header of {rows:,} x {dim:,} asks for")
    shape = (min(rows, maxn) if maxn > 0 else rows, dim)
    return np.memmap(fname, dtype=dtype, mode="r", offset=_HEADER, shape=shape)


def xbin_write(x: Array, fname: str) -> None:
    """Write a vector file."""
    with Path(fname).open("wb") as file:
        np.array(x.shape, dtype="uint32").tofile(file)
        np.ascontiguousarray(x).tofile(file)


def u8bin_write(x: Array, fname: str) -> None:
    """Write a vector file of bytes; raises ValueError for another type."""
    if x.dtype != np.uint8:
        raise ValueError(f"a .u8bin file holds uint8, not {x.dtype}")
    xbin_write(x, fname)


def read_fbin(filename: str, start_idx: int = 0, chunk_size: int | None = None) -> Array:
    """Rows of a vector file of float32, read into memory."""
    return _read(filename, "float32", start_idx, chunk_size)


def read_ibin(filename: str, start_idx: int = 0, chunk_size: int | None = None) -> Array:
    """Rows of a vector file of int32, read into memory."""
    return _read(filename, "int32", start_idx, chunk_size)


def _read(filename: str, dtype: str, start: int, count: int | None) -> Array:
    rows, dim = (int(value) for value in np.fromfile(filename, dtype="uint32", count=2))
    count = rows - start if count is None else count
    offset = _HEADER + start * dim * np.dtype(dtype).itemsize
    return np.fromfile(filename, dtype=dtype, count=count * dim, offset=offset).reshape(count, dim)


def knn_result_read(fname: str) -> tuple[Array, Array]:
    """Ids and distances of a file of nearest neighbours, each (nq, k)."""
    queries, k = (int(value) for value in np.fromfile(fname, dtype="uint32", count=2))
    ids = np.fromfile(fname, dtype="int32", count=queries * k, offset=_HEADER)
    distances = np.fromfile(fname, dtype="float32", count=queries * k, offset=_HEADER + ids.nbytes)
    return ids.reshape(queries, k), distances.reshape(queries, k)


def usbin_write(ids: Array, dist: Array, fname: str) -> None:
    """Write a file of nearest neighbours."""
    with Path(fname).open("wb") as file:
        np.array(ids.shape, dtype="uint32").tofile(file)
        np.ascontiguousarray(ids, dtype="int32").tofile(file)
        np.ascontiguousarray(dist, dtype="float32").tofile(file)


def range_result_read(fname: str) -> tuple[Array, Array, Array]:
    """Counts (nq,), ids and distances of a file of range results."""
    queries, total = (int(value) for value in np.fromfile(fname, dtype="int32", count=2))
    counts = np.fromfile(fname, dtype="int32", count=queries, offset=_HEADER)
    ids = np.fromfile(fname, dtype="int32", count=total, offset=_HEADER + counts.nbytes)
    distances = np.fromfile(fname, dtype="float32", count=total, offset=_HEADER + counts.nbytes + ids.nbytes)
    return counts, ids, distances


def bvecs_mmap(fname: str) -> Array:
    """A .bvecs file, mapped: every row is i32 dimensions and as many bytes."""
    raw = np.memmap(fname, dtype="uint8", mode="r")
    dim = int(raw[:4].view("int32")[0])
    rows: Array = raw.reshape(-1, dim + 4)[:, 4:]
    return rows


def ivecs_read(fname: str) -> Array:
    """A .ivecs file, read: every row is i32 dimensions and as many i32."""
    raw = np.fromfile(fname, dtype="int32")
    rows: Array = raw.reshape(-1, int(raw[0]) + 1)[:, 1:].copy()
    return rows


def write_sparse_matrix(mat: csr_matrix, fname: str) -> None:
    """Write a .spmat file: i64 rows, columns, nonzeros; i64 indptr; i32 indices; f32 values."""
    with Path(fname).open("wb") as file:
        np.array([*mat.shape, mat.indptr[-1]], dtype="int64").tofile(file)
        for part, dtype in ((mat.indptr, "int64"), (mat.indices, "int32"), (mat.data, "float32")):
            np.ascontiguousarray(part, dtype=dtype).tofile(file)


def mmap_sparse_matrix_fields(fname: str) -> tuple[Array, Array, Array, int]:
    """Values, indices, indptr (mapped) and columns of a .spmat file."""
    rows, columns, nonzeros = (int(value) for value in np.fromfile(fname, dtype="int64", count=3))
    starts = (_SPMAT_HEADER, _SPMAT_HEADER + 8 * (rows + 1), _SPMAT_HEADER + 8 * (rows + 1) + 4 * nonzeros)
    counts = (rows + 1, nonzeros, nonzeros)
    indptr, indices, data = (
        np.memmap(fname, dtype=dtype, mode="r", offset=start, shape=count) if count else np.empty(0, dtype)
        for dtype, start, count in zip(("int64", "int32", "float32"), starts, counts, strict=True)
    )
    return data, indices, indptr, columns


def read_sparse_matrix_fields(fname: str) -> tuple[Array, Array, Array, int]:
    """Values, indices, indptr (read) and columns of a .spmat file."""
    data, indices, indptr, columns = mmap_sparse_matrix_fields(fname)
    return np.array(data), np.array(indices), np.array(indptr), columns


def read_sparse_matrix(fname: str, do_mmap: bool = False) -> csr_matrix:
    """A .spmat file as a CSR matrix, read or mapped."""
    fields = mmap_sparse_matrix_fields(fname) if do_mmap else read_sparse_matrix_fields(fname)
    data, indices, indptr, columns = fields
    return csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, columns))


def download(src: str, dst: str | None = None, max_size: int | None = None) -> None:
    """Nothing where `dst` is there already; NoNetwork otherwise."""
    if dst is None or not Path(dst).exists():
        _no_network("download", src)


def download_accelerated(src: str, dst: str, quiet: bool = False, sas_string: str = "") -> None:
    """Nothing where `dst` is there already; NoNetwork otherwise."""
    download(src, dst)


def upload_accelerated(*arguments: Any, **named: Any) -> None:
    """NoNetwork."""
    _no_network("upload", str(arguments[-1] if arguments else ""))


def _no_network(what: str, address: str) -> NoReturn:
    raise NoNetwork(f"the sandbox has no network, {what} of {address} is refused: put the file into the entry's folder")
