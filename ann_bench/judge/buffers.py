"""Arrays in the folder that judge and worker share.

The worker may do anything to the files in that folder, so the judge makes each under a name of its own, keeps it open,
and reads and writes through the open file: nothing that is renamed, replaced or cut short reaches beyond the batch.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from pathlib import Path
from typing import Any

import numpy as np

from ann_bench.arrays import Array, ArrayRef, CsrRef, Ref
from ann_bench.errors import StorageError
from ann_bench.judge.ranges import read_ranges
from ann_bench.ragged import Ragged
from ann_bench.sandbox import Session
from ann_bench.wire import UNANSWERED, WireError
from ann_bench.workload import Search


class Batch:
    """The files of one batch: inputs that stay empty until `fill`, and the place for the answers.

    Nothing of the queries is in the files until `fill` is called, just before the clock is read; every cell of the
    answers holds UNANSWERED until the worker writes it. Of a range search these are the offsets; the worker lets the
    file grow for the ids, of which at most `most` are read. Making it raises StorageError where there is no room,
    WireError where the worker has made the folder unusable.
    """

    def __init__(self, session: Session, queries: Any, tags: Any, search: Search, most: int) -> None:
        self._search, self._most = search, most
        self._folder = session.questions
        self._files: dict[str, int] = {}
        self._inputs: list[tuple[int, Array]] = []
        try:
            self.queries: Ref = self._place(queries)
            self.tags: Ref | None = None if tags is None else self._place(tags)
            count = queries.shape[0]
            shape = (count, search.k) if search.radius is None else (count + 1,)
            self.answers = self._make("int64", shape, session.answers, 0o666)
            _write(self._files[self.answers.path], np.full(self.answers.shape, UNANSWERED, dtype=np.int64))
        except OSError as error:
            self.remove()
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.ENFILE):
                place = f"{self._folder.parent}: no room for a batch of queries"
                raise StorageError(f"{place} ({error.strerror}); free some and run again") from error
            raise WireError(f"the shared folder was damaged ({error.strerror})") from error

    def fill(self) -> None:
        """Put the queries into their files."""
        for file, array in self._inputs:
            _write(file, array)

    def take(self) -> tuple[Array | Ragged, int]:
        """A copy of the answers as they are now, and how many queries lack some of them.

        WireError where the worker has cut the file short, or where its offsets lie.
        """
        file = self._files[self.answers.path]
        if self._search.radius is not None:
            return read_ranges(file, self.answers.shape[0] - 1, self._most)
        answers = np.empty(self.answers.shape, dtype=np.int64)
        view = as_bytes(answers)
        done = 0
        while done < len(view):
            read = os.preadv(file, [view[done:]], done)
            if not read:
                raise WireError("the file of the answers was cut short")
            done += read
        return answers, int((answers == UNANSWERED).any(axis=1).sum())

    def remove(self) -> None:
        """Close and remove the files; what the worker has made in the folder stays for the sandbox to remove."""
        for path, file in self._files.items():
            os.close(file)
            with contextlib.suppress(OSError):
                Path(path).unlink()
        self._files.clear()

    def _place(self, value: Any) -> Ref:
        if isinstance(value, np.ndarray):
            ref = self._make(value.dtype.name, value.shape)
            file = self._files[ref.path]
            _write(file, np.zeros(value.shape, dtype=value.dtype))
            self._inputs.append((file, np.ascontiguousarray(value)))
            return ref
        indptr, indices, data = (self._place(part) for part in (value.indptr, value.indices, value.data))
        assert isinstance(indptr, ArrayRef)
        assert isinstance(indices, ArrayRef)
        assert isinstance(data, ArrayRef)
        return CsrRef(indptr, indices, data, value.shape)

    def _make(self, dtype: str, shape: tuple[int, ...], folder: Path | None = None, mode: int = 0o644) -> ArrayRef:
        """A new file; the folders above it are the judge's alone, so that its mode is for the worker only."""
        path = str((folder or self._folder) / secrets.token_hex(8))
        self._files[path] = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        os.fchmod(self._files[path], mode)
        return ArrayRef(path, dtype, tuple(shape))


def as_bytes(array: Any) -> memoryview:
    """The memory of a contiguous array."""
    return memoryview(array.reshape(-1).view(np.uint8))


def _write(file: int, array: Array) -> None:
    view = as_bytes(array)
    done = 0
    while done < len(view):
        done += os.pwrite(file, view[done:], done)
