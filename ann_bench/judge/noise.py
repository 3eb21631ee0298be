"""Small changes to queries that nobody can know before, and that anybody can make again from the seed.

Nothing here but 64-bit integers, powers of two and single float operations: the same seed gives the same queries with
every version of numpy, and any row can be made without the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from ann_bench.arrays import Array

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.integer[Any]]
Words = npt.NDArray[np.uint64]
Vectors: TypeAlias = Any  # (n, d) array or csr_matrix

#: Float noise is uniform and at most this share of the power of two above the deviation of its dimension: between
#: 0.001 and 0.002 deviations. Values of sparse rows change by at most twice this share of themselves.
SHARE = 2.0**-10

#: A whole number moves by one with the chance at which that is this share of the same power of two on the average
#: (root mean square), and with `MOST` at the most; one number of each query always moves.
STEP_SHARE, MOST = 0.02, 0.5

_SAMPLE_ROWS = 1000
_BLOCK_CELLS = 1 << 18
_GOLDEN, _FIRST, _SECOND = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


@dataclass(frozen=True)
class Spread:
    """What noise has to be small against: `deviation` of each dimension, or of all values (1,) where rows are sparse.

    Deviations are rounded up to powers of two. `whole` says that all values are whole numbers, whatever their type:
    distances then have ties, which only whole noise keeps.
    """

    deviation: Floats
    whole: bool


def spread_of(base: Vectors, queries: Vectors) -> Spread:
    """The spread of these data, from at most 1,000 rows of each.

    A dimension counts with the deviation of the base or the size of the queries, whichever is less: where queries are
    short against the base, as they may be for inner products, noise must not drown them.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _spread_of(base, queries)


def _spread_of(base: Vectors, queries: Vectors) -> Spread:
    if isinstance(queries, csr_matrix) or isinstance(base, csr_matrix):
        asked, held = (_some(matrix.data, 1 << 16) for matrix in (queries, base))
        return Spread(_powers(np.atleast_1d(np.std(asked) if len(asked) else 0.0)), _whole(asked) and _whole(held))
    asked, held = _some(queries, _SAMPLE_ROWS), _some(base, _SAMPLE_ROWS)
    if not len(asked) or not len(held):
        return Spread(np.zeros(queries.shape[1]), whole=False)
    deviation = np.minimum(np.std(held, axis=0), np.sqrt(np.mean(np.square(asked), axis=0)))
    return Spread(_powers(deviation), _whole(asked) and _whole(held))


def key_of(*parts: object) -> int:
    """64 bits that follow from these parts."""
    return int.from_bytes(hashlib.sha256("/".join(map(str, parts)).encode()).digest()[:8], "little")


def words(key: int, numbers: Ints, places: Ints) -> Words:
    """A random word for each cell: the `place` of a query's `number`; of splitmix64, at any point of its sequence."""
    x = (numbers.astype(np.uint64) << np.uint64(32)) | places.astype(np.uint64)
    x = x * _GOLDEN + np.uint64(key)
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return np.asarray(x ^ (x >> np.uint64(31)))


