"""Files packed with gzip: unpacked once into the cache."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from ann_bench.datasets.cache import short_hash
from ann_bench.datasets.files import atomic, derived
from ann_bench.errors import DataError

_MAGIC = b"\x1f\x8b"


def unpacked(path: Path, copies: Path, name: Path | None = None) -> Path:
    """The unpacked content of `path` in the folder `copies`, where it is written at the first call.

    `name` is what the file will be called where it has not its final name yet. A file that is named .gz but
    is not packed (some hosts unpack on the way) is given as it is. Raises DataError where it is damaged.
    """
    with path.open("rb") as stream:
        if stream.read(2) != _MAGIC:
            return path
    final = name or path
    target = copies / f"{short_hash(final.absolute())}.{final.name.removesuffix('.gz')}"
    return derived(path, target, lambda to: _unpack(path, to))


def _unpack(path: Path, target: Path) -> None:
    with gzip.open(path) as source, atomic(target) as to:
        while block := _read(path, source):
            to.write(block)


def _read(path: Path, source: gzip.GzipFile) -> bytes:
    try:
        return source.read(4 << 20)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        reason = str(error).rstrip(".")
        raise DataError(f"{path}: damaged or cut short ({reason}): fetch or write the file again") from error
