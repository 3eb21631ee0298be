"""`blobs-<N>`: normal clouds around random centres, after the generated sets of big-ann-benchmarks (`random-*`).

The original takes `make_blobs` of scikit-learn: centres uniform in [-10, 10) in each dimension, deviation 1. Its values
change with the version of the library; these are whole multiples of 1/1024 and never do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from ann_bench.datasets.formats import spmat_writer, xbin_writer
from ann_bench.datasets.makers import register
from ann_bench.datasets.makers.maker import Maker, MakerArguments, Order, Part
from ann_bench.datasets.makers.streams import Stream
from ann_bench.datasets.manifest import Manifest

_CELL = 8192
_UNIT = 1024  # values are whole multiples of 1 / _UNIT
_BOX = 10  # centres lie in [-_BOX, _BOX)
_STEP = 7  # times a bell of deviation 147.8: 1.01 units of length
_TAGS = 5  # columns; tag 0 is nobody's


class Arguments(MakerArguments):
    """`rows` of the base, `dim` dimensions, `centres`, `queries` in each set."""

    rows: int = Field(gt=0, lt=2**31)
    dim: int = Field(default=20, gt=0, le=4096)
    centres: int = Field(default=1000, gt=0, le=1_000_000)
    queries: int = Field(default=1000, gt=0, lt=2**31)


class Blobs(Maker):
    """Normal clouds; where tags are wanted, the first half of the rows holds 1 and 2, the second half 3 and 4.

    The queries ask for the tags of the other half, so that every filter leaves half of the rows.
    """

    name = "blobs"
    version = 1
    description = "made here: 20-d float32, 1,000 normal clouds; <N> is 10k, 100k, ..."
    tracks = ("dense",)
    model = Arguments

    def manifest_of(self, name: str, rows: int) -> Manifest:
        """See Maker."""
        text = f"{rows:,} points in 1,000 normal clouds of 20 dimensions"
        return self.made(name, rows, description=text, metric="euclidean")

    def suffix(self, part: Part) -> str:
        """See Maker."""
        return ".fbin" if part.kind == "vectors" else ".spmat"

    def size(self, part: Part, arguments: Any) -> int:
        """See Maker."""
        rows = _rows(part, arguments)
        return 8 + rows * 4 * int(arguments.dim) if part.kind == "vectors" else rows * 32 + 64

    def write(self, order: Order, target: Path) -> None:
        """See Maker."""
        rows, dim = _rows(order.part, order.arguments), order.arguments.dim
        if order.part.kind == "tags":
            with spmat_writer(target, (rows, _TAGS)) as tags:
                tags.append(*_tags(order.part, rows))
            return
        with xbin_writer(target, (rows, dim), "float32") as vectors:
            for cell in range(-(-rows // _CELL)):
                vectors.append(_vectors(order, cell, min(_CELL, rows - cell * _CELL)))
                order.progress(f"make {order.part}", vectors.rows, rows)


def _rows(part: Part, arguments: Any) -> int:
    return int(arguments.rows if part.group == "base" else arguments.queries)


def _vectors(order: Order, cell: int, count: int) -> npt.NDArray[np.float32]:
    given = order.arguments
    purpose = ("blobs", Blobs.version, given.seed, given.dim, given.centres)
    box = Stream(*purpose, "centres").parts(np.uint32, given.centres, given.dim) % np.uint32(2 * _BOX * _UNIT)
    centres = box.astype(np.int32) - _BOX * _UNIT
    of = Stream(*purpose, order.part.group, "of", cell).parts(np.uint32, count) % np.uint32(given.centres)
    values = Stream(*purpose, order.part.group, "steps", cell).bell(count, given.dim) * np.int32(_STEP)
    values += centres[of]
    shown: npt.NDArray[np.float32] = values.astype(np.float32)
    shown *= np.float32(1 / _UNIT)
    return shown


def _tags(part: Part, rows: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Two tags a row: how many each has, and their numbers."""
    second = np.arange(rows) >= rows // 2
    first_tag = np.where(second == (part.group == "base"), 3, 1)
    return np.full(rows, 2, dtype=np.int64), (first_tag[:, None] + np.arange(2)).ravel().astype(np.int32)


register(Blobs())
