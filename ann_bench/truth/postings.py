"""Posting lists: for each tag that the queries use, the points that hold it, in ascending order.

Built from the rows' tags in two passes over blocks of rows (count, then place), so that memory holds the lists
and one block. Lists larger than what memory is given go to an unnamed temporary file that is mapped: the pages
belong to the file, and the system may drop them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from ann_bench.datasets.files import writing
from ann_bench.truth.points import Points
from ann_bench.truth.vectors import csr_rows

Ints = npt.NDArray[np.integer[Any]]
Numbers = npt.NDArray[np.int32]

_BLOCK_ENTRIES = 1 << 21  # tags of one block of rows: about 60 MiB of working memory
_BLOCK_POINTS = 1 << 18


class Postings:
    """The posting lists of the tags `used` (ascending, distinct) among `vocabulary` tags.

    `starts` and `stops` say where in `lists` the points of each used tag lie.
    """

    def __init__(self, used: Ints, starts: Ints, stops: Ints, lists: Numbers) -> None:
        self._slots = {tag: slot for slot, tag in enumerate(used.tolist())}
        self._starts: list[int] = starts.tolist()
        self._stops: list[int] = stops.tolist()
        self._lists = lists

    def of(self, tag: int) -> Numbers:
        """The points that hold the tag, ascending; a view, not to be changed."""
        slot = self._slots.get(tag)
        if slot is None:
            return self._lists[:0]
        return self._lists[self._starts[slot] : self._stops[slot]]

    def count(self, tag: int) -> int:
        """How many points hold the tag."""
        slot = self._slots.get(tag)
        return 0 if slot is None else self._stops[slot] - self._starts[slot]


def build(tags: csr_matrix, points: Points, used: Ints, memory_bytes: int, scratch: Path | None) -> Postings:
    """The posting lists of the tags `used`; tags beyond the vocabulary are held by no point.

    `tags` (rows, vocabulary) is the tags of the base rows, mapped or not. Lists of more than `memory_bytes` are
    mapped from a temporary file in `scratch` (None: the system's folder for such files). Raises StorageError where
    that cannot be written.
    """
    used = np.unique(used[(used >= 0) & (used < tags.shape[1])])
    slot_of = np.full(tags.shape[1], len(used), dtype=np.int32)  # unused tags share one slot that is not kept
    slot_of[used] = np.arange(len(used), dtype=np.int32)
    counts = np.zeros(len(used) + 1, dtype=np.int64)
    for _, _, slots in _blocks(tags, points, slot_of):
        counts += np.bincount(slots, minlength=len(counts))
    starts = np.concatenate(([0], np.cumsum(counts[:-1])))
    lists = _space(int(starts[-1]), memory_bytes, scratch)
    stops = starts[:-1].copy()
    for first, indptr, slots in _blocks(tags, points, slot_of):
        _place(lists, stops, first, _by_slot(indptr, slots, len(used)))
    return Postings(used, starts[:-1], stops, lists)


def _blocks(tags: csr_matrix, points: Points, slot_of: Numbers) -> Iterator[tuple[int, Ints, Numbers]]:
    """For each block of points: the first point, the block's indptr, and the slots of its tags."""
    average = max(1.0, float(tags.indptr[-1]) / max(1, tags.shape[0]))
    step = int(max(1, min(_BLOCK_POINTS, _BLOCK_ENTRIES / average)))
    for first in range(0, points.count, step):
        rows = points.rows(slice(first, min(first + step, points.count)))
        indptr, where = csr_rows(tags.indptr, rows)
        yield first, indptr, slot_of[tags.indices[where]]


def _by_slot(indptr: Ints, slots: Numbers, used: int) -> tuple[Ints, Numbers]:
    """The block by slot: where each used slot ends, and the points (from 0), ascending and distinct in a slot."""
    # The values are not looked at: a row holds a tag where it has an entry, even one of 0.
    matrix = csr_matrix((np.ones(len(slots), dtype=np.int8), slots, indptr), shape=(len(indptr) - 1, used + 1))
    columns = matrix.tocsc()
    ends, points = columns.indptr[1 : used + 1], columns.indices[: columns.indptr[used]]
    again = np.zeros(len(points), dtype=bool)  # a row may name a tag twice
    np.equal(points[1:], points[:-1], out=again[1:])
    borders = ends[:-1]
    again[borders[borders < len(points)]] = False
    if again.any():
        ends = ends - np.cumsum(np.concatenate(([False], again)))[ends]
        points = points[~again]
    return ends, points


def _place(lists: Numbers, stops: Ints, first: int, block: tuple[Ints, Numbers]) -> None:
    """Append a block's points to the lists; `stops` moves on."""
    ends, points = block
    lengths = np.diff(ends, prepend=0)
    where = np.repeat(stops - (ends - lengths), lengths)
    where += np.arange(len(points))
    lists[where] = points + np.int32(first)
    stops += lengths


def _space(size: int, memory_bytes: int, scratch: Path | None) -> Numbers:
    if size * 4 <= memory_bytes:
        return np.empty(size, dtype=np.int32)
    folder = Path(scratch or tempfile.gettempdir())
    with writing(folder), tempfile.TemporaryFile(dir=folder) as file:
        if hasattr(os, "posix_fallocate"):
            # A full disk is an error now; found out later, through the map, it would end the process.
            os.posix_fallocate(file.fileno(), 0, size * 4)
        else:
            file.truncate(size * 4)
        # asarray: slices of a np.memmap are slow to make
        return np.asarray(np.memmap(file, dtype=np.int32, mode="r+", shape=(size,)))
