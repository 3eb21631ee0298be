"""Passes at several rates: which of them meets a goal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: The client has kept up where it took at most this factor longer to send its queries than the schedule says, or this
#: many seconds: a busy machine delays a few of them, which is no lower rate.
STRETCH, PAUSE_SECONDS = 1.02, 0.05


@dataclass(frozen=True)
class Trial:
    """One pass: the rate asked for (NaN: waiting clients), queries answered a second, p99 in seconds.

    `kept_up` says whether the client could send at that rate, `sent` how many queries a second it sent, `late` what
    1 % of its queries were sent too late by, in seconds, or more.
    """

    rate: float
    answered: float
    p99: float
    kept_up: bool
    sent: float = math.nan
    late: float = 0.0

    def meets(self, p99: float) -> bool:
        """Whether the rate was kept with such a latency."""
        return self.kept_up and self.p99 <= p99


def highest(trials: Sequence[Trial], p99: float) -> Trial | None:
    """The trial of the highest rate that meets the goal, as do all lower rates; None where there is none.

    Of a rate that was tried again the last trial counts.
    """
    best = None
    last = {one.rate: one for one in trials if one.rate > 0}
    for _, trial in sorted(last.items()):
        if not trial.meets(p99):
            break
        best = trial
    return best


def trial(rate: float, due: Floats, sent: Floats, answered: Floats) -> Trial:
    """What a pass shows, from when each query was due, sent and answered; NaN stands for a query that was not asked."""
    first, last = float(np.nanmin(due)), float(np.nanmax(answered))
    asked, sending = int(np.isfinite(answered).sum()), float(np.nanmax(sent)) - first
    return Trial(
        rate,
        asked / max(last - first, 1e-9),
        percentile(answered - due, 0.99),
        kept_up(due, sent),
        asked / max(sending, 1e-9),
        percentile(sent - due, 0.99),
    )


def kept_up(due: Floats, sent: Floats) -> bool:
    """Whether the client sent its queries at the rate that they were due at."""
    planned, took = float(np.nanmax(due) - np.nanmin(due)), float(np.nanmax(sent) - np.nanmin(due))
    return took <= max(STRETCH * planned, planned + PAUSE_SECONDS)


def percentile(values: Floats, share: float) -> float:
    """The least of the values that so large a share of them does not exceed; NaN where there are none."""
    known = values[~np.isnan(values)]
    return float(np.quantile(known, share, method="inverted_cdf")) if len(known) else math.nan
