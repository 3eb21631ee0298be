"""Files of exact answers: one for all the searches of a workload, written block by block, read as mapped arrays.

    <name>.truth
        8 bytes       "ANNTRUTH"
        32 bytes      the key of the file
        u64           how many searches
        for each      32 bytes its key, u64 queries, u64 k
        for each      i32 ids (queries, k), f64 distances (queries, k), each from a multiple of 8 bytes
        32 bytes      sha256 of all that stands before

Little endian. While it is made it is `<name>.part`, and `<name>.part.done` names, a JSON object a line, each block
that the part holds, with the sha256 of its answers: a block that is not what its line says is not there.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.datasets.files import check_space, sync_folder, writing
from ann_bench.truth.model import Truth

log = logging.getLogger(__name__)

_MAGIC = b"ANNTRUTH"
_START = struct.Struct("<8s32sQ")
_SEARCH = struct.Struct("<32sQQ")
_DIGEST = 32
_PIECE = 1 << 24  # bytes that are read at once to hash a file


@dataclass(frozen=True)
class Outline:
    """What a file holds: its own key, and the key, number of queries and k of each search."""

    key: str
    searches: tuple[tuple[str, int, int], ...]

    def header(self) -> bytes:
        """The first bytes of the file."""
        parts = [_SEARCH.pack(bytes.fromhex(key), queries, k) for key, queries, k in self.searches]
        return _START.pack(_MAGIC, bytes.fromhex(self.key), len(self.searches)) + b"".join(parts)

    def places(self) -> list[tuple[int, int]]:
        """Where the ids and the distances of each search begin."""
        found, end = [], len(self.header())
        for _, queries, k in self.searches:
            distances = _padded(end + 4 * queries * k)
            found.append((end, distances))
            end = distances + 8 * queries * k
        return found

    @property
    def size(self) -> int:
        """Bytes before the sha256 of the file."""
        if not self.searches:
            return len(self.header())
        _, queries, k = self.searches[-1]
        return self.places()[-1][1] + 8 * queries * k


@dataclass(frozen=True, order=True)
class Block:
    """The queries `first` to `last`, without `last`, of the searches of one kind."""

    kind: int
    first: int
    last: int


def read(path: Path, outline: Outline) -> tuple[Truth, ...] | None:
    """The answers in a file, mapped read-only; None where there is no file, or it is not what it should be.

    The whole file is hashed, piece by piece, before any of it is believed.
    """
    try:
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            header = outline.header()
            sound = size == outline.size + _DIGEST and stream.read(len(header)) == header
            sound = sound and _digest(stream, outline.size) == _last(stream)
            if not sound:
                log.warning("%s: the file is damaged: computing these answers again", path)
                return None
            mapped = np.memmap(stream, dtype=np.uint8, mode="r").view(np.ndarray)  # one mapping for all
    except FileNotFoundError:
        return None
    except OSError as error:
        log.warning("%s: cannot be read (%s): computing these answers again", path, error.strerror)
        return None
    truths = []
    for (key, queries, k), (ids, distances) in zip(outline.searches, outline.places(), strict=True):
        cells = queries * k
        truths.append(
            Truth(
                mapped[ids : ids + 4 * cells].view("<i4").reshape(queries, k),
                mapped[distances : distances + 8 * cells].view("<f8").reshape(queries, k),
                key,
            )
        )
    return tuple(truths)


Answer = tuple[int, npt.NDArray[np.int32], npt.NDArray[np.float64]]  # number of the search, ids, distances


class Part:
    """A file of answers that is being made; for the holder of its lock.

    `kinds` names the searches of each kind. A part that an earlier run left is taken up where it is sound and for
    this very outline, else begun anew. Raises StorageError where it cannot be written or the disk has too little room.
    """

    def __init__(self, path: Path, outline: Outline, kinds: tuple[tuple[int, ...], ...]) -> None:
        self._path, self._outline, self._kinds = path, outline, kinds
        self._part = path.with_suffix(".part")
        self._notes = path.with_suffix(".part.done")
        self._places = outline.places()
        with writing(self._part):
            self._begin()
        self.done = sorted(self._sound())

    def _begin(self) -> None:
        header, size = self._outline.header(), self._outline.size + _DIGEST
        self._part.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self._part.open("rb") as stream:
                ours = os.fstat(stream.fileno()).st_size == size and stream.read(len(header)) == header
        except FileNotFoundError:
            ours = False
        if ours:
            return
        self._part.unlink(missing_ok=True)
        self._notes.unlink(missing_ok=True)
        check_space(self._part.parent, size, "a file of exact answers")
        with self._part.open("wb") as stream:
            stream.truncate(size)
            stream.write(header)

    def _sound(self) -> Iterator[Block]:
        """The blocks that an earlier run finished."""
        try:
            lines = self._notes.read_bytes().splitlines()
        except FileNotFoundError:
            return
        found: dict[Block, str] = {}
        for line in lines:
            noted = _note(line)
            if noted is not None and self._fits(noted[0]):
                found[noted[0]] = noted[1]
        for block in [*found]:
            if any(other != block and _overlap(other, block) for other in found) or self._hash(block) != found[block]:
                del found[block]
        kept = "".join(_line(block, digest) for block, digest in found.items())
        with writing(self._notes):
            self._notes.write_text(kept, encoding="ascii")  # also ends a line that was cut short
        if len(found) < len(lines):
            log.warning("%s: some of it is damaged: computing that again", self._part)
        yield from found

    def _fits(self, block: Block) -> bool:
        if not 0 <= block.kind < len(self._kinds):
            return False
        return 0 <= block.first < block.last <= self._outline.searches[self._kinds[block.kind][0]][1]

    def _hash(self, block: Block) -> str:
        whole = hashlib.sha256()
        with self._part.open("rb") as stream:
            for search in self._kinds[block.kind]:
                for start, size in self._spans(search, block.first, block.last):
                    stream.seek(start)
                    whole.update(stream.read(size))
        return whole.hexdigest()

    def _spans(self, search: int, first: int, last: int) -> list[tuple[int, int]]:
        """Where the ids and the distances of some queries lie: start and number of bytes."""
        k = self._outline.searches[search][2]
        return [
            (start + first * k * item, (last - first) * k * item)
            for start, item in zip(self._places[search], (4, 8), strict=True)
        ]

    def write(self, block: Block, answers: Iterable[Answer]) -> None:
        """Write the answers of a block, those of the searches of its kind in order, and note that it is done."""
        whole = hashlib.sha256()
        with writing(self._part), self._part.open("r+b") as stream:
            for search, ids, distances in answers:
                arrays = np.ascontiguousarray(ids, dtype="<i4"), np.ascontiguousarray(distances, dtype="<f8")
                spans = self._spans(search, block.first, block.last)
                for (start, size), values in zip(spans, arrays, strict=True):
                    if values.nbytes != size:
                        raise ValueError(f"{values.nbytes} bytes of answers, room for {size}")
                    stream.seek(start)
                    stream.write(values.data)
                    whole.update(values.data)
        with writing(self._notes), self._notes.open("a", encoding="ascii") as notes:
            notes.write(_line(block, whole.hexdigest()))
        self.done = sorted([*self.done, block])

    def finish(self) -> None:
        """Close the file with its hash, and give it its name."""
        with writing(self._part):
            with self._part.open("r+b") as stream:
                digest = _digest(stream, self._outline.size)
                stream.seek(self._outline.size)
                stream.write(digest)
                stream.flush()
                os.fsync(stream.fileno())
            self._part.replace(self._path)
            self._notes.unlink(missing_ok=True)
            sync_folder(self._path.parent)


def _padded(place: int) -> int:
    return -(-place // 8) * 8


def _digest(stream: Any, size: int) -> bytes:
    """sha256 of the first bytes of a file; leaves the file behind them."""
    whole = hashlib.sha256()
    stream.seek(0)
    while size > 0 and (piece := stream.read(min(size, _PIECE))):
        whole.update(piece)
        size -= len(piece)
    return whole.digest()


def _last(stream: Any) -> bytes:
    return bytes(stream.read(_DIGEST))


def _line(block: Block, digest: str) -> str:
    return json.dumps({"block": [block.kind, block.first, block.last], "sha256": digest}) + "\n"


def _note(line: bytes) -> tuple[Block, str] | None:
    """The block and hash of a line; None where it was cut short."""
    try:
        value = json.loads(line)
        kind, first, last = (int(number) for number in value["block"])
        return Block(kind, first, last), str(value["sha256"])
    except (ValueError, KeyError, TypeError):
        return None


def _overlap(one: Block, other: Block) -> bool:
    return one.kind == other.kind and one.first < other.last and other.first < one.last
