"""`.spmat .csr`: i64 rows, columns, nonzeros; i64 indptr; i32 indices; f32 values; little endian.

The layout is that of big-ann-benchmarks, for bags of tags and for sparse vectors.
"""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from ann_bench.arrays import Array, ArrayRef, CsrRef
from ann_bench.datasets.files import atomic
from ann_bench.datasets.formats.xbin import wrong_size
from ann_bench.errors import DataError

HEADER = 24
_COPY = 2 << 20


def locate_spmat(path: Path) -> CsrRef:
    """Where the matrix lies; raises DataError where the file is not as long as its header says.

    Whether row ends and column numbers make sense is for `ann_bench.datasets.scan` to find.
    """
    with path.open("rb") as stream:
        header = stream.read(HEADER)
    size = path.stat().st_size
    if len(header) < HEADER:
        raise DataError(f"{path}: {size} bytes are too few for a header of {HEADER}: fetch or write the file again")
    rows, columns, nonzeros = struct.unpack("<qqq", header)
    if min(rows, columns, nonzeros) < 0:
        raise DataError(f"{path}: the header has a negative count ({rows}, {columns}, {nonzeros}): not a .spmat file")
    indices = HEADER + 8 * (rows + 1)
    data = indices + 4 * nonzeros
    expected = data + 4 * nonzeros
    if size != expected:
        raise wrong_size(path, size, expected, f"{rows:,} rows, {nonzeros:,} nonzeros")
    name = str(path)
    return CsrRef(
        ArrayRef(name, "int64", (rows + 1,), HEADER),
        ArrayRef(name, "int32", (nonzeros,), indices),
        ArrayRef(name, "float32", (nonzeros,), data),
        (rows, columns),
    )


class SpmatWriter:
    """Takes the rows of a matrix, block after block; how many nonzeros there are need not be known before."""

    def __init__(
        self, stream: IO[bytes], waiting: IO[bytes], shape: tuple[int, int], palette: Array | None = None
    ) -> None:
        self._stream = stream
        self._waiting = waiting
        self._waits = 0  # nonzeros whose values wait: all but the ones at the end
        self._shape = shape
        self._palette = None if palette is None else palette.astype("<f4")
        self._ends = np.zeros(shape[0] + 1, dtype="<i8")
        self.rows = 0
        stream.write(b"\0" * (HEADER + self._ends.nbytes))

    @property
    def nonzeros(self) -> int:
        """Nonzeros so far."""
        return int(self._ends[self.rows])

    def append(
        self, counts: npt.NDArray[np.integer[Any]], indices: npt.NDArray[np.integer[Any]], values: Array | None = None
    ) -> None:
        """Add `len(counts)` rows: the nonzeros of each, their columns one after another, their values (None: ones).

        Where there is a palette, the values are places in it, as uint8.
        """
        if values is None and self._palette is not None:
            raise ValueError("a writer with a palette needs values")
        start, stop = self.rows, self.rows + len(counts)
        np.cumsum(counts, out=self._ends[start + 1 : stop + 1])
        self._ends[start + 1 : stop + 1] += self._ends[start]
        self.rows = stop
        if self.nonzeros - int(self._ends[start]) != len(indices):
            raise ValueError(f"{len(indices)} column numbers do not fill the counts")
        self._stream.write(np.ascontiguousarray(indices, dtype="<i4").data)
        if values is not None:
            _write_ones(self._waiting, int(self._ends[start]) - self._waits)
            self._waiting.write(np.ascontiguousarray(values, dtype="<f4" if self._palette is None else "u1").data)
            self._waits = self.nonzeros

    def finish(self) -> None:
        """Append the values and fill in the header."""
        if self.rows != self._shape[0]:
            raise ValueError(f"{self.rows} rows were written instead of {self._shape[0]}")
        self._waiting.seek(0)
        while block := self._waiting.read(_COPY):
            if self._palette is not None:
                block = self._palette.take(np.frombuffer(block, dtype=np.uint8)).tobytes()
            self._stream.write(block)
        _write_ones(self._stream, self.nonzeros - self._waits)
        self._stream.seek(0)
        self._stream.write(struct.pack("<qqq", *self._shape, self.nonzeros))
        self._stream.write(self._ends.data)
        self._stream.seek(0, os.SEEK_END)


def _write_ones(stream: IO[bytes], count: int) -> None:
    for start in range(0, count, _COPY):
        stream.write(np.ones(min(_COPY, count - start), dtype="<f4").data)


@contextmanager
def spmat_writer(path: Path, shape: tuple[int, int], palette: Array | None = None) -> Iterator[SpmatWriter]:
    """A writer whose file appears as `path` when all rows are in it; raises StorageError where it cannot be written.

    Memory: 8 bytes a row. The values wait in an unnamed file beside it, unless they are all ones. Where there are
    few values, a `palette` (up to 256 values, float32) shortens what waits to a byte each.
    """
    with atomic(path) as stream, tempfile.TemporaryFile(dir=path.parent) as waiting:
        writer = SpmatWriter(stream, waiting, shape, palette)
        yield writer
        writer.finish()


def write_spmat(path: Path, matrix: csr_matrix) -> None:
    """Write a CSR matrix as it stands (no sorting, no merging), atomically."""
    with spmat_writer(path, matrix.shape) as writer:
        writer.append(np.diff(matrix.indptr), matrix.indices, matrix.data)


def write_canonical(ref: CsrRef, path: Path) -> None:
    """Write the matrix with the columns of each row ascending and distinct (values of equal columns are summed)."""
    indptr, indices, data = ref.indptr.open(), ref.indices.open(), ref.data.open()
    with spmat_writer(path, ref.shape) as writer:
        start = 0
        while start < ref.shape[0]:
            stop = int(np.searchsorted(indptr, indptr[start] + (1 << 21), side="right")) - 1
            stop = min(max(stop, start + 1), ref.shape[0])
            low, high = int(indptr[start]), int(indptr[stop])
            parts = (np.array(data[low:high]), np.array(indices[low:high]), np.array(indptr[start : stop + 1]) - low)
            block = csr_matrix(parts, shape=(stop - start, ref.shape[1]))
            block.sum_duplicates()
            writer.append(np.diff(block.indptr), block.indices, block.data)
            start = stop
