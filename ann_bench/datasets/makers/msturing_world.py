"""The numbers behind `msturing-like`: rows sorted by cluster, in a hidden space through which the clusters drift.

Rows are made in cells, each from streams of its own, so a cell needs no other. All arithmetic is exact: whole numbers,
or float32 products of whole numbers whose sums stay below 2**24 and so do not depend on the order in which a BLAS
adds them; at the end they are divided by a power of two, which changes no digit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ann_bench.datasets.makers.book import Sizes, cluster_ranges
from ann_bench.datasets.makers.cells import product
from ann_bench.datasets.makers.streams import Stream

CELL = 1024
DIM = 100
HIDDEN = 32  # dimensions of the hidden space
CLUSTERS = 64
SIZES: Sizes = "zipf"
KINDS = 64  # smaller clusters within a cluster
TIMES = 16  # steps of a cluster's drift, from its first row to its last

_UNIT = 20  # vectors are whole multiples of 2**-_UNIT
_NOISE = 10  # noise is a byte, times 2**_NOISE
_NOISES = 1 << 18  # values of noise; each cell takes a stretch of them from a random place

Floats = npt.NDArray[np.float32]
Hidden = npt.NDArray[np.int16]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Tables:
    """What is the same for all rows of a world."""

    basis: Floats  # (HIDDEN, DIM)
    ends: Numbers  # (CLUSTERS,) where each cluster's rows end
    starts: Numbers
    kinds: Hidden  # (CLUSTERS * KINDS, HIDDEN): centres
    drift: Hidden  # (CLUSTERS * TIMES, HIDDEN): how far the cluster has come
    noise: Floats  # (_NOISES,)


class World:
    """The base rows of one seed and size, and queries from the same mixture."""

    def __init__(self, version: int, seed: int, rows: int) -> None:
        self.rows = rows
        self.cells = -(-rows // CELL)
        self._purpose = ("msturing-like", version, seed, rows)
        self._tables = self._make_tables()

    def vectors(self, cell: int) -> Floats:
        """The vectors of a cell of the base: (rows, DIM)."""
        first = cell * CELL
        return self._drawn(np.arange(first, min(first + CELL, self.rows), dtype=np.int64), "base", cell)

    def queries(self, group: str, count: int, cell: int) -> Floats:
        """The vectors of a cell of a set of `count` queries: each as if it were another row at a random place."""
        size = min(CELL, count - cell * CELL)
        words = self._stream(group, "rows", cell).words(size)
        return self._drawn((words % np.uint64(self.rows)).astype(np.int64), group, cell)

    def _stream(self, *what: object) -> Stream:
        return Stream(*self._purpose, *what)

    def _drawn(self, rows: Numbers, group: str, cell: int) -> Floats:
        """Fresh vectors for these places among the rows."""
        tables, count = self._tables, len(rows)
        cluster = np.searchsorted(tables.ends, rows, side="right")
        start, end = tables.starts[cluster], tables.ends[cluster]
        time = (rows - start) * TIMES // (end - start)
        words = self._stream(group, "vectors", cell)
        kind = words.parts(np.uint8, count) & np.uint8(KINDS - 1)
        hidden = words.bell(count, HIDDEN)
        hidden += tables.kinds[cluster * KINDS + kind]
        hidden += tables.drift[cluster * TIMES + time]
        vectors = product(hidden.astype(np.float32), tables.basis)
        first = int(words.words(1)[0] % np.uint64(_NOISES - CELL * DIM))
        vectors += tables.noise[first : first + count * DIM].reshape(count, DIM)
        vectors *= np.float32(2.0**-_UNIT)
        return vectors

    def _make_tables(self) -> _Tables:
        ranges = cluster_ranges(self.rows, CLUSTERS, SIZES)
        # Early dimensions weigh more, as the principal components of learned vectors do.
        scale = 48 + 128 // np.arange(4, 4 + HIDDEN)
        signs = self._stream("basis").bell(HIDDEN, DIM).astype(np.int64)
        homes = self._stream("homes").bell(CLUSTERS, HIDDEN)
        kinds = self._stream("kinds").bell(CLUSTERS, KINDS, HIDDEN)
        path = self._stream("drift").bell(CLUSTERS, HIDDEN).astype(np.int64)
        times = np.arange(TIMES, dtype=np.int64) - TIMES // 2
        drift = path[:, None, :] * times[:, None] // TIMES
        return _Tables(
            basis=(signs * scale[:, None] >> 6).astype(np.float32),
            ends=np.array([ids.stop for ids in ranges], dtype=np.int64),
            starts=np.array([ids.start for ids in ranges], dtype=np.int64),
            kinds=(homes[:, None, :] + kinds).reshape(-1, HIDDEN),
            drift=drift.astype(np.int16).reshape(-1, HIDDEN),
            noise=self._stream("noise").parts(np.int8, _NOISES).astype(np.float32) * np.float32(2**_NOISE),
        )
