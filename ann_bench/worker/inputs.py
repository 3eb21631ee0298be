"""Files that the judge fills: mapped before the clock runs, read while it does."""

from __future__ import annotations

from typing import Any

import numpy as np

from ann_bench.arrays import Array, ArrayRef, CsrRef, csr, ref_from_json
from ann_bench.wire import Message


class Input:
    """An input that is mapped before `go` and filled by the judge at `go`, or line by line as queries are asked."""

    def __init__(self, description: Message | None) -> None:
        self._ref = None if description is None else ref_from_json(description)
        refs = [self._ref] if isinstance(self._ref, ArrayRef) else []
        if isinstance(self._ref, CsrRef):
            refs = [self._ref.indptr, self._ref.indices, self._ref.data]
        self._arrays = [ref.open() for ref in refs]
        for array in self._arrays:
            _touch(array)

    def get(self) -> Any:
        """The array, or the CSR matrix over the arrays, or None."""
        if isinstance(self._ref, CsrRef):
            indptr, indices, data = self._arrays
            return csr(indptr, indices, data, self._ref.shape)
        return self._arrays[0] if self._arrays else None

    def line(self, row: int) -> Any:
        """One line of it, as an array of one line (a CSR matrix likewise), or None."""
        if isinstance(self._ref, CsrRef):
            indptr, indices, data = self._arrays
            start, stop = indptr[row], indptr[row + 1]
            own = np.array((0, stop - start), dtype=indices.dtype)
            return csr(own, indices[start:stop], data[start:stop], (1, self._ref.shape[1]))
        return self._arrays[0][row : row + 1] if self._arrays else None


def touch_for_writing(ref: ArrayRef) -> Array:
    """The array, mapped, with every page faulted in for writing."""
    array = ref.open_writable()
    cells = array.reshape(-1)[:: 4096 // array.itemsize]
    cells[...] = cells.copy()
    return array


def _touch(array: Array) -> None:
    """Fault every page in now, so that the entry's call does not pay for it."""
    if array.nbytes:
        int(array.reshape(-1).view(np.uint8)[::4096].sum())
