"""Files of exact answers to range searches, of any number to a query: written block by block, read as mapped arrays.

    <key>.ranges
        8 bytes       "ANNRANGE"
        32 bytes      the key
        u64 u64       queries, answers
        i64           offsets (queries + 1,)
        f64           distances (answers,)
        i32           ids (answers,)
        32 bytes      sha256 of all that stands before

Little endian. While it is made, each block of queries is a file of the same layout in the folder `<key>.parts`, named
`<first>-<last>`, so that interrupted work goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ann_bench.datasets.files import atomic, check_space, writing
from ann_bench.ragged import Ragged, offsets_of
from ann_bench.truth.model import RangeTruth

log = logging.getLogger(__name__)

_MAGIC = b"ANNRANGE"
_START = struct.Struct("<8s32sQQ")
_DIGEST = 32
_PIECE = 1 << 24  # bytes that are read or written at once


def read(path: Path, key: str) -> RangeTruth | None:
    """The answers in a file, mapped read-only; None where there is no file, or it is not what it should be."""
    try:
        with path.open("rb") as stream:
            start = stream.read(_START.size)
            size = os.fstat(stream.fileno()).st_size
            magic, found, queries, total = _START.unpack(start) if len(start) == _START.size else (b"", b"", 0, 0)
            sound = (magic, found, size) == (_MAGIC, bytes.fromhex(key), _size(queries, total) + _DIGEST)
            if not sound or not _whole(path, size):
                log.warning("%s: the file is damaged: computing these answers again", path)
                return None
            mapped = np.memmap(stream, dtype=np.uint8, mode="r").view(np.ndarray)
    except FileNotFoundError:
        return None
    except OSError as error:
        log.warning("%s: cannot be read (%s): computing these answers again", path, error.strerror)
        return None
    ends = np.cumsum([_START.size, 8 * (queries + 1), 8 * total, 4 * total])
    offsets, distances, ids = (
        mapped[first:last].view(dtype)
        for first, last, dtype in zip(ends[:-1], ends[1:], ("<i8", "<f8", "<i4"), strict=True)
    )
    return RangeTruth(Ragged(offsets, ids), distances, key)


def write(path: Path, key: str, blocks: Sequence[RangeTruth]) -> None:
    """Write the answers to some queries, block after block, as one file; it appears whole."""
    counts = np.concatenate([block.counts for block in blocks]) if blocks else np.zeros(0, dtype=np.int64)
    offsets = offsets_of(counts)
    total = int(offsets[-1])
    check_space(path.parent, _size(len(counts), total) + _DIGEST, "a file of exact answers")
    with atomic(path) as stream:
        whole = hashlib.sha256()

        def put(data: bytes | memoryview) -> None:
            stream.write(data)
            whole.update(data)

        put(_START.pack(_MAGIC, bytes.fromhex(key), len(counts), total))
        for arrays, dtype in (
            ([offsets], "<i8"),
            ([block.distances for block in blocks], "<f8"),
            ([block.found.ids for block in blocks], "<i4"),
        ):
            for piece in _pieces(arrays, dtype):
                put(piece)
        stream.write(whole.digest())


class Parts:
    """The blocks of a file that is being made; for the holder of its lock. StorageError where it cannot be written."""

    def __init__(self, path: Path, key: str) -> None:
        self._path, self._key = path, key
        self.folder = path.with_suffix(".parts")
        self.blocks: list[RangeTruth] = []
        self.done = 0
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            kept = {first: last for first, last in map(_span, self.folder.iterdir()) if last > first >= 0}
        while self.done in kept:
            block = read(self._file(self.done, kept[self.done]), key)
            if block is None or len(block.counts) != kept[self.done] - self.done:
                break
            self.blocks.append(block)
            self.done = kept[self.done]

    def add(self, block: RangeTruth) -> None:
        """Keep the next block."""
        path = self._file(self.done, self.done + len(block.counts))
        write(path, self._key, [block])
        kept = read(path, self._key)  # mapped: what is on the disk need not be in memory
        self.blocks.append(block if kept is None else kept)
        self.done += len(block.counts)

    def finish(self) -> None:
        """Make one file of all the blocks."""
        write(self._path, self._key, self.blocks)
        self.blocks.clear()
        with writing(self.folder):
            shutil.rmtree(self.folder)

    def _file(self, first: int, last: int) -> Path:
        return self.folder / f"{first}-{last}"


def _size(queries: int, total: int) -> int:
    return _START.size + 8 * (queries + 1) + 12 * total


def _whole(path: Path, size: int) -> bool:
    """Whether the last bytes of a file are the hash of those before."""
    whole = hashlib.sha256()
    left = size - _DIGEST
    with path.open("rb") as stream:
        while left > 0 and (piece := stream.read(min(left, _PIECE))):
            whole.update(piece)
            left -= len(piece)
        return stream.read() == whole.digest()


def _pieces(arrays: Iterable[npt.NDArray[np.generic]], dtype: str) -> Iterable[memoryview]:
    step = _PIECE // np.dtype(dtype).itemsize
    for array in arrays:
        for start in range(0, len(array), step):
            yield np.ascontiguousarray(array[start : start + step], dtype=dtype).data


def _span(path: Path) -> tuple[int, int]:
    """First and last of a block's name; (0, 0) of any other file."""
    first, _, last = path.name.partition("-")
    return (int(first), int(last)) if first.isdigit() and last.isdigit() else (0, 0)
