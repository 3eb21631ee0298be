"""Coordinates, terms and tags under other names: what changes within a row, for the base and for queries alike."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from ann_bench.arrays import Array
from ann_bench.judge.noise import Vectors


@dataclass(frozen=True)
class Columns:
    """Coordinates of dense rows: column `j` shows the old column `order[j]`, mirrored where `mirrored[j]`.

    A mirrored value is its negative, or, where `within` the range of whole numbers, their complement (-1 - x, or 255 -
    x of a byte): both exact.
    """

    order: npt.NDArray[np.int64]
    mirrored: npt.NDArray[np.bool_]
    within: bool

    def apply(self, rows: Array) -> Array:
        """A changed copy of rows (n, d), of their type."""
        shown = np.ascontiguousarray(rows[:, self.order])
        if self.within:
            shown ^= np.where(self.mirrored, ~np.zeros((), rows.dtype), 0).astype(rows.dtype)
        elif self.mirrored.any():
            shown *= np.where(self.mirrored, -1, 1).astype(rows.dtype)
        return shown


@dataclass(frozen=True)
class Names:
    """Columns of CSR rows: what stood in column `order[j]` stands in column `j`."""

    order: npt.NDArray[np.int64]

    @cached_property
    def names(self) -> npt.NDArray[np.int64]:
        """The new column of each old one."""
        return np.argsort(self.order)

    def apply(self, rows: csr_matrix) -> csr_matrix:
        """A changed copy of these rows: equal values, columns ascending within each row, as the format has them."""
        indices = self.names[rows.indices].astype(rows.indices.dtype)
        shown = csr_matrix((rows.data.copy(), indices, rows.indptr.copy()), shape=rows.shape)
        shown.has_sorted_indices = False
        shown.sort_indices()
        return shown


@dataclass(frozen=True)
class Look:
    """How vectors and tags (None: there are none) are shown."""

    vectors: Columns | Names
    tags: Names | None = None

    def queries(self, vectors: Vectors, tags: csr_matrix | None) -> tuple[Vectors, csr_matrix | None]:
        """Queries and the tags that they ask for, as they are shown."""
        return self.vectors.apply(vectors), None if tags is None or self.tags is None else self.tags.apply(tags)
