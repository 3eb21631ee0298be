"""How close together rows lie, and how far from them the queries do, by euclidean distances within samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from ann_bench.arrays import held
from ann_bench.progress import Progress, silent
from ann_bench.truth.dimension import local_dimension
from ann_bench.truth.distance import pair_distances
from ann_bench.truth.exact import exact
from ann_bench.truth.model import Problem

Floats = npt.NDArray[np.float64]
Matrix: TypeAlias = Any  # (n, d) array or csr_matrix

#: Neighbours that the intrinsic dimension is estimated from.
NEIGHBOURS = 50

_PAIRS = 100  # random rows that a distance counts as usual by
_RIDGE = 1e-3  # of the mean variance, added to every dimension: nothing is infinitely far


@dataclass(frozen=True)
class Crowd:
    """Distances of rows held out of the base's sample, and of the queries, to that sample.

    `nearest` and `query_nearest`: to the nearest row. `dimension` and `query_dimension`: the local intrinsic dimension
    of each. `mahalanobis` and `query_mahalanobis` (dense rows): distance to the middle of the sample, each direction
    in its own deviations. A contrast is the mean distance to a row by the mean distance to the nearest one: the
    nearer to 1, the less a neighbour differs from any row.
    """

    contrast: float | None
    query_contrast: float | None
    values: Mapping[str, Floats] = field(repr=False)


def crowd(rows: Matrix, queries: Matrix, progress: Progress = silent) -> Crowd:
    """Compare the queries with rows that are held out of a sample (n, d), every n / 20-th of it."""
    every = 20 if rows.shape[0] >= 40 else 2
    out = np.arange(rows.shape[0]) % every == 0
    if rows.shape[0] < 2:
        return Crowd(None, None, {})
    base, held_out = rows[np.flatnonzero(~out)], rows[np.flatnonzero(out)]
    own, theirs = (_Near.of(asked, base, progress) for asked in (held_out, queries))
    values = {"nearest": own.nearest, "query_nearest": theirs.nearest}
    values |= {"dimension": own.dimensions(), "query_dimension": theirs.dimensions()}
    if not isinstance(base, csr_matrix):
        shape = _Shape.of(base)
        values |= {"mahalanobis": shape.far(held_out), "query_mahalanobis": shape.far(queries)}
    return Crowd(own.contrast, theirs.contrast, {k: v for k, v in values.items() if len(v)})


@dataclass(frozen=True)
class _Near:
    """The distances (asked, k) to the nearest rows, ascending, and the mean distance of each to any row."""

    distances: Floats
    usual: Floats

    @staticmethod
    def of(asked: Matrix, base: Matrix, progress: Progress) -> _Near:
        k = min(NEIGHBOURS, base.shape[0])
        _, squares = exact(Problem("euclidean", k, held(base), held(asked)), progress)
        some = np.random.default_rng(1).integers(0, base.shape[0], (asked.shape[0], min(_PAIRS, base.shape[0])))
        return _Near(np.sqrt(squares), np.sqrt(pair_distances("euclidean", asked, base, some)).mean(axis=1))

    @property
    def nearest(self) -> Floats:
        return np.asarray(self.distances[:, 0])

    @property
    def contrast(self) -> float | None:
        nearest = float(self.nearest.mean())
        return float(self.usual.mean()) / nearest if nearest > 0 else None

    def dimensions(self) -> Floats:
        """Of those where the distances say something; see `local_dimension`."""
        found = local_dimension(self.distances)
        return np.asarray(found[~np.isnan(found)])


@dataclass(frozen=True)
class _Shape:
    """Middle and principal directions of rows, with the deviation in each."""

    middle: Floats
    directions: Floats
    deviations: Floats

    @staticmethod
    def of(rows: npt.NDArray[Any]) -> _Shape:
        wide = rows.astype(np.float64)
        middle = wide.mean(axis=0)
        wide -= middle
        variances, directions = np.linalg.eigh(wide.T @ wide / len(wide))
        ridge = _RIDGE * max(float(variances.mean()), np.finfo(np.float64).tiny)
        return _Shape(middle, directions, np.sqrt(np.maximum(variances, 0) + ridge))

    def far(self, rows: npt.NDArray[Any]) -> Floats:
        """How many deviations away each row is; 1 is usual for a dimension, so it is divided by their root."""
        turned = (rows.astype(np.float64) - self.middle) @ self.directions / self.deviations
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", turned, turned) / max(1, turned.shape[1])))
