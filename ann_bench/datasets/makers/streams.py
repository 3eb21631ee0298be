"""Numbers that are the same on every machine, for makers.

Only Philox's raw 64-bit words and integer arithmetic: numpy's own distributions may change between versions,
and the logarithms of two C libraries may differ in their last bit.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]


class Stream:
    """The endless words of one purpose: `Stream("yfcc-like 1", seed, "noise", block)`."""

    def __init__(self, *purpose: object) -> None:
        digest = hashlib.sha256(" ".join(str(part) for part in purpose).encode()).digest()
        self._generator = np.random.Philox(key=int.from_bytes(digest[:16], "little"))

    def words(self, count: int) -> Words:
        """The next `count` words of 64 bits."""
        return np.asarray(self._generator.random_raw(count), dtype=np.uint64)

    def parts(self, dtype: Any, *shape: int) -> npt.NDArray[Any]:
        """Unsigned numbers of all bits of `dtype`, cut from whole words in little-endian order."""
        kind = np.dtype(dtype).newbyteorder("<")
        count = int(np.prod(shape, dtype=np.int64))
        each = 8 // kind.itemsize
        words = self.words(-(-count // each)).astype("<u8", copy=False)
        parts: npt.NDArray[Any] = words.view(kind)[:count].reshape(shape).astype(dtype, copy=False)
        return parts

    def bell(self, *shape: int) -> npt.NDArray[np.int16]:
        """Nearly normal whole numbers in [-510, 510], deviation 147.8: sums of four bytes."""
        bytes_ = self.parts(np.uint8, 4, *shape)
        total: npt.NDArray[np.int16] = bytes_[0].astype(np.int16)
        for part in bytes_[1:]:
            total += part
        total -= np.int16(510)
        return total


def lookup(weights: npt.NDArray[np.int64], bits: int) -> npt.NDArray[np.int32]:
    """A table of 2**bits choices in which choice `i` fills about its share of the weights, and at least one slot.

    Indexing it with random bits draws from the weights.
    """
    spare = (1 << bits) - len(weights)
    if spare < 0:
        raise ValueError(f"{len(weights)} choices do not fit {bits} bits")
    ends = np.cumsum(weights)
    ends = ends * spare // ends[-1]
    slots = np.diff(ends, prepend=0) + 1
    return np.repeat(np.arange(len(weights), dtype=np.int32), slots)


def zipf(count: int, shift: int) -> npt.NDArray[np.int64]:
    """Whole weights that fall like 1 / (rank + shift)."""
    return (1 << 32) // (np.arange(count, dtype=np.int64) + shift)
