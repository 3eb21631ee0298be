"""Where an array lies in a file, so that two processes can map it instead of sending it.

An `ArrayRef` names a file, a byte offset, a dtype and a shape; a `CsrRef` is three of them. Both open as
read-only views of the file: nothing is copied, and ten million rows cost no memory of one's own.
Judge and worker exchange them as JSON.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class ArrayRef:
    """A dense array in a file: `shape` values of `dtype` (numpy's name, little endian) from byte `offset`."""

    path: str
    dtype: str
    shape: tuple[int, ...]
    offset: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes that the array takes in the file."""
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize

    def open(self) -> Array:
        """The array, mapped read-only (an empty array where it has no elements)."""
        return self._map("r")

    def open_writable(self) -> Array:
        """The array, mapped so that what is written is seen by every process that maps the same file."""
        return self._map("r+")

    def _map(self, mode: Any) -> Array:
        if self.nbytes == 0:
            return np.empty(self.shape, dtype=self.dtype)
        mapped = np.memmap(self.path, dtype=self.dtype, mode=mode, offset=self.offset, shape=self.shape)
        return mapped.view(np.ndarray)  # some libraries refuse or slow down on subclasses

    def head(self, rows: int) -> ArrayRef:
        """The first `rows` rows."""
        return self.part(0, rows)

    def part(self, first: int, last: int) -> ArrayRef:
        """The rows `first` to `last`, without `last`."""
        row = int(np.prod(self.shape[1:], dtype=np.int64)) * np.dtype(self.dtype).itemsize
        return replace(self, shape=(last - first, *self.shape[1:]), offset=self.offset + first * row)

    def at(self, path: str) -> ArrayRef:
        """The same array, in a file that is known by another path (inside a container)."""
        return replace(self, path=path)

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {"path": self.path, "dtype": self.dtype, "shape": list(self.shape), "offset": self.offset}

    @staticmethod
    def from_json(value: dict[str, Any]) -> ArrayRef:
        """The inverse of `to_json`."""
        return ArrayRef(value["path"], value["dtype"], tuple(value["shape"]), value["offset"])


@dataclass(frozen=True)
class Held(ArrayRef):
    """An array in this process's memory that passes for one in a file; nobody else can open it."""

    values: Array = field(kw_only=True, repr=False, compare=False)

    @staticmethod
    def of(values: Array) -> Held:
        """This array."""
        return Held("", values.dtype.name, values.shape, values=values)

    def part(self, first: int, last: int) -> Held:
        """The rows `first` to `last`, without `last`."""
        return Held.of(self.values[first:last])

    def _map(self, mode: Any) -> Array:
        return self.values


@dataclass(frozen=True)
class CsrRef:
    """A sparse matrix in a file: row `i` holds `indices[indptr[i]:indptr[i+1]]` with the values in `data`."""

    indptr: ArrayRef
    indices: ArrayRef
    data: ArrayRef
    shape: tuple[int, int]

    @property
    def nbytes(self) -> int:
        """Bytes that the matrix takes in the file."""
        return self.indptr.nbytes + self.indices.nbytes + self.data.nbytes

    def open(self) -> csr_matrix:
        """The matrix; `indices` and `data` are mapped read-only, `indptr` is read (8 bytes a row)."""
        return csr(self.indptr.open(), self.indices.open(), self.data.open(), self.shape)

    def head(self, rows: int) -> CsrRef:
        """The first `rows` rows."""
        nnz = int(self.indptr.open()[rows])
        indptr = self.indptr.head(rows + 1)
        return CsrRef(indptr, self.indices.head(nnz), self.data.head(nnz), (rows, self.shape[1]))

    def part(self, first: int, last: int) -> CsrRef:
        """The rows `first` to `last`, without `last`; their `indptr` is held in memory (8 bytes a row)."""
        indptr = self.indptr.open()[first : last + 1].astype(np.int64)
        start, stop = int(indptr[0]), int(indptr[-1])
        indices, data = self.indices.part(start, stop), self.data.part(start, stop)
        return CsrRef(Held.of(indptr - start), indices, data, (last - first, self.shape[1]))

    def at(self, path: str) -> CsrRef:
        """The same matrix, in a file that is known by another path (inside a container)."""
        return CsrRef(self.indptr.at(path), self.indices.at(path), self.data.at(path), self.shape)

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        parts = {"indptr": self.indptr, "indices": self.indices, "data": self.data}
        return {"csr": {k: v.to_json() for k, v in parts.items()}, "shape": list(self.shape)}

    @staticmethod
    def from_json(value: dict[str, Any]) -> CsrRef:
        """The inverse of `to_json`."""
        parts = {k: ArrayRef.from_json(v) for k, v in value["csr"].items()}
        rows, columns = value["shape"]
        return CsrRef(parts["indptr"], parts["indices"], parts["data"], (rows, columns))


Ref = ArrayRef | CsrRef


def held(values: Array | csr_matrix) -> Ref:
    """A dense or sparse matrix in this process's memory."""
    return held_csr(values) if isinstance(values, csr_matrix) else Held.of(values)


def held_csr(matrix: csr_matrix) -> CsrRef:
    """A sparse matrix in this process's memory."""
    indptr, indices, data = (Held.of(part) for part in (matrix.indptr, matrix.indices, matrix.data))
    return CsrRef(indptr, indices, data, matrix.shape)


def ref_from_json(value: dict[str, Any]) -> Ref:
    """An `ArrayRef` or a `CsrRef`, whichever the JSON object describes."""
    return CsrRef.from_json(value) if "csr" in value else ArrayRef.from_json(value)


def csr(indptr: Array, indices: Array, data: Array, shape: tuple[int, int]) -> csr_matrix:
    """A `scipy.sparse.csr_matrix` over these three arrays, without a copy of `indices` and `data`.

    scipy wants both index arrays in one type; the small one (`indptr`) is cast, never the large one.
    """
    matrix = csr_matrix(shape, dtype=data.dtype)
    matrix.indptr = indptr.astype(indices.dtype) if int(indptr[-1]) <= np.iinfo(indices.dtype).max else indptr
    matrix.indices = indices
    matrix.data = data
    return matrix
