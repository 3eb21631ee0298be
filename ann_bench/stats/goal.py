"""When an interval is narrow enough, and from when on it was."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ann_bench.stats.centre import median_estimate

Floats = npt.NDArray[np.float64]

#: No fewer builds or runs are believed: few values that happen to lie close together say that they are precise.
LEAST_BUILDS, LEAST_RUNS = 3, 5


def units(rates: Floats) -> tuple[int, int]:
    """How many builds (where there are several) or runs have been measured, and the least number of them."""
    known = ~np.isnan(rates)
    if rates.shape[0] > 1:
        return int(known.any(axis=1).sum()), LEAST_BUILDS
    return int(known.sum()), LEAST_RUNS


def narrow_enough(rates: npt.ArrayLike, goal: float) -> bool:
    """Whether half of the interval of rates (builds, runs) is at most this share of the value."""
    rates = np.atleast_2d(np.asarray(rates, dtype=np.float64))
    count, least = units(rates)
    return count >= least and median_estimate(rates).width <= goal


def needed(rates: npt.ArrayLike, goal: float) -> int | None:
    """The number of builds or runs from which on the goal was reached and stayed so; None where it is not reached."""
    rates = np.atleast_2d(np.asarray(rates, dtype=np.float64))
    count, least = units(rates)
    found = None
    for part in range(count, least - 1, -1):
        if not narrow_enough(rates[:part] if rates.shape[0] > 1 else rates[:, :part], goal):
            break
        found = part
    return found
