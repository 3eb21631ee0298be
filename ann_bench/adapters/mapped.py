"""Arrays that the worker mapped from files: which file it is, and a view of it that may be written to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from ann_bench.arrays import Array


def whole_file(array: Array) -> tuple[Path, int] | None:
    """The file that this contiguous array is mapped from, and where in it; None where it is not mapped."""
    owner: object = array
    while isinstance(owner, np.ndarray) and not isinstance(owner, np.memmap):
        owner = owner.base
    # Of views of a memmap each is one; only the first maps, and knows where.
    while isinstance(owner, np.memmap) and isinstance(owner.base, np.memmap):
        owner = owner.base
    if not isinstance(owner, np.memmap) or owner.filename is None or not array.flags.c_contiguous:
        return None
    skipped = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return Path(owner.filename), int(owner.offset) + skipped


def writable(array: Array) -> Array:
    """The same values where the wrapper may write: mapped anew, copied page by page only where it does write."""
    if array.flags.writeable:
        return array
    where = whole_file(array)
    if where is None or not array.nbytes:
        return np.array(array)
    path, offset = where
    mapped = np.memmap(path, dtype=array.dtype, mode="c", offset=offset, shape=array.shape)
    return mapped.view(np.ndarray)


def writable_csr(matrix: csr_matrix) -> csr_matrix:
    """The same matrix over arrays that may be written to."""
    made = csr_matrix(matrix.shape, dtype=matrix.dtype)
    made.indptr, made.indices, made.data = (writable(part) for part in (matrix.indptr, matrix.indices, matrix.data))
    return made
