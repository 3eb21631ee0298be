"""Rows of a matrix as blocks to compute with, read from a mapped file without a copy of the whole."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

Block: TypeAlias = Any  # a (rows, d) float32 or float64 array, or a canonical csr_matrix of the same shape
Index: TypeAlias = npt.NDArray[np.integer[Any]] | slice


class Rows(Protocol):
    """The rows of a dense or sparse matrix."""

    count: int
    dim: int
    small_integers: bool
    values_per_row: float

    def take(self, rows: Index) -> Block:
        """These rows, every value unchanged, as float32 where that holds it and float64 otherwise."""


def rows_of(matrix: npt.NDArray[Any] | csr_matrix) -> Rows:
    """The rows of an array or a CSR matrix, mapped or not."""
    return SparseRows(matrix) if isinstance(matrix, csr_matrix) else DenseRows(matrix)


def _block_dtype(dtype: np.dtype[Any]) -> type[np.floating[Any]]:
    return np.float32 if dtype.newbyteorder("=").name in ("uint8", "int8", "float16", "float32") else np.float64


class DenseRows:
    """The rows of an (n, d) array."""

    def __init__(self, matrix: npt.NDArray[Any]) -> None:
        self._matrix = np.asarray(matrix)  # a plain view: slicing np.memmap costs microseconds each time
        self.count, self.dim = matrix.shape
        self.small_integers = matrix.dtype.name in ("uint8", "int8")
        self.values_per_row = float(self.dim)
        self.dtype = matrix.dtype
        self._block_dtype = _block_dtype(matrix.dtype)

    def raw(self, rows: Index) -> npt.NDArray[Any]:
        """These rows in their own type; a slice is no copy."""
        return self._matrix[rows] if isinstance(rows, slice) else self._matrix.take(rows, axis=0)

    def take(self, rows: Index) -> Block:
        """These rows as a float array."""
        return self.raw(rows).astype(self._block_dtype, copy=False)


class SparseRows:
    """The rows of a CSR matrix; blocks are canonical: column numbers ascend, none comes twice."""

    def __init__(self, matrix: csr_matrix) -> None:
        self._matrix = matrix
        self.count, self.dim = matrix.shape
        self.small_integers = False  # float64 holds their sums exactly; there is no fast path to choose
        self.values_per_row = float(matrix.indptr[-1]) / max(1, self.count)
        self._block_dtype = _block_dtype(matrix.data.dtype)

    def take(self, rows: Index) -> Block:
        """These rows as a new CSR matrix."""
        indptr, where = csr_rows(self._matrix.indptr, rows)
        # Both are copies: what is made canonical below must not be the matrix itself, which may be read-only.
        wide, indices = self._matrix.data[where].astype(np.float64), np.array(self._matrix.indices[where])
        block = csr_matrix((wide, indices, indptr), shape=(len(indptr) - 1, self.dim))
        block.sum_duplicates()
        narrow = block.data.astype(self._block_dtype)
        # Twins summed in float64 may need float64 to be told; anything else came from the narrow type.
        if np.array_equal(narrow, block.data):
            block.data = narrow
        return block


def csr_rows(indptr: npt.NDArray[Any], rows: Index) -> tuple[npt.NDArray[np.int64], Index]:
    """Where the entries of some rows of a CSR matrix lie: the rows' own indptr, and a slice or index of entries.

    scipy's own row index casts all column numbers of a matrix with many entries; this touches none.
    """
    if isinstance(rows, slice):
        start, stop, _ = rows.indices(len(indptr) - 1)
        own = indptr[start : stop + 1].astype(np.int64)
        return own - own[0], slice(int(own[0]), int(own[-1]))
    first = indptr[rows].astype(np.int64)
    counts = indptr[np.asarray(rows) + 1].astype(np.int64) - first
    own = np.concatenate(([0], np.cumsum(counts)))
    where = np.arange(own[-1], dtype=np.int64) + np.repeat(first - own[:-1], counts)
    return own, where
