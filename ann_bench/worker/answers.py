"""The answers of an entry on their way into the file that the judge reads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ann_bench.arrays import Array, ArrayRef
from ann_bench.wire import UNANSWERED

_PIECE = 1 << 20  # ids that are written at once


class InvalidAnswer(Exception):
    """The entry's answer has the wrong type or shape."""


def checked(result: Any, shape: Sequence[int]) -> Array:
    """The answer of `query` as an integer array of this shape, or InvalidAnswer."""
    try:
        ids = np.asarray(result)
    except ValueError as error:
        raise InvalidAnswer(f"query() returned no rectangular array ({error})") from error
    if ids.dtype.kind not in "iu":
        raise InvalidAnswer(f"query() returned {ids.dtype} instead of integer ids")
    if ids.shape != tuple(shape):
        raise InvalidAnswer(f"query() returned an array of shape {ids.shape} instead of {tuple(shape)}")
    return ids


class RangeAnswers:
    """The file of a range search: offsets (queries + 1,) int64, which the judge has made, then the ids, int64.

    Its end is not known beforehand, so that it grows when the ids come. Each id is stored as `id ^ UNANSWERED`: the
    zeros of a file that has grown, but was not written, are UNANSWERED then.
    """

    def __init__(self, offsets: ArrayRef, most: int) -> None:
        self._ref, self._most = offsets, most
        self._offsets = offsets.open_writable()
        cells = self._offsets[:: 4096 // self._offsets.itemsize]
        cells[...] = cells.copy()  # fault the pages in for writing

    def write(self, result: Any) -> None:
        """Check the answer and write it; InvalidAnswer where it is none."""
        offsets, ids = _checked(result, len(self._offsets) - 1, self._most)
        with open(self._ref.path, "r+b") as file:  # noqa: PTH123  the name came over the wire
            start = self._ref.offset + self._ref.nbytes
            os.ftruncate(file.fileno(), start + 8 * len(ids))
            file.seek(start)
            for first in range(0, len(ids), _PIECE):
                file.write((ids[first : first + _PIECE].astype(np.int64) ^ UNANSWERED).data)
        self._offsets[...] = offsets


def _checked(result: Any, queries: int, most: int) -> tuple[Array, Array]:
    """Offsets and ids as integer arrays that fit each other, or InvalidAnswer."""
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise InvalidAnswer(f"range_query() returned {type(result).__name__} instead of (offsets, ids)")
    offsets, ids = (_integers(name, part) for name, part in zip(("offsets", "ids"), result, strict=True))
    if offsets.shape != (queries + 1,):
        raise InvalidAnswer(f"range_query() returned offsets of shape {offsets.shape} instead of {(queries + 1,)}")
    if offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():
        raise InvalidAnswer("range_query() returned offsets that do not ascend from 0")
    if ids.shape != (int(offsets[-1]),):
        raise InvalidAnswer(f"range_query() returned ids of shape {ids.shape}, its offsets end at {int(offsets[-1]):,}")
    if len(ids) > most:
        raise InvalidAnswer(f"range_query() returned {len(ids):,} ids, a batch holds at most {most:,}")
    return offsets, ids


def _integers(name: str, value: Any) -> Array:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InvalidAnswer(f"range_query() returned {name} that are no array ({error})") from error
    if array.dtype.kind not in "iu":
        if array.size or name == "offsets":
            raise InvalidAnswer(f"range_query() returned {name} of type {array.dtype} instead of integers")
        array = array.astype(np.int64)  # an empty list has no type of its own
    return array
