"""`.fbin .u8bin .i8bin .hbin .ibin`: u32 rows, u32 dimensions, then the rows; little endian.

The layout is that of big-ann-benchmarks and DiskANN.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from ann_bench.arrays import Array, ArrayRef
from ann_bench.datasets.files import atomic
from ann_bench.datasets.formats.names import XBIN
from ann_bench.errors import DataError, UsageError

HEADER = 8


def xbin_size(header: bytes, dtype: str) -> tuple[int, int, int]:
    """Rows, dimensions and size in bytes of the file that begins with these 8 bytes."""
    rows, dim = struct.unpack("<II", header)
    return rows, dim, HEADER + rows * dim * np.dtype(dtype).itemsize


def locate_xbin(path: Path, dtype: str) -> ArrayRef:
    """Where the array lies; raises DataError where the file is not as long as its header says."""
    with path.open("rb") as stream:
        header = stream.read(HEADER)
    size = path.stat().st_size
    if len(header) < HEADER:
        raise DataError(f"{path}: {size} bytes are too few for a header of {HEADER}: fetch or write the file again")
    rows, dim, expected = xbin_size(header, dtype)
    if size != expected:
        raise wrong_size(path, size, expected, f"{rows:,} rows of {dim:,} {dtype}")
    return ArrayRef(str(path), dtype, (rows, dim), HEADER)


def wrong_size(path: Path, size: int, expected: int, content: str) -> DataError:
    """The error for a file that is shorter or longer than its header says."""
    how = "shorter" if size < expected else "longer"
    return DataError(
        f"{path}: {how} than its header says: {size:,} bytes instead of {expected:,} ({content}): "
        "fetch or write the file again"
    )


class XbinWriter:
    """Takes the rows of an array of known shape, block after block."""

    def __init__(self, stream: IO[bytes], shape: tuple[int, int], dtype: str) -> None:
        self._stream = stream
        self._shape = shape
        self._dtype = np.dtype(dtype)
        self.rows = 0
        stream.write(struct.pack("<II", *shape))

    def append(self, block: Array) -> None:
        """Add rows: (any, dimensions) of the writer's dtype."""
        if block.dtype != self._dtype or block.ndim != 2 or block.shape[1] != self._shape[1]:
            raise ValueError(f"rows of {block.shape} {block.dtype} do not fit {self._shape} {self._dtype}")
        self._stream.write(np.ascontiguousarray(block).astype(self._dtype.newbyteorder("<"), copy=False).data)
        self.rows += block.shape[0]


@contextmanager
def xbin_writer(path: Path, shape: tuple[int, int], dtype: str) -> Iterator[XbinWriter]:
    """A writer whose file appears as `path` when all rows are in it.

    Raises UsageError where the suffix names another element type, StorageError where it cannot be written.
    """
    told = XBIN.get(path.name.rpartition(".")[2])
    if told and told != dtype:
        raise UsageError(f"{path}: the suffix says {told}, the array is {dtype}: choose the suffix of its type")
    with atomic(path) as stream:
        writer = XbinWriter(stream, shape, dtype)
        yield writer
        if writer.rows != shape[0]:
            raise ValueError(f"{path}: {writer.rows} rows were written instead of {shape[0]}")


def write_xbin(path: Path, array: Array) -> None:
    """Write an array (rows, dimensions) of a type that has a suffix, atomically."""
    rows, dim = array.shape
    with xbin_writer(path, (rows, dim), array.dtype.name) as writer:
        step = max(1, (8 << 20) // max(1, dim * array.dtype.itemsize))
        for start in range(0, rows, step):
            writer.append(array[start : start + step])
