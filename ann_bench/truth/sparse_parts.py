"""The arrays that `inverted.py` and its kernels share, by name."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy.typing as npt

Array = npt.NDArray[Any]

BLOCK_ROWS = 1 << 14  # sums of one block: 64 KiB, which a core's second cache holds; at most 2^16, see Span
STRIP = 64  # rows that one vectorised test covers


class Span(NamedTuple):
    """Some rows of the base in blocks of at most `BLOCK_ROWS`, and the inverted index of each block.

    indptr (rows + 1) int64, indices and values: the rows as they are. edges (blocks + 1) int64: the first row of each
    block. A slot is a column that some query uses; the last slots are for all others. starts (blocks, slots + 1)
    int32: where the postings of a slot lie in `postings`. A posting (uint32) is the bits of a weight, rounded to a
    float32 whose last 16 bits are the number of the row in its block, so that one load fetches both. highest, lowest
    (blocks, slots) float32: the largest of these weights, or 0, and the least, or 0. lengths (rows and a strip of
    zeros,) float32, rounded up; longest (blocks,) float64.
    """

    indptr: Array
    indices: Array
    values: Array
    edges: Array
    starts: Array
    postings: Array
    highest: Array
    lowest: Array
    lengths: Array
    longest: Array


class Asked(NamedTuple):
    """The queries: indptr (queries + 1) int64; columns and slots int32, weights float64 of each term; lengths float64.

    The terms of a query stand in the order in which they are left out first.
    """

    indptr: Array
    columns: Array
    slots: Array
    weights: Array
    lengths: Array


class Kept(NamedTuple):
    """For each query a heap of its k nearest points, the worst of them at its root.

    distances (queries, k) float64, infinite where there are fewer; points (queries, k) int32. shares (queries,)
    float64: how much of the k-th score the terms that are left out may make up.
    """

    distances: Array
    points: Array
    shares: Array


class Scratch(NamedTuple):
    """What one thread works with.

    sums, at least BLOCK_ROWS and whole strips, float32, all -0.0; dense (dim,) float64, all 0; level (k,) float64 and
    unused (k,) int32.
    """

    sums: Array
    dense: Array
    level: Array
    unused: Array
