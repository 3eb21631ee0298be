"""Tiny data sets: rows that lie far apart, ordinary rows, bags of tags. The same seed makes the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from ann_bench.arrays import Array
from ann_bench.check.case import Vectors
from ann_bench.check.subject import Kind

#: Tags that there are. Every row holds the tag EVERYWHERE, none holds NOWHERE.
TAGS, EVERYWHERE, NOWHERE = 6, 0, 5

#: Terms of a sparse row, of which rows that lie far apart share half at the most.
TERMS = 4


def apart(kind: Kind, count: int, seed: int, *, sparse: bool) -> Vectors:
    """Rows that differ widely, all of one length: each is its own nearest by every metric."""
    rng = np.random.default_rng([seed, 1])
    if sparse:
        return _rows_of_terms(kind, [np.sort(rng.permutation(kind.dim)[:TERMS]) for _ in range(count)], None)
    low, high = (0, 6) if np.dtype(kind.dtype).kind == "u" else (-3, 3)
    made: dict[bytes, Array] = {}
    while len(made) < count:
        row = np.full(kind.dim, low, kind.dtype)
        row[rng.permutation(kind.dim)[: kind.dim // 2]] = high
        made.setdefault(row.tobytes(), row)
    return np.array(list(made.values()))


def ordinary(kind: Kind, count: int, seed: int, *, sparse: bool) -> Vectors:
    """Rows of small whole numbers, none of them zero."""
    rng = np.random.default_rng([seed, 2])
    if sparse:
        terms = [np.sort(rng.permutation(kind.dim)[: rng.integers(1, 7)]) for _ in range(count)]
        return _rows_of_terms(kind, terms, rng)
    low = 0 if np.dtype(kind.dtype).kind == "u" else -9
    rows = rng.integers(low, 10, (count, kind.dim)).astype(kind.dtype)
    rows[:, 0] += (rows == 0).all(axis=1).astype(kind.dtype)
    return rows


def _rows_of_terms(kind: Kind, terms: list[Any], rng: np.random.Generator | None) -> csr_matrix:
    indptr = np.cumsum([0, *map(len, terms)], dtype=np.int64)
    indices = np.concatenate(terms).astype(np.int32) if terms else np.zeros(0, np.int32)
    values = np.ones(len(indices)) if rng is None else rng.integers(1, 6, len(indices))
    return rows_of(indptr, indices, values.astype(kind.dtype), kind.dim)


def rows_of(indptr: Array, indices: Array, values: Array, width: int) -> csr_matrix:
    """A CSR matrix whose column numbers are of 32 bits, as those of data sets."""
    matrix = csr_matrix((len(indptr) - 1, width), dtype=values.dtype)
    matrix.indptr, matrix.indices, matrix.data = indptr.astype(np.int32), indices.astype(np.int32), values
    return matrix


def bags(sets: list[set[int]]) -> csr_matrix:
    """Bags of tags, each in ascending order."""
    ordered = [sorted(one) for one in sets]
    indptr = np.cumsum([0, *map(len, ordered)], dtype=np.int64)
    indices = np.array([tag for one in ordered for tag in one], dtype=np.int32)
    return rows_of(indptr, indices, np.ones(len(indices), np.float32), TAGS)


def some_bags(count: int, seed: int) -> list[set[int]]:
    """The tag that every row holds, and some of those between."""
    rng = np.random.default_rng([seed, 3])
    return [{EVERYWHERE, *(np.flatnonzero(rng.random(NOWHERE - 1) < 0.4) + 1).tolist()} for _ in range(count)]


def blank(rows: Vectors, which: list[int]) -> Vectors:
    """The same rows, some of them zero (sparse: empty)."""
    if isinstance(rows, np.ndarray):
        made = rows.copy()
        made[which] = 0
        return made
    counts = np.diff(rows.indptr)
    keep = np.repeat(~np.isin(np.arange(rows.shape[0]), which), counts)
    counts[which] = 0
    return rows_of(np.cumsum([0, *counts.tolist()]), rows.indices[keep], rows.data[keep], rows.shape[1])


def picked(rows: Vectors, which: list[int]) -> Vectors:
    """Some of the rows, in this order, as often as they are named."""
    taken = rows[np.asarray(which, dtype=np.int64)]
    return taken if isinstance(taken, np.ndarray) else rows_of(taken.indptr, taken.indices, taken.data, rows.shape[1])
