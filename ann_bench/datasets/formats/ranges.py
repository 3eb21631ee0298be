"""Truth of range searches (`.rangeres`): i32 queries, i32 total, i32 counts (queries), i32 ids, f32 distances (total).

The layout is that of big-ann-benchmarks.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.arrays import ArrayRef
from ann_bench.datasets.files import atomic
from ann_bench.datasets.formats.xbin import wrong_size
from ann_bench.errors import DataError

HEADER = 8


@dataclass(frozen=True)
class Ranges:
    """Where the parts of such a file lie: `counts` (queries,) int32, `ids` (total,) int32, `distances` float32."""

    counts: ArrayRef
    ids: ArrayRef
    distances: ArrayRef


def locate_ranges(path: Path) -> Ranges:
    """Where counts, ids and distances lie; raises DataError where the file is not as its header says."""
    with path.open("rb") as stream:
        header = stream.read(HEADER)
    size = path.stat().st_size
    if len(header) < HEADER:
        raise DataError(f"{path}: {size} bytes are too few for a header of {HEADER}: fetch or write the file again")
    queries, total = struct.unpack("<ii", header)
    if queries < 0 or total < 0 or size != HEADER + 4 * queries + 8 * total:
        wanted = HEADER + 4 * max(queries, 0) + 8 * max(total, 0)
        raise wrong_size(path, size, wanted, f"{total:,} answers to {queries:,} queries")
    start = HEADER + 4 * queries
    counts = ArrayRef(str(path), "int32", (queries,), HEADER)
    numbers = counts.open()
    if (numbers < 0).any() or int(numbers.sum(dtype=np.int64)) != total:
        raise DataError(f"{path}: its counts do not add up to {total:,}: fetch or write the file again")
    return Ranges(
        counts,
        ArrayRef(str(path), "int32", (total,), start),
        ArrayRef(str(path), "float32", (total,), start + 4 * total),
    )


def write_ranges(
    path: Path,
    counts: npt.NDArray[np.integer[Any]],
    ids: npt.NDArray[np.integer[Any]],
    distances: npt.NDArray[np.floating[Any]],
) -> None:
    """Write counts (queries,), ids and distances (total,), atomically."""
    if ids.shape != distances.shape or int(counts.sum()) != len(ids):
        raise ValueError(f"{int(counts.sum())} answers by the counts, {ids.shape} ids, {distances.shape} distances")
    with atomic(path) as stream:
        stream.write(struct.pack("<ii", len(counts), len(ids)))
        for array, dtype in ((counts, "<i4"), (ids, "<i4"), (distances, "<f4")):
            stream.write(np.ascontiguousarray(array, dtype=dtype).data)
