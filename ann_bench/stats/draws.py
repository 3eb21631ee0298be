"""A thousand draws from a distribution, spread evenly over it and in a fixed random order, so that sums of draws of
several distributions are draws of the sum."""

from __future__ import annotations

from functools import cache

import numpy as np

from ann_bench.stats.exact import Floats

DRAWS = 1000
_SEED = 20240229


@cache
def evenly(stream: int) -> Floats:
    """Numbers between 0 and 1, (DRAWS,); every stream has an order of its own."""
    middles: Floats = (np.arange(DRAWS) + 0.5) / DRAWS
    return np.random.default_rng([_SEED, stream]).permutation(middles)


@cache
def students(freedom: float) -> Floats:
    """Draws of Student's t, (DRAWS,)."""
    from scipy.special import stdtrit

    drawn: Floats = stdtrit(freedom, evenly(0))
    return drawn


def ranks(share: float, count: float) -> Floats:
    """Draws of which share of `count` values, drawn anew, lies below a percentile of the old ones: (DRAWS,).

    They are binomial, here with a normal distribution that has their skewness (Cornish and Fisher), since `count` need
    not be whole.
    """
    from scipy.special import ndtri

    z = ndtri(evenly(1))
    deviation = np.sqrt(share * (1 - share) / count)
    skewness = (1 - 2 * share) / np.sqrt(share * (1 - share) * count)
    drawn: Floats = share + deviation * (z + skewness / 6 * (z**2 - 1))
    return drawn
