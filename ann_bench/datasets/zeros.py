"""Rows of zeros: they have no direction, so that no angle to them is anything."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ann_bench.arrays import CsrRef, Ref
from ann_bench.datasets.scan import paths_of, recall, remember

_BLOCK_VALUES = 1 << 22


def first_zero_row(ref: Ref) -> int | None:
    """The first row whose values are all zero (a sparse row may hold none at all); None where there is none.

    One pass in blocks, remembered for as long as the file stays as it is.
    """
    paths, detail = paths_of(ref), [ref.to_json()]
    known = recall("zero row", detail, paths)
    if known is None:
        known = {"row": next(_zero_rows(ref), None)}
        remember("zero row", detail, paths, known)
    row: int | None = known["row"]
    return row


def _zero_rows(ref: Ref) -> Iterator[int]:
    matrix = ref.open()
    width = ref.data.shape[0] / max(1, ref.shape[0]) if isinstance(ref, CsrRef) else ref.shape[1]
    step = max(1, int(_BLOCK_VALUES / max(1.0, width)))
    for start in range(0, ref.shape[0], step):
        some = _has_some(matrix, start, min(start + step, ref.shape[0]))
        yield from (start + np.flatnonzero(~some)).tolist()


def _has_some(matrix: npt.NDArray[np.generic], start: int, stop: int) -> npt.NDArray[np.bool_]:
    """Which of these rows have a value that is not zero."""
    if isinstance(matrix, np.ndarray):
        return np.asarray(matrix[start:stop].any(axis=1))
    ends = matrix.indptr[start : stop + 1].astype(np.int64)
    before = np.concatenate(([0], np.cumsum(matrix.data[ends[0] : ends[-1]] != 0)))[ends - ends[0]]
    return np.asarray(np.diff(before) > 0)
