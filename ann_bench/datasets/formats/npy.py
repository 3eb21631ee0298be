"""`.npy`: numpy's own format, versions 1 and 2, in C order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from ann_bench.arrays import ArrayRef
from ann_bench.datasets.formats.xbin import wrong_size
from ann_bench.errors import DataError


def locate_npy(path: Path) -> ArrayRef:
    """Where the array lies; raises DataError where the header cannot be used or the size does not fit it."""
    try:
        with path.open("rb") as stream:
            version = npy.read_magic(stream)
            if version not in ((1, 0), (2, 0)):
                raise DataError(f"{path}: .npy version {version} is not read here: save it again with numpy.save")
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran, dtype = read(stream)
            offset = stream.tell()
    except (ValueError, EOFError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{path}: no valid .npy header ({reason}): save it again with numpy.save") from error
    if fortran or dtype.hasobject or dtype.byteorder == ">" or dtype.names:
        raise DataError(f"{path}: needs plain little-endian numbers in C order: save numpy.ascontiguousarray(array)")
    expected = offset + int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    size = path.stat().st_size
    if size != expected:
        raise wrong_size(path, size, expected, f"shape {shape}, {dtype.name}")
    return ArrayRef(str(path), dtype.name, tuple(int(n) for n in shape), offset)
