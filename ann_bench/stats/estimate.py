"""A value with its interval, and how sure an interval is."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: How often an interval is to hold the truth.
LEVEL = 0.95

#: How sure a verdict on two results is. Two results of the same entry are called different in 1 - VERDICT_LEVEL of the
#: cases, and the goal is fewer than 1 in 100: 99 % would leave no room for noise that is not as simple as in theory.
VERDICT_LEVEL = 0.995


@dataclass(frozen=True)
class Estimate:
    """A value and its 95 % interval; NaN where nothing was measured, or too little for an interval."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """Half of the interval as a share of the value: 0.02 is "within 2 %"; NaN without an interval."""
        return (self.high - self.low) / (2 * abs(self.value)) if self.value else math.nan

    def holds(self, value: float) -> bool:
        """Whether a value lies in the interval; no interval excludes nothing."""
        return not (value < self.low or value > self.high)


NOTHING = Estimate(math.nan, math.nan, math.nan)
