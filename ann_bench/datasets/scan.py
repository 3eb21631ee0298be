"""One pass over an array: its content hash, and whether its values can be searched.

Remembered in the cache under path, size, time of change and inode of the file and the place in it, so that a
data set that has not changed is opened in milliseconds. Works in blocks: memory does not grow with the array.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ann_bench.arrays import Array, ArrayRef, CsrRef, Ref
from ann_bench.datasets.cache import cache_root
from ann_bench.datasets.files import identity, read_json, write_json
from ann_bench.errors import DataError, StorageError
from ann_bench.progress import Progress, silent

_BLOCK = 8 << 20
_TICK = 50_000_000  # nanoseconds


@dataclass(frozen=True)
class Facts:
    """What one pass found.

    `fingerprint`: sha256 in hexadecimal over dtype, shape and values; `problem`: why the array cannot be
    searched (None: it can); `canonical`: whether the columns of each CSR row ascend (true of dense arrays).
    """

    fingerprint: str
    problem: str | None = None
    canonical: bool = True


def facts(ref: Ref, progress: Progress = silent) -> Facts:
    """The facts of an array, from the cache's memory where the file has not changed since.

    Raises DataError where the file is missing or shorter than `ref` says.
    """
    found = recall("scan 1", ref.to_json(), paths_of(ref))
    if found is not None:
        return Facts(**found)
    before = _identities(paths_of(ref))
    scan = _Scan(progress, ref.nbytes)
    result = scan.sparse(ref) if isinstance(ref, CsrRef) else scan.dense(ref)
    if before == _identities(paths_of(ref)):
        remember("scan 1", ref.to_json(), paths_of(ref), asdict(result))
    return result


def file_sha256(path: Path, progress: Progress = silent) -> str:
    """sha256 in hexadecimal of a whole file; remembered like `facts`."""
    found = recall("sha256", None, [str(path)])
    if found is not None:
        return str(found["sha256"])
    before = _identities([str(path)])
    hasher, done, size = hashlib.sha256(), 0, path.stat().st_size
    with path.open("rb", buffering=0) as stream:
        while block := stream.read(_BLOCK):
            hasher.update(block)
            done += len(block)
            progress(f"hash {path.name}", done, size)
    if before == _identities([str(path)]):
        remember("sha256", None, [str(path)], {"sha256": hasher.hexdigest()})
    return hasher.hexdigest()


def recall(kind: str, detail: Any, paths: list[str]) -> dict[str, Any] | None:
    """What was remembered about these files, if they have not changed since."""
    note = read_json(_note(kind, detail, paths))
    if note is None or note.get("files") != _identities(paths):
        return None
    found: dict[str, Any] = note["facts"]
    return found


def remember(kind: str, detail: Any, paths: list[str], found: dict[str, Any]) -> None:
    """Remember facts about these files as they are now; a cache that cannot be written remembers nothing.

    Nothing is remembered of a file that changed a moment ago: the clock of file systems ticks so slowly that
    a second change could leave the same time on it.
    """
    files = _identities(paths)
    if any(time.time_ns() - changed < _TICK for _, changed, _ in files):
        return
    try:
        write_json(_note(kind, detail, paths), {"files": files, "paths": paths, "facts": found})
    except StorageError:
        return


def _note(kind: str, detail: Any, paths: list[str]) -> Path:
    name = hashlib.sha256(json.dumps([kind, detail, paths], sort_keys=True).encode()).hexdigest()[:32]
    return cache_root() / ".facts" / f"{name}.json"


def paths_of(ref: Ref) -> list[str]:
    """The files that an array lies in."""
    parts = (ref.indptr, ref.indices, ref.data) if isinstance(ref, CsrRef) else (ref,)
    return sorted({part.path for part in parts if part.nbytes})


def _identities(paths: list[str]) -> list[list[int]]:
    try:
        return [identity(Path(path)) for path in paths]
    except OSError as error:
        raise DataError(f"{error.filename}: cannot be read ({error.strerror}): fetch or write it again") from error


class _Scan:
    """The pass itself."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._hasher = hashlib.sha256()
        self._progress = progress
        self._done = 0
        self._total = total
        self._problem: str | None = None

    def dense(self, ref: ArrayRef) -> Facts:
        self._describe(ref)
        width = max(1, int(np.prod(ref.shape[1:], dtype=np.int64)))
        self._finite(ref, lambda position: position // width)
        return Facts(self._hasher.hexdigest(), self._problem)

    def sparse(self, ref: CsrRef) -> Facts:
        self._hasher.update(repr(("csr", ref.shape)).encode())
        self._row_ends(ref)
        canonical = self._columns(ref)
        self._describe(ref.data)
        self._finite(ref.data, lambda position: _row(ref, position))
        return Facts(self._hasher.hexdigest(), self._problem, canonical)

    def _describe(self, ref: ArrayRef) -> None:
        self._hasher.update(repr((np.dtype(ref.dtype).name, tuple(ref.shape))).encode())

    def _found(self, problem: str) -> None:
        self._problem = self._problem or problem

    def _blocks(self, ref: ArrayRef) -> Iterator[tuple[int, Array]]:
        """The values in order, flat: (position of the first, block); hashed on the way."""
        dtype = np.dtype(ref.dtype)
        count = int(np.prod(ref.shape, dtype=np.int64))
        if count == 0:
            return
        with Path(ref.path).open("rb", buffering=0) as stream:
            stream.seek(ref.offset)
            position = 0
            while position < count:
                block = np.fromfile(stream, dtype, min(_BLOCK // dtype.itemsize, count - position))
                if block.size == 0:
                    raise DataError(f"{ref.path}: ends before its array does: fetch or write the file again")
                self._hasher.update(block.data)
                yield position, block
                position += block.size
                self._done += block.nbytes
                self._progress(f"check {Path(ref.path).name}", self._done, self._total)

    def _finite(self, ref: ArrayRef, row_of: Any) -> None:
        floats = np.dtype(ref.dtype).kind == "f"
        for start, block in self._blocks(ref):
            if floats and self._problem is None:
                finite = np.isfinite(block)
                if not finite.all():
                    self._found(f"row {row_of(start + int(np.argmin(finite)))} holds NaN or infinity")

    def _row_ends(self, ref: CsrRef) -> None:
        self._describe(ref.indptr)
        last = 0
        for start, block in self._blocks(ref.indptr):
            steps = np.diff(block, prepend=block.dtype.type(last))
            if start == 0 and block[0] != 0:
                self._found(f"the first row begins at {block[0]} instead of 0")
            elif (steps < 0).any():
                self._found(f"row {start + int(np.argmax(steps < 0)) - 1} ends before it begins")
            last = int(block[-1])
        nonzeros = ref.indices.shape[0]
        if last != nonzeros:
            self._found(f"the last row ends at {last} instead of {nonzeros}")

    def _columns(self, ref: CsrRef) -> bool:
        self._describe(ref.indices)
        canonical, last = True, -1
        for start, block in self._blocks(ref.indices):
            if self._problem is not None:
                continue  # only the hash is left to do
            wrong = (block < 0) | (block >= ref.shape[1])
            if wrong.any():
                position = int(np.argmax(wrong))
                row = _row(ref, start + position)
                self._found(f"row {row} names column {block[position]}, valid are 0 to {ref.shape[1] - 1}")
                continue
            canonical = canonical and _ascending(ref, start, block, last)
            last = int(block[-1])
        return canonical


def _row(ref: CsrRef, position: int) -> int:
    return int(np.searchsorted(ref.indptr.open(), position, side="right")) - 1


def _ascending(ref: CsrRef, start: int, block: Array, last: int) -> bool:
    """Whether the columns ascend within each row; `last` is the value before the block."""
    indptr = ref.indptr.open()
    low, high = np.searchsorted(indptr, [start, start + block.size])
    begins = np.zeros(block.size, dtype=bool)
    begins[np.asarray(indptr[low:high]) - start] = True
    falls = np.empty(block.size, dtype=bool)
    falls[0] = block[0] <= last
    np.less_equal(block[1:], block[:-1], out=falls[1:])
    return not bool((falls & ~begins).any())
