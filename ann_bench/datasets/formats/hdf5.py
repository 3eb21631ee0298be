"""HDF5 files, as ann-benchmarks and VIBE publish them: `train`, `test`, `neighbors`, `distances`, `learn`.

A dataset that lies in one piece is mapped where it is; a chunked or packed one is copied once to a `.npy` file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from ann_bench.arrays import ArrayRef
from ann_bench.datasets.cache import short_hash
from ann_bench.datasets.files import atomic, derived
from ann_bench.datasets.formats.knn import write_truth
from ann_bench.datasets.formats.npy import locate_npy
from ann_bench.errors import DataError, UsageError, unknown

_BLOCK = 32 << 20


def locate_hdf5(path: Path, key: str | None, copies: Path) -> ArrayRef:
    """Where the dataset `key` of the file lies (or its copy in the folder `copies`).

    Raises UsageError where the key is missing or wrong, DataError where the file is damaged.
    """
    with _open(path) as file:
        dataset = _dataset(path, file, key)
        offset, dtype = dataset.id.get_offset(), dataset.dtype
        if offset is not None and dtype.byteorder != ">":
            _check_end(path, offset + dataset.size * dtype.itemsize)
            return ArrayRef(str(path), dtype.name, tuple(dataset.shape), offset)
        name = dataset.name
    target = copies / f"{path.stem}{name.replace('/', '.')}.{short_hash(path, name)}.npy"
    return locate_npy(derived(path, target, lambda to: _copy(path, name, to)))


def truth_from_hdf5(path: Path, key: str | None, copies: Path) -> Path:
    """A truth file out of `neighbors` (or `key`) and, where the file has them, `distances` beside it."""

    def build(target: Path) -> None:
        with _open(path) as file:
            ids = _dataset(path, file, key or "neighbors")
            beside = ids.parent.get("distances")
            distances = np.full(ids.shape, np.nan, np.float32) if beside is None else beside[...]
            if ids.ndim != 2 or distances.shape != ids.shape:
                raise DataError(f"{path}: ids {ids.shape} and distances {distances.shape} are no truth of one shape")
            write_truth(target, ids[...], distances)

    return derived(path, copies / f"{path.stem}.{short_hash(path, key)}.gt", build)


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    import h5py

    try:
        with h5py.File(path, "r") as file:
            yield file
    except OSError as error:
        raise DataError(f"{path}: cannot be read as HDF5 ({error}): fetch or write the file again") from error


def _dataset(path: Path, file: Any, key: str | None) -> Any:
    import h5py

    names: list[str] = []
    file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
    if key is None and len(names) == 1:
        key = names[0]
    if key is None:
        raise UsageError(f"{path}: say `key:` with one of its arrays: {', '.join(sorted(names)) or 'it has none'}")
    if key.strip("/") not in names:
        raise unknown(f"array of {path}", key, names)
    dataset = file[key]
    if dataset.dtype.kind not in "iuf" or dataset.ndim == 0:
        raise DataError(f"{path}: {key!r} is no array of numbers ({dataset.dtype}): choose another `key:`")
    return dataset


def _check_end(path: Path, end: int) -> None:
    size = path.stat().st_size
    if size < end:
        raise DataError(f"{path}: cut short: {size:,} bytes instead of at least {end:,}: fetch or write it again")


def _copy(path: Path, key: str, target: Path) -> None:
    with _open(path) as file, atomic(target) as stream:
        source = file[key]
        dtype = source.dtype.newbyteorder("<")
        header = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": tuple(source.shape)}
        npy.write_array_header_1_0(stream, header)
        row = max(1, int(np.prod(source.shape[1:], dtype=np.int64)) * dtype.itemsize)
        step = max(1, _BLOCK // row)
        for start in range(0, source.shape[0], step):
            stream.write(np.ascontiguousarray(_read(path, source, start, step), dtype=dtype).data)


def _read(path: Path, source: Any, start: int, count: int) -> Any:
    try:
        return source[start : start + count]
    except OSError as error:
        raise DataError(f"{path}: damaged near row {start} ({error}): fetch or write the file again") from error
