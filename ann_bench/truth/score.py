"""Fast scores with a proven error: matrix products order the rows, a bound says which rows may be the nearest.

The score of a row grows with its distance to the query:

    euclidean   |x|^2 / 2 - q.x         = (distance - |q|^2) / 2
    ip          -q.x                    = distance
    angular     -q.x / |x|              = (distance - 1) |q|

Products are formed in the block's own type (float32 as a rule). By Cauchy-Schwarz every partial sum of q.x, in
any order, is at most |q||x|. So, where all values are integers and these bounds stay below what the type holds
exactly, a score is exact. Otherwise its error is at most a few units of (d + 8) u |q||x|, with the unit
roundoff u (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1), for any order
of summation, with or without fused multiply-add.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from ann_bench.datasets.dataset import Metric
from ann_bench.truth.vectors import Block

Floats: TypeAlias = npt.NDArray[np.floating[Any]]

_SLACK = 1.05  # for the rounding of norms and of the bound itself
_DOUBLE = 2.0**-53
_LARGEST = 1e36  # above, a float32 square or sum might overflow; below the inverse, a product might vanish
_SMALLEST = 1e-18


@dataclass(frozen=True)
class Side:
    """A block of queries or of base rows: `vectors` (n, d), squared lengths (n,) in the block's type."""

    vectors: Block
    squares: Floats

    @property
    def longest(self) -> float:
        """The length of the longest vector."""
        return float(np.sqrt(float(self.squares.max(initial=0))))

    def wide(self) -> Side:
        """The same in float64."""
        return self if self.vectors.dtype == np.float64 else side(self.vectors.astype(np.float64))


def side(vectors: Block) -> Side:
    """A block with its squared lengths."""
    if isinstance(vectors, csr_matrix):
        squares = np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel()
    else:
        squares = np.einsum("ij,ij->i", vectors, vectors)
    return Side(vectors, squares)


