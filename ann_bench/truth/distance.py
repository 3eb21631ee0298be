"""The exact distance of a query to a row: the one definition that truth and scores share.

Smaller is nearer. `euclidean` is the squared euclidean distance, `ip` minus the inner product, `angular`
1 - cosine, where a zero vector has the distance 1 to everything, another zero vector included.

For 8-bit integers squared distances and inner products are exact. For floating point numbers every term is
formed in float64 from the values themselves (differences first, then squares: nothing cancels) and summed
pairwise (numpy's `add.reduce`), always in the same order, so that equal rows have equal distances.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from ann_bench.datasets.dataset import Metric
from ann_bench.truth.cores import threads
from ann_bench.truth.vectors import Block, DenseRows, rows_of

Floats: TypeAlias = npt.NDArray[np.float64]

_CHUNK_VALUES = 1 << 16  # values of one chunk of pairs: a few arrays of this size stay in a core's cache
_SHARED_VALUES = 1 << 21  # fewer values are not worth a second thread
_COMPILED_VALUES = 1 << 27  # for fewer, loading compiled loops costs more than they save
_EXACT_TERMS = (1 << 24) // 383**2  # terms that float32 sums exactly: differences of bytes reach 255 + 128


def pair_distances(
    metric: Metric, queries: npt.NDArray[Any] | csr_matrix, base: npt.NDArray[Any] | csr_matrix, rows: npt.NDArray[Any]
) -> Floats:
    """The exact distance of each query to the base rows that `rows` names for it.

    `queries` (nq, d) and `base` (n, d) are dense arrays or CSR matrices, mapped or not; `rows` (nq, m) integers
    from -1 to n - 1. Returns float64 (nq, m), infinite where the row is -1. Memory is bounded: pairs go in chunks.
    Raises IndexError where a row is not one of the base.
    """
    if rows.size and (int(rows.min()) < -1 or int(rows.max()) >= base.shape[0]):
        raise IndexError(f"rows must lie between -1 and {base.shape[0] - 1}")
    left, right = rows_of(queries), rows_of(base)
    result = np.full(rows.shape, np.inf)
    if isinstance(left, DenseRows) and isinstance(right, DenseRows):
        if (rows >= 0).any():
            _share(_DensePairs(metric, left, right, rows, result).fill, len(rows), rows.size * right.dim)
        return result
    chunk = chunk_pairs(right.values_per_row)
    found = np.flatnonzero(rows.ravel() >= 0)
    for start in range(0, len(found), chunk):
        pairs = found[start : start + chunk]
        numbers, row = pairs // rows.shape[1], rows.ravel()[pairs]
        result.ravel()[pairs] = paired(metric, left.take(numbers), right.take(row), False)
    return result


def listed_distances(
    metric: Metric,
    queries: npt.NDArray[Any] | csr_matrix,
    base: npt.NDArray[Any] | csr_matrix,
    pairs: tuple[npt.NDArray[Any], npt.NDArray[Any]],
) -> Floats:
    """The exact distances of pairs: numbers of queries and of base rows, two arrays of one length; float64 (n,)."""
    numbers, rows = pairs
    left, right = rows_of(queries), rows_of(base)
    integers = left.small_integers and right.small_integers
    result = np.empty(len(rows))
    chunk = chunk_pairs(right.values_per_row)

    def fill(first: int, last: int) -> None:
        for start in range(first, last, chunk):
            part = slice(start, min(start + chunk, last))
            result[part] = paired(metric, left.take(numbers[part]), right.take(rows[part]), integers)

    if len(rows):
        _share(fill, len(rows), int(len(rows) * right.values_per_row))
    return result


@dataclass(frozen=True)
class _DensePairs:
    """Distances of queries to the rows that `rows` (nq, m) names, to be written to `result`."""

    metric: Metric
    queries: DenseRows
    base: DenseRows
    rows: npt.NDArray[Any]
    result: Floats

    def fill(self, first: int, last: int) -> None:
        """Fill in the queries from `first` to `last`, a few of them, or some of the rows of one, at a time."""
        compiled = self.rows.size * self.base.dim >= _COMPILED_VALUES
        if compiled and _compilable(self.queries.dtype) and _compilable(self.base.dtype):
            self._fill_compiled(first, last)
        else:
            self._fill(first, last)

    def _fill_compiled(self, first: int, last: int) -> None:
        queries, base = self.queries.raw(slice(None)), self.base.raw(slice(None))
        step = max(1, _CHUNK_VALUES // self.rows.shape[1])
        for start in range(first, last, step):
            part = self.rows[start : min(start + step, last)]
            left, column = np.nonzero(part >= 0)
            pairs = left + start, part[left, column].astype(np.int64)
            self.result[pairs[0], column] = measured(self.metric, queries, base, pairs)

    def _fill(self, first: int, last: int) -> None:
        chunk = chunk_pairs(self.base.values_per_row)
        width = min(chunk, self.rows.shape[1])
        step = max(1, chunk // width)
        integers = self.queries.small_integers and self.base.small_integers
        for start in range(first, last, step):
            some = slice(start, min(start + step, last))
            queries = self.queries.take(some)[:, None]
            for column in range(0, self.rows.shape[1], width):
                rows = self.rows[some, column : column + width]
                base = self.base.take(np.maximum(rows, 0).ravel()).reshape(*rows.shape, -1)
                distances = paired(self.metric, queries, base, integers)
                np.copyto(self.result[some, column : column + width], distances, where=rows >= 0)


def _share(fill: Callable[[int, int], None], count: int, values: int) -> None:
    """Call `fill(first, last)` for parts of `count`, in threads where there is enough to do."""
    workers = threads() if values >= _SHARED_VALUES else 1
    step = max(1, -(-count // workers))
    parts = [(first, min(first + step, count)) for first in range(0, count, step)]
    if len(parts) == 1:
        fill(*parts[0])
        return
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(fill, *zip(*parts, strict=True)))


def chunk_pairs(values_per_row: float) -> int:
    """How many pairs to give to `paired` at once."""
    return max(16, int(_CHUNK_VALUES / max(1.0, values_per_row)))


def _compilable(dtype: np.dtype[Any]) -> bool:
    return dtype in (np.float32, np.float64)  # False where the bytes are in the other order


def measured(
    metric: Metric, queries: npt.NDArray[Any], base: npt.NDArray[Any], pairs: tuple[npt.NDArray[Any], npt.NDArray[Any]]
) -> Floats:
    """The distances of pairs of rows of `queries` and `base`, by a compiled loop that takes a while to load.

    Both float32 or float64 (rows, d), `pairs` two int64 (pairs,); the same numbers as of `paired`.
    """
    from ann_bench.truth.dense_kernels import sums

    left, right = pairs
    if metric == "euclidean":
        return sums(queries, left, base, right, True)
    products = sums(queries, left, base, right, False)
    if metric == "ip":
        return 0.0 - products
    return _angular(products, sums(queries, left, queries, left, False), sums(base, right, base, right, False))


def paired(metric: Metric, queries: Block, base: Block, integers: bool) -> Floats:
    """The distance of query `i` to base row `i`, for blocks of equal shape; float64 (rows,).

    Dense blocks may also be (n, 1, d) and (n, m, d): each query to m rows of its own, float64 (n, m). `integers`
    says that all values are 8-bit integers.
    """
    if isinstance(queries, csr_matrix) or isinstance(base, csr_matrix):
        return _paired_sparse(metric, queries.astype(np.float64), base.astype(np.float64))
    products = _exact_products if integers else _products
    if metric == "euclidean":
        if integers:
            difference = queries - base
        else:
            difference = base.astype(np.float64)
            np.subtract(queries.astype(np.float64), difference, out=difference)
        return products(difference, difference)
    if metric == "ip":
        return 0.0 - products(queries, base)
    return _angular(products(queries, base), products(queries, queries), products(base, base))


def _products(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> Floats:
    terms = np.multiply(a, b, dtype=np.float64)
    return np.asarray(np.add.reduce(terms, axis=-1))


def _exact_products(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> Floats:
    """Row by row inner products of float32 blocks of integers, summed in pieces that float32 holds exactly."""
    total = np.zeros(np.broadcast_shapes(a.shape, b.shape)[:-1])
    for start in range(0, a.shape[-1], _EXACT_TERMS):
        part = slice(start, start + _EXACT_TERMS)
        total += np.einsum("...j,...j->...", a[..., part], b[..., part])
    return total


def _paired_sparse(metric: Metric, queries: csr_matrix, base: csr_matrix) -> Floats:
    if metric == "euclidean":
        difference = queries - base
        return _row_sums(difference.multiply(difference))
    products = _row_sums(queries.multiply(base))
    if metric == "ip":
        return 0.0 - products
    return _angular(products, _row_sums(queries.multiply(queries)), _row_sums(base.multiply(base)))


def _row_sums(matrix: Any) -> Floats:
    matrix = csr_matrix(matrix)
    numbers = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.bincount(numbers, weights=matrix.data, minlength=matrix.shape[0]).astype(np.float64)


def _angular(products: Floats, left: Floats, right: Floats) -> Floats:
    lengths = np.sqrt(left * right)
    cosine = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    return 1.0 - cosine
