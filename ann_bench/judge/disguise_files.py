"""Writes rows of an array in another order and form, block by block, into files that last as long as a run."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt
import psutil
from scipy.sparse import csr_matrix

from ann_bench.arrays import Array, ArrayRef, CsrRef
from ann_bench.datasets.cache import cache_root
from ann_bench.datasets.files import check_space, writing
from ann_bench.ragged import offsets_of, places_of

_BLOCK_BYTES = 8 << 20

Order = npt.NDArray[np.int64]


@contextmanager
def scratch(needed: int) -> Iterator[Writer]:
    """A folder in the cache for `needed` bytes, removed when the block ends, however it ends.

    Its name and those in it tell nothing. What judges that were killed have left there is removed as well. Raises
    StorageError where there is no room.
    """
    place = cache_root() / "scratch"
    check_space(place, needed, "a data set in disguise")
    for left in place.glob("*-*"):
        pid = left.name.partition("-")[0]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(left, ignore_errors=True)
    with writing(place):
        folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=place))
        folder.chmod(0o755)  # workers of other users read in it
    try:
        yield Writer(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            place.rmdir()


def blocks_of(ref: ArrayRef) -> Iterator[range]:
    """Rows in blocks of a few megabytes."""
    rows = ref.shape[0]
    step = max(1, _BLOCK_BYTES * rows // max(1, ref.nbytes))
    for first in range(0, rows, step):
        yield range(first, min(rows, first + step))


@dataclass(frozen=True)
class Writer:
    """Writes arrays into a folder; errors of the disk are StorageErrors."""

    folder: Path

    def dense(self, ref: ArrayRef, order: Order | None, change: Callable[[Array], Array]) -> ArrayRef:
        """The rows in this order (None: theirs), each block changed."""
        source, path = ref.open(), self._path()
        with writing(path), path.open("wb") as stream:
            for rows in blocks_of(ref):
                taken = source[rows.start : rows.stop] if order is None else source[order[rows.start : rows.stop]]
                _put(stream, change(taken).astype(ref.dtype, copy=False))
        return ArrayRef(str(path), ref.dtype, ref.shape)

    def sparse(self, ref: CsrRef, order: Order | None, change: Callable[[csr_matrix], csr_matrix]) -> CsrRef:
        """The same of CSR rows, whose number of values no change may alter."""
        indptr, indices, data = ref.indptr.open(), ref.indices.open(), ref.data.open()
        lengths = np.diff(indptr)
        ends = offsets_of(lengths if order is None else lengths[order])
        paths = [self._path() for _ in range(3)]
        with contextlib.ExitStack() as stack:
            stack.enter_context(writing(paths[0]))
            first, second, third = (stack.enter_context(path.open("wb")) for path in paths)
            _put(first, ends.astype(ref.indptr.dtype, copy=False))
            for rows in _rows_of(ends):
                wanted = np.arange(rows.start, rows.stop) if order is None else order[rows.start : rows.stop]
                own, places = places_of(indptr, wanted)
                shown = change(csr_matrix((data[places], indices[places], own), shape=(len(rows), ref.shape[1])))
                _put(second, shown.indices.astype(ref.indices.dtype, copy=False))
                _put(third, shown.data.astype(ref.data.dtype, copy=False))
        parts = zip(paths, (ref.indptr, ref.indices, ref.data), strict=True)
        indptr_, indices_, data_ = (ArrayRef(str(path), part.dtype, part.shape) for path, part in parts)
        return CsrRef(indptr_, indices_, data_, ref.shape)

    def _path(self) -> Path:
        path = self.folder / secrets.token_hex(8)
        path.touch(mode=0o644)
        path.chmod(0o644)  # workers of other users read it, whatever the umask is
        return path


def _rows_of(ends: npt.NDArray[np.int64]) -> Iterator[range]:
    """Rows of a CSR matrix in blocks of about a million values, or one row that has more."""
    first, last = 0, len(ends) - 1
    while first < last:
        stop = int(np.searchsorted(ends, ends[first] + (_BLOCK_BYTES >> 3), side="right")) - 1
        stop = min(last, max(first + 1, min(stop, first + (1 << 20))))
        yield range(first, stop)
        first = stop


def _put(stream: IO[bytes], values: Array) -> None:
    np.ascontiguousarray(values).tofile(stream)