@dataclass(frozen=True)
class Scorer:
    """Scores of the queries of one block against the rows of another.

    `exact` says that every score is the true one; otherwise `factor` times a query's length, plus `constant`,
    bounds the error, or `relative` times the score where that is not None.
    """

    metric: Metric
    queries: Side
    base: Side
    exact: bool
    factor: float
    constant: float
    relative: float | None
    shift: Floats | None

    def write(self, queries: slice, rows: slice, out: Floats) -> None:
        """The scores of some queries against some rows, into `out` (queries, rows)."""
        left, right = self.queries.vectors[queries], self.base.vectors[rows]
        if isinstance(left, csr_matrix):
            out[...] = (left @ right.T.tocsr()).toarray()
        else:
            np.matmul(left, right.T, out=out)
        if self.metric == "euclidean":
            assert self.shift is not None
            np.subtract(self.shift[rows], out, out=out)
        elif self.metric == "ip":
            np.negative(out, out=out)
        else:
            assert self.shift is not None
            np.multiply(out, self.shift[rows], out=out)

    def errors(self, scores: npt.NDArray[np.float64], squares: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """How far a score near `scores` (one for each query of squared length `squares`) may lie from the truth."""
        if self.exact:
            return np.zeros(len(scores))
        if self.relative is not None:
            return np.abs(scores) * self.relative
        lengths = np.sqrt(squares)
        if self.metric == "euclidean":
            return self.factor * lengths + self.constant
        return np.where(lengths > 0, self.factor * lengths + self.constant, 0.0)  # a zero query has no error

    def score(self, distances: npt.NDArray[np.float64], squares: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The scores of given distances, one for each query of squared length `squares`."""
        if self.metric == "euclidean":
            return (distances - squares) / 2
        if self.metric == "ip":
            return distances
        return np.where(np.isinf(distances), np.inf, (distances - 1) * np.sqrt(squares))

    def limits(self, running: npt.NDArray[np.float64], squares: npt.NDArray[np.float64]) -> Floats:
        """The score below which every row lies that is nearer than `running`, one for each query."""
        dtype = self.base.squares.dtype
        level = self.score(running, squares)
        error = self.errors(level, squares)
        # What ties with the running k-th point loses to its smaller id; without error that can be told from scores.
        return np.where(error > 0, _above(level + error, dtype), level.astype(dtype))

    def near(self, bounds: npt.NDArray[np.float64], squares: npt.NDArray[np.float64]) -> Floats:
        """The score below which every row lies that is not farther than one with a score of `bounds`."""
        return _above(bounds + 2 * self.errors(bounds, squares), self.base.squares.dtype)

    def whole_rows(self) -> npt.NDArray[Any]:
        """Dense rows as the right side of a product with `whole_queries`."""
        vectors, shift = self.base.vectors, self.shift
        if shift is None:
            return np.asarray(vectors)
        if self.metric == "angular":
            return np.asarray(vectors * -shift[:, None])
        whole = np.empty((len(vectors), vectors.shape[1] + 1), dtype=vectors.dtype)
        whole[:, :-1], whole[:, -1] = vectors, shift
        return whole


def whole_queries(metric: Metric, queries: Side) -> npt.NDArray[Any]:
    """Dense queries as the left side of a product with `Scorer.whole_rows` that gives whole scores."""
    rows, dim = queries.vectors.shape
    whole = np.ones((rows, dim + (metric == "euclidean")), dtype=queries.vectors.dtype)
    np.negative(queries.vectors, out=whole[:, :dim])
    return whole


def scorer(metric: Metric, queries: Side, base: Side, integers: bool) -> Scorer:
    """The scorer for two blocks, in float64 where float32 could overflow or vanish."""
    single = base.vectors.dtype == np.float32 and queries.vectors.dtype == np.float32
    if not (single and _safe(metric, queries, base)):
        queries, base, single = queries.wide(), base.wide(), False
    q, x = queries.longest, base.longest
    largest = q * x + (x * x / 2 if metric == "euclidean" else 0)
    # Half of a squared length may end in .5, which costs one bit.
    exact = integers and metric != "angular" and _SLACK * largest < (2.0**23 if single else 2.0**51)
    unit = (2.0**-24 if single else _DOUBLE) + _DOUBLE
    terms = _terms(queries, base)
    roundoff = _SLACK * (terms + 8) * unit
    tiny = terms * (2.0**-125 if single else 2.0**-1000)
    relative = None
    if metric == "euclidean":
        factor, constant = roundoff * x, roundoff * x * x / 2 + _SLACK * terms * _DOUBLE * 4 * (q * q + x * x) + tiny
    elif metric == "ip":
        factor, constant = roundoff * x, tiny
        relative = 2 * roundoff if _positive(queries.vectors) and _positive(base.vectors) else None
    else:
        factor, constant = 2 * roundoff, 0.0
    return Scorer(metric, queries, base, exact, factor, constant, relative, _shift(metric, base))


def _safe(metric: Metric, queries: Side, base: Side) -> bool:
    """Whether float32 holds all squares and products, and all lengths to its full precision."""
    if not (queries.longest**2 < _LARGEST and base.longest**2 < _LARGEST):
        return False
    if metric != "angular":
        return True
    return not (_vanishing(queries) or _vanishing(base))


def _vanishing(vectors: Side) -> bool:
    """Whether a vector that is not zero is so short that float32 loses digits of its squared length."""
    short = np.flatnonzero(vectors.squares < _SMALLEST)
    if not len(short):
        return False
    part = vectors.vectors[short]
    return bool((part.data if isinstance(part, csr_matrix) else part).any())


def _terms(queries: Side, base: Side) -> int:
    """The most products that one inner product sums."""
    if not isinstance(base.vectors, csr_matrix):
        return int(base.vectors.shape[1])
    return int(np.diff(queries.vectors.indptr).max(initial=0))


def _positive(vectors: Block) -> bool:
    """Whether these are sparse rows of positive values: then a sum's error is relative to the sum itself."""
    return isinstance(vectors, csr_matrix) and bool((vectors.data > _SMALLEST).all())


def _above(values: npt.NDArray[np.float64], dtype: np.dtype[Any]) -> Floats:
    """Numbers of this type that lie above these."""
    return np.asarray(np.nextafter(values.astype(dtype), dtype.type(np.inf)))


def _shift(metric: Metric, base: Side) -> Floats | None:
    if metric == "euclidean":
        return np.asarray(base.squares * base.squares.dtype.type(0.5))
    if metric == "ip":
        return None
    roots = np.sqrt(base.squares)
    return np.divide(-1, roots, out=np.zeros_like(roots), where=roots > 0)
