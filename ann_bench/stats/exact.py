"""The bootstrap of a median without drawing a single number.

A resampled median is the mean of two order statistics of the sample (of one, twice, where n is odd), and how often it
is which two follows from n alone. The spread of the bootstrap is therefore a weighted sum (Hutson and Ernst, Journal of
the Royal Statistical Society B 62, 2000), free of the noise of resampling.

That spread, from few values, is itself uncertain, and biased. So an interval is the median plus and minus a quantile of
Student's t times the spread times a factor, both by n. They were found with 200,000 samples of the normal distribution
for each n, such that intervals of 95 % and of 99.5 % hold the truth as often as they say; samples of other shapes
(outliers, t with 3 degrees of freedom, logarithms of gamma) came within 1.8 % of that.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

#: Degrees of freedom and factor for n values.
_FEW = {
    2: (1.0, 1.42), 3: (2.0, 0.81), 4: (3.0, 0.895), 5: (4.4, 0.825), 6: (5.3, 0.91), 7: (5.9, 0.87), 8: (6.6, 0.935),
    9: (6.7, 0.89), 10: (6.8, 0.93), 11: (7.1, 0.905), 12: (7.5, 0.94), 13: (7.7, 0.91),
}  # fmt: skip
_NEGLIGIBLE = 1e-12


@cache
def by_size(count: int) -> tuple[float, float]:
    """Degrees of freedom of the spread of `count` values, and the factor that it takes."""
    if count in _FEW:
        return _FEW[count]
    return 1.85 * math.sqrt(count), 1 - 0.25 / math.sqrt(count)


@cache
def quantile(freedom: float, level: float) -> float:
    """The t beyond which, on both sides, lies 1 - level."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + level) / 2))


def bootstrap_spread(values: Floats) -> Floats:
    """The standard deviation of the bootstrapped median: (..., n) -> (...)."""
    ordered = np.sort(values, axis=-1)
    low, high, weights = _places(values.shape[-1])
    medians = (ordered[..., low] + ordered[..., high]) / 2
    medians = medians - (medians @ weights)[..., None]
    spread: Floats = np.sqrt(medians**2 @ weights)
    return spread


@cache
def _places(count: int) -> tuple[Places, Places, Floats]:
    """Which two order statistics a resampled median lies between, and how often."""
    from scipy.special import bdtrc, gammaln

    half = (count + 1) // 2  # the lower of the two, counted from 1
    share = np.arange(count + 1) / count
    below = bdtrc(half - 1, count, share)  # the chance that the lower one is among the first 0, 1, ... values
    below[-1] = 1.0
    lower = np.diff(below)
    if count % 2:
        both = np.diag(lower)
    else:
        # the lower among the first i, the upper behind the first j >= i: half of the draws here, half there
        ways = math.exp(float((gammaln(count + 1) - 2 * gammaln(half + 1)) / half))
        apart = (ways * share[:, None] * (1 - share)[None, :]) ** half
        both = np.triu(-np.diff(np.diff(apart, axis=0), axis=1), 1)
        np.fill_diagonal(both, lower - both.sum(axis=1))
    low, high = np.nonzero(both > _NEGLIGIBLE)
    weights: npt.NDArray[Any] = both[low, high]
    return low, high, weights / weights.sum()
