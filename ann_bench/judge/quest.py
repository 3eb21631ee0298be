"""The search for the highest rate that keeps a latency: which rate to try next."""

from __future__ import annotations

from collections.abc import Sequence

from ann_bench.results.trials import Trial, highest

#: The first rate to try, as a share of what clients that wait were served at.
FIRST = 0.8

#: Where a rate meets the goal and no higher one was tried, the next one is higher by this factor.
STEP = 1.3

#: A trial that misses the goal says nothing where the client itself was late by so large a share of it: it is tried
#: again, so many times in all.
LATE, TIMES = 0.5, 3

#: The search ends where the least rate that failed is no higher than this times the highest that did not; or where
#: no rate was kept down to this share of what waiting clients got.
CLOSE, LEAST = 1.03, 1 / 50


def next_rate(before: Sequence[Trial], p99: float) -> float | None:
    """The rate to try after these trials, of which the first one had waiting clients; None where it is found.

    It halves from FIRST of what waiting clients got until a rate meets the goal, goes up by STEP where even the first
    one does, and then goes to the geometric middle of the highest that does and the least that does not. Before it ends
    that least one is tried once more: a single run may miss the goal because of something else that the machine did.
    """
    most = before[0].answered
    tried = [one for one in before[1:] if one.rate > 0]
    if not tried:
        return FIRST * most
    last = tried[-1]
    disturbed = last.kept_up and not last.meets(p99) and last.late > LATE * p99
    if disturbed and sum(one.rate == last.rate for one in tried) < TIMES:
        return last.rate
    good = highest(tried, p99)
    above = [one.rate for one in tried if good is None or one.rate > good.rate]
    if good is None:
        rate = min(above) / 2
        return rate if rate >= LEAST * most else None
    if not above:
        return STEP * good.rate
    bound = min(above)
    if bound > CLOSE * good.rate:
        return float((good.rate * bound) ** 0.5)
    return bound if above.count(bound) == 1 else None
