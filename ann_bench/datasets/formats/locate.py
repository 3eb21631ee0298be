"""From a file to the place of its array, by format; nothing is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ann_bench.arrays import Ref
from ann_bench.datasets.formats.gz import unpacked
from ann_bench.datasets.formats.hdf5 import locate_hdf5
from ann_bench.datasets.formats.names import XBIN, format_of
from ann_bench.datasets.formats.npy import locate_npy
from ann_bench.datasets.formats.spmat import locate_spmat
from ann_bench.datasets.formats.xbin import locate_xbin
from ann_bench.errors import DataError


@dataclass(frozen=True)
class Reading:
    """How a file is to be read, where its name does not tell all.

    `format` is one of `ann_bench.datasets.formats.FORMATS`, `key` the array within an HDF5 file, `rows` how many
    rows to take from the start, `copies` the folder for unpacked files (None: beside the file).
    """

    format: str | None = None
    key: str | None = None
    rows: int | None = None
    copies: Path | None = None


def locate(path: Path, reading: Reading | None = None) -> Ref:
    """Where the array of the file lies.

    Raises UsageError where the format cannot be told, DataError where the file is missing, is shorter or longer
    than its header says, or has fewer rows than asked for.
    """
    reading = reading or Reading()
    path = path.absolute()
    format_ = format_of(path.name, reading.format)
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    copies = reading.copies or path.parent
    try:
        plain = unpacked(path, copies) if format_.packed else path
        ref = _by_format(plain, format_.name, reading.key, copies)
    except PermissionError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}): check its rights") from error
    if reading.rows is None or reading.rows == ref.shape[0]:
        return ref
    if reading.rows > ref.shape[0]:
        raise DataError(f"{path}: has {ref.shape[0]:,} rows, {reading.rows:,} are asked for: lower `rows:`")
    head = ref.head(reading.rows)
    if not 0 <= head.nbytes <= ref.nbytes:
        raise DataError(f"{path}: row {reading.rows - 1} ends outside the file: fetch or write the file again")
    return head


def _by_format(path: Path, name: str, key: str | None, copies: Path) -> Ref:
    if name in XBIN:
        return locate_xbin(path, XBIN[name])
    if name in ("spmat", "csr"):
        return locate_spmat(path)
    if name == "npy":
        return locate_npy(path)
    return locate_hdf5(path, key, copies)
