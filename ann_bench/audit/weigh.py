"""Is one thing slower than another, or worse? Measured in turn, judged by intervals, so that noise convicts nobody."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ann_bench.audit.registry import Finding, Verdict
from ann_bench.judge.driver import Window
from ann_bench.stats import Estimate, ratio_estimate

Floats = npt.NDArray[np.float64]

#: Rounds of a comparison: at least, at most, and the seconds after which no other one begins.
LEAST_ROUNDS, MOST_ROUNDS, SECONDS = 8, 15, 5.0

#: Of 1,000 intervals so many hold the true ratio of two honest measurements.
LEVEL = 0.999

#: The chance that the median ratio lies below the order statistic that is taken for its lower end.
SIGN_ERROR = 0.005

#: A difference below this is the machine's, however often it is seen.
LEAST_SECONDS = 0.01

#: By how much a mean recall may differ by chance: this many times the root of the sum of the squares of the queries'
#: differences. An honest entry gains as often as it loses: the chance of a false word is below exp(-CHANCE ** 2 / 2).
CHANCE = 5.0


@dataclass(frozen=True)
class Bounds:
    """From which factor on a slowness is suspicious, and from which it is a failure."""

    suspicious: float
    fail: float


def in_turn(*calls: Callable[[], Window]) -> Floats:
    """Seconds of each call, (calls, rounds): all of them in every round, in an order that is drawn."""
    rounds: list[list[float]] = []
    began = time.monotonic()
    generator = np.random.default_rng(secrets.randbits(62))
    while len(rounds) < LEAST_ROUNDS or (len(rounds) < MOST_ROUNDS and time.monotonic() - began < SECONDS):
        seconds = [math.nan] * len(calls)
        for place in generator.permutation(len(calls)).tolist():
            seconds[place] = calls[place]().seconds
        rounds.append(seconds)
    seconds_of: Floats = np.array(rounds, dtype=np.float64).T
    return seconds_of


def slower(name: str, slow: Floats, usual: Floats, bounds: Bounds) -> Finding:
    """Whether `slow` (rounds,) takes longer than `usual`, measured in the same rounds, by more than the bounds.

    The lower end of the interval of their ratio has to be beyond a bound, and the difference worth a word.
    """
    ratio = ratio_of(slow, usual)
    text = f"{name}: {times(ratio)} the time"
    if float(np.median(slow) - np.median(usual)) <= LEAST_SECONDS or not ratio.low > bounds.suspicious:
        return Finding(Verdict.PASS, text)
    return Finding(Verdict.FAIL if ratio.low > bounds.fail else Verdict.SUSPICIOUS, text)


def ratio_of(slow: Floats, usual: Floats) -> Estimate:
    """The ratio of two calls measured in turn, (rounds,) each, with its interval.

    Its lower end is that of `ratio_estimate`, or of the sign test where that is higher: a single round in which the
    machine stood still makes the first as wide as can be, and leaves the second as it is.
    """
    ratio = ratio_estimate(slow, usual, paired=True, level=LEVEL)
    ratios = np.sort(slow / usual)
    chances = np.cumsum([math.comb(len(ratios), place) for place in range(len(ratios))]) / 2.0 ** len(ratios)
    sure = ratios[chances <= SIGN_ERROR]
    low = float(sure[-1]) if len(sure) else 0.0
    return Estimate(ratio.value, min(ratio.value, max(low, ratio.low)), ratio.high)


def times(ratio: Estimate) -> str:
    """A ratio with its interval."""
    return f"{ratio.value:.2f} [{ratio.low:.2f}-{ratio.high:.2f}] x"


def worse(name: str, before: Floats, after: Floats, drops: Bounds) -> Finding:
    """Whether recalls of queries (queries,) fell from `before` to `after`; `drops` are losses of mean recall."""
    known = ~(np.isnan(before) | np.isnan(after))
    if not known.any():
        return Finding(Verdict.PASS, f"{name}: no query has an answer")
    lost = before[known] - after[known]
    size = math.sqrt(float((lost**2).sum()))
    text = f"{name}: recall {after[known].mean():.4f} against {before[known].mean():.4f}"
    if size == 0 or float(lost.sum()) / size <= CHANCE or float(lost.mean()) <= drops.suspicious:
        return Finding(Verdict.PASS, text)
    return Finding(Verdict.FAIL if float(lost.mean()) > drops.fail else Verdict.SUSPICIOUS, text)
