"""Products of matrices that leave BLAS on one thread, and the smallest numbers of each line."""

from __future__ import annotations

import numpy as np

PRODUCTS = 1 << 18  # numbers that one call of BLAS is given, few enough for it to stay on one thread


def products(queries: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The product of each query with each row, one query and a piece of the rows at a time.

    Larger products make BLAS start threads of its own, and waiting for those costs far more than it gains where
    every CPU has a thread of the pool already.
    """
    dim = queries.shape[1]
    piece = max(1, PRODUCTS // dim)
    whole = len(rows) // piece * piece
    parts = [rows[:whole].reshape(-1, 1, piece, dim), rows[whole:].reshape(1, 1, -1, dim)]
    found = [(part @ queries[None, :, :, None])[..., 0].swapaxes(0, 1) for part in parts]
    return np.hstack([product.reshape(len(queries), -1) for product in found])


def first(distances: np.ndarray, ids: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k smallest distances of each line, ascending, and their ids; of equal ones the first."""
    k = min(k, distances.shape[1])
    values, named = np.empty((len(distances), k), distances.dtype), np.empty((len(distances), k), np.int32)
    ids = np.broadcast_to(ids, distances.shape)
    for line, row in enumerate(np.ascontiguousarray(distances)):
        near = np.flatnonzero(row <= np.partition(row, k - 1)[k - 1])
        near = near[row[near].argsort(kind="stable")[:k]]
        values[line], named[line] = row[near], ids[line, near]
    return values, named
