"""The local intrinsic dimension of a place, from its distances to its nearest rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: Neighbours, beside the last, below which nothing is said.
LEAST = 5


def local_dimension(distances: Floats) -> Floats:
    """The maximum likelihood estimate -1 / mean(log(r_i / r_k)) over all neighbours but the last, (places,).

    `distances` (places, k) are metric ones, ascending, infinite where there is no row. Rows at distance 0 (copies of
    the place) say nothing. NaN where fewer than LEAST neighbours say something, or all are as far as the last.

    Sources: E. Levina and P. J. Bickel, NIPS 2004; as a measure of how hard a query is, M. Aumueller and M. Ceccarello,
    "The role of local dimensionality measures in benchmarking nearest neighbor search", Information Systems 101, 2021.
    """
    real = np.where(np.isfinite(distances), distances, np.nan)
    if not real.shape[1]:
        return np.full(len(real), np.nan)
    count = np.isfinite(real).sum(axis=1)
    last = real[np.arange(len(real)), np.maximum(count - 1, 0)][:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(real > 0, np.log(real / last), np.nan)
    logs[np.arange(len(real)), np.maximum(count - 1, 0)] = np.nan
    known = (~np.isnan(logs)).sum(axis=1)
    sums = np.nansum(logs, axis=1)
    good = (known >= LEAST) & (sums < 0)
    found = np.full(len(real), np.nan)
    np.divide(-known, sums, out=found, where=good)
    return found