@dataclass(frozen=True)
class Noise:
    """A change to every query: `apply` makes it, the same for the same number of a query."""

    key: int
    spread: Spread

    def apply(self, vectors: Vectors, numbers: Ints) -> None:
        """Change these rows in place; row `i` is the query `numbers[i]`. A sparse row without values stays as it is."""
        for cells in _blocks(vectors, numbers):
            if len(cells.values):
                before = cells.values.copy()
                random = words(self.key, cells.numbers, cells.places)
                (self._step if self.spread.whole else self._shake)(cells, random)
                self._nudge(cells, before)

    def _shake(self, cells: _Cells, random: Words) -> None:
        """Float noise; what would leave the type's range stays."""
        before = cells.values.astype(np.float64)
        size = 2 * np.abs(before) if cells.sparse else self.spread.deviation[cells.places]
        uniform = (random >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            moved = (before + uniform * (size * SHARE)).astype(cells.values.dtype)
        np.copyto(cells.values, moved, where=np.isfinite(moved))

    def _step(self, cells: _Cells, random: Words) -> None:
        """Whole noise: +1 or -1 for some of the cells, and for one of each row; never out of range, no zero in CSR."""
        values = cells.values
        deviation = self.spread.deviation[0] if cells.sparse else self.spread.deviation[cells.places]
        moves = (random >> np.uint64(11)).astype(np.float64) * 2.0**-53 < np.minimum(
            MOST, (STEP_SHARE * deviation) ** 2
        )
        moves[self._one_of_each(cells)] = True
        steps = np.where(random & np.uint64(1), 1, -1).astype(np.int8)
        if values.dtype.kind in "iu":
            range_ = np.iinfo(values.dtype)
            steps[values == range_.max] = -1
            steps[values == range_.min] = 1
        if cells.sparse:
            steps[values == 1] = 1
            steps[values == -1] = -1  # equal to no value of an unsigned type
        steps[~moves] = 0
        values += steps.astype(values.dtype)  # wraps around for unsigned types, as it has to

    def _nudge(self, cells: _Cells, before: Array) -> None:
        """Where rounding took all the noise of a row, one value becomes its neighbour in the type."""
        if cells.values.dtype.kind != "f":
            return
        changed = np.logical_or.reduceat(cells.values != before, cells.starts[cells.lengths > 0])
        at = self._one_of_each(cells)[~changed]
        old = cells.values[at]
        cells.values[at] = np.nextafter(old, (old == 0).astype(old.dtype))

    def _one_of_each(self, cells: _Cells) -> npt.NDArray[np.int64]:
        """One cell of each row that has any."""
        some = cells.lengths > 0
        starts, lengths = cells.starts[some], cells.lengths[some]
        random = words(self.key ^ int(_GOLDEN), cells.numbers[starts], np.zeros(len(starts), dtype=np.int64))
        return np.asarray(starts + (random % lengths.astype(np.uint64)).astype(np.int64))


@dataclass(frozen=True)
class _Cells:
    """The values of some rows, one after the other: a view, with the number and the place in the row of each."""

    values: Array
    numbers: Ints
    places: Ints
    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    sparse: bool


def _blocks(vectors: Vectors, numbers: Ints) -> Iterator[_Cells]:
    """All the cells, in blocks that take little memory."""
    sparse = isinstance(vectors, csr_matrix)
    rows = vectors.shape[0]
    ends = vectors.indptr.astype(np.int64) if sparse else np.arange(rows + 1, dtype=np.int64) * vectors.shape[1]
    flat = vectors.data if sparse else vectors.reshape(-1)
    step = max(1, _BLOCK_CELLS * rows // max(1, int(ends[-1])))
    for first in range(0, rows, step):
        part = ends[first : first + step + 1]
        starts, lengths = part[:-1] - part[0], np.diff(part)
        places = np.arange(part[-1] - part[0]) - np.repeat(starts, lengths)
        yield _Cells(
            flat[part[0] : part[-1]], np.repeat(numbers[first : first + step], lengths), places, starts, lengths, sparse
        )


def _some(values: Array, most: int) -> Floats:
    """At most so many of these, evenly spread over all, as float64."""
    if len(values) <= most:
        return np.asarray(values, dtype=np.float64)
    return np.asarray(values[np.arange(most) * len(values) // most], dtype=np.float64)


def _whole(values: Floats) -> bool:
    return bool(np.isfinite(values).all()) and np.array_equal(values, np.rint(values))


def _powers(values: Floats) -> Floats:
    """The power of two above each value; 0 where it is 0. Sums that differ in their last bit give the same."""
    with np.errstate(invalid="ignore"):
        exponents = np.frexp(np.nan_to_num(values, posinf=0.0))[1]
    return np.where(values > 0, np.ldexp(1.0, exponents), 0.0)
