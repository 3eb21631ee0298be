"""Which format a file has, by its name or by the manifest's word."""

from __future__ import annotations

from dataclasses import dataclass

from ann_bench.errors import UsageError, unknown

XBIN = {"fbin": "float32", "u8bin": "uint8", "i8bin": "int8", "hbin": "float16", "ibin": "int32"}
"""Element type by suffix, as big-ann-benchmarks names them (`hbin` is ours)."""

RANGES = "rangeres"
"""Truth of range searches: answers of any number for each query."""

FORMATS = (*XBIN, "spmat", "csr", "npy", "hdf5", "h5")
"""Formats of arrays. Any may have `.gz` after it."""

VECTOR_TYPES = ("float32", "float16", "float64", "uint8", "int8", "int32")
"""Element types that an array of vectors may have."""


@dataclass(frozen=True)
class Format:
    """A format and whether it is packed with gzip."""

    name: str
    packed: bool


def format_of(name: str, said: str | None = None) -> Format:
    """The format of a file with this name; `said` (`fbin`, `csr.gz`, ...) overrules the name.

    Raises UsageError where neither tells.

    >>> format_of("base.csr.gz")
    Format(name='csr', packed=True)
    """
    text = f".{said.lstrip('.')}" if said else name
    packed = text.endswith(".gz")
    suffix = text.removesuffix(".gz").rpartition(".")[2]
    if suffix in FORMATS:
        return Format(suffix, packed or (said is not None and name.endswith(".gz")))
    if said:
        raise unknown("format", said, FORMATS)
    raise UsageError(f"{name}: the name does not tell the format; say `format:` with one of {', '.join(FORMATS)}")
