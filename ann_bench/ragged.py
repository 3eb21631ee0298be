"""Lists of ids of any length, one for each query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Ragged:
    """The ids of query `i` are `ids[offsets[i]:offsets[i + 1]]`: `offsets` (queries + 1,) int64, `ids` (total,)."""

    offsets: npt.NDArray[np.int64]
    ids: Ints

    @property
    def queries(self) -> int:
        """How many queries there are."""
        return len(self.offsets) - 1

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many ids each query has, (queries,)."""
        return np.diff(self.offsets)

    def numbers(self) -> npt.NDArray[np.int64]:
        """The query of each id, (total,)."""
        return np.repeat(np.arange(self.queries, dtype=np.int64), self.counts)

    def take(self, queries: Ints) -> Ragged:
        """The lists of these queries, in this order, in memory of their own."""
        offsets, places = places_of(self.offsets, queries)
        return Ragged(offsets, self.ids[places])

    def equals(self, other: Ragged) -> bool:
        """Whether both hold the same ids in the same order."""
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.ids, other.ids)


def offsets_of(counts: Ints) -> npt.NDArray[np.int64]:
    """Where lists of these lengths begin and end, one after the other."""
    offsets = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def places_of(offsets: npt.NDArray[np.int64], queries: Ints) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The offsets of the lists of these queries alone, and where their values lie among all."""
    chosen = offsets_of(offsets[1:][queries] - offsets[:-1][queries])
    starts = offsets[:-1][queries] - chosen[:-1]
    return chosen, np.arange(chosen[-1]) + np.repeat(starts, np.diff(chosen))
