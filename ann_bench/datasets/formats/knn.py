"""Truth files (`.gt`, `.ibin`, `.bin`): u32 queries, u32 k, i32 ids (queries, k), f32 distances (queries, k).

The layout is that of big-ann-benchmarks.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.arrays import ArrayRef
from ann_bench.datasets.files import atomic
from ann_bench.datasets.formats.xbin import wrong_size
from ann_bench.errors import DataError

HEADER = 8


def locate_truth(path: Path) -> tuple[ArrayRef, ArrayRef]:
    """Where ids and distances lie; raises DataError where the file is not as long as its header says."""
    with path.open("rb") as stream:
        header = stream.read(HEADER)
    size = path.stat().st_size
    if len(header) < HEADER:
        raise DataError(f"{path}: {size} bytes are too few for a header of {HEADER}: fetch or write the file again")
    queries, k = struct.unpack("<II", header)
    cells = queries * k
    if size != HEADER + 8 * cells:
        raise wrong_size(path, size, HEADER + 8 * cells, f"ids and distances of {queries:,} queries, k = {k:,}")
    name = str(path)
    return (
        ArrayRef(name, "int32", (queries, k), HEADER),
        ArrayRef(name, "float32", (queries, k), HEADER + 4 * cells),
    )


def read_truth(path: Path) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Ids and distances, both (queries, k), read-only; in the order and unit of whoever wrote them."""
    ids, distances = locate_truth(path)
    return ids.open(), distances.open()


def write_truth(path: Path, ids: npt.NDArray[np.integer[Any]], distances: npt.NDArray[np.floating[Any]]) -> None:
    """Write ids and distances, both (queries, k), atomically."""
    if ids.ndim != 2 or ids.shape != distances.shape:
        raise ValueError(f"ids {ids.shape} and distances {distances.shape} must have one shape")
    with atomic(path) as stream:
        stream.write(struct.pack("<II", *ids.shape))
        stream.write(np.ascontiguousarray(ids, dtype="<i4").data)
        stream.write(np.ascontiguousarray(distances, dtype="<f4").data)
