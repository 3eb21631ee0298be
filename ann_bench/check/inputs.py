"""The arrays of a case as files that its worker may read."""

from __future__ import annotations

import contextlib
import secrets
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from ann_bench.arrays import Array, ArrayRef, CsrRef, Ref
from ann_bench.check.case import Data, Vectors
from ann_bench.datasets.dataset import Dataset

#: Vectors begin where they begin in an .xbin file: two numbers of four bytes stand before them.
HEADER = 8


class Inputs:
    """Files in a folder that judge and worker share, from their making to `remove`."""

    def __init__(self, folder: Path, data: Data) -> None:
        self._folder = folder
        self._files: dict[Path, bytes] = {}
        self.dataset: Dataset = replace(
            data.dataset(),
            base=self._place(data.base),
            tags=None if data.tags is None else self._csr(data.tags),
            learn=None if data.learn is None else self._place(data.learn),
        )

    def written(self) -> bool:
        """Whether somebody has changed a file; where a worker has ended, its files are gone."""
        return any(path.exists() and path.read_bytes() != content for path, content in self._files.items())

    def remove(self) -> None:
        """Remove the files."""
        for path in self._files:
            with contextlib.suppress(OSError):
                path.unlink()

    def _place(self, value: Vectors) -> Ref:
        return self._array(value, HEADER) if isinstance(value, np.ndarray) else self._csr(value)

    def _csr(self, value: csr_matrix) -> CsrRef:
        indptr = self._array(value.indptr.astype(np.int64), HEADER)
        return CsrRef(indptr, self._array(value.indices, HEADER), self._array(value.data, HEADER), value.shape)

    def _array(self, value: Array, offset: int) -> ArrayRef:
        path = self._folder / secrets.token_hex(8)
        content = bytes(offset) + np.ascontiguousarray(value).tobytes()
        path.write_bytes(content)
        path.chmod(0o644)
        self._files[path] = content
        return ArrayRef(str(path), value.dtype.name, value.shape, offset)
