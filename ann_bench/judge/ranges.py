"""Answers of range searches on their way from the worker: how many there may be, and how they are read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.judge.scoring import stored_ids
from ann_bench.ragged import Ragged
from ann_bench.wire import UNANSWERED, WireError

#: A batch holds at most so many ids for each of its queries on average, and as many again as the base has rows.
EACH = 1000

_PIECE = 1 << 20  # ids that are read at once


def most_answers(queries: int, rows: int) -> int:
    """The most ids that a batch may hold: `EACH` a query and one for each row, and never more than there are pairs.

    It follows from what any entry knows, and bounds what an entry can put on the RAM disk.
    """
    return min(queries * rows, EACH * queries + rows)


def read_ranges(file: int, queries: int, most: int) -> tuple[Ragged, int]:
    """The answers in an open file as they are now, as they are stored, and how many queries lack some of them.

    The layout is that of `worker.answers.RangeAnswers`. Raises WireError where offsets lie or the file is too short.
    """
    offsets = np.empty(queries + 1, dtype=np.int64)
    _read(file, offsets, 0)
    unwritten = offsets == UNANSWERED
    if unwritten.any():
        return Ragged(np.zeros(queries + 1, np.int64), np.zeros(0, np.int32)), max(1, int(unwritten[1:].sum()))
    if offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any() or offsets[-1] > most:
        raise WireError("its answers have offsets that cannot be")
    ids = np.empty(int(offsets[-1]), dtype=np.int32)
    lacking = np.zeros(len(ids), dtype=np.bool_)
    for first, raw in _pieces(file, offsets.nbytes, len(ids)):
        values = raw ^ UNANSWERED
        lacking[first : first + len(raw)] = values == UNANSWERED
        ids[first : first + len(raw)] = stored_ids(values)
    answers = Ragged(offsets, ids)
    if not lacking.any():
        return answers, 0
    return answers, len(np.unique(np.searchsorted(offsets, np.flatnonzero(lacking), side="right")))


def _pieces(file: int, start: int, count: int) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    room = np.empty(min(_PIECE, count), dtype=np.int64)
    for first in range(0, count, _PIECE):
        piece = room[: min(_PIECE, count - first)]
        _read(file, piece, start + 8 * first)
        yield first, piece


def _read(file: int, into: Any, start: int) -> None:
    view = memoryview(into.view(np.uint8))
    done = 0
    while done < len(view):
        read = os.preadv(file, [view[done:]], start + done)
        if not read:
            raise WireError("the file of the answers was cut short")
        done += read
