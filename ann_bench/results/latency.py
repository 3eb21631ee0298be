"""What the times of single queries say: percentiles, the cost of the wire, the highest rate, and what looks odd."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.results.model import Asks, Bundle
from ann_bench.results.rounds import by_round
from ann_bench.results.trials import Trial, highest, percentile, trial
from ann_bench.stats import LEVEL, NOTHING, Estimate, median, median_estimate, percentile_estimate

Floats = npt.NDArray[np.float64]

#: The percentiles that are shown, by the names of their columns.
SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}

#: A client that is at work for so large a share of the time may be what bounds the speed.
BUSY = 0.9
#: An entry that answers less than this share of a rate has a queue that grows.
ANSWERED = 0.9
#: A delay of the client itself is worth a note where its p99 is so large a share of that of the latencies, and so many
#: seconds.
LATE_SHARE, LATE_SECONDS = 0.2, 0.001


@dataclass(frozen=True)
class Latency:
    """Percentiles with their intervals, the slowest query, the cost of the wire at the median (seconds), the rate.

    `rate` is the one asked for, or the highest that met the goal with its interval over builds. A figure that was not
    measured, or cannot be given, is NaN; `notes` say why.
    """

    percentiles: Mapping[str, Estimate] = field(default_factory=lambda: dict.fromkeys(SHARES, NOTHING))
    slowest: float = math.nan
    wire: float = math.nan
    rate: Estimate = NOTHING
    notes: tuple[str, ...] = ()


def mode_text(mode: Mapping[str, Any] | None) -> str:
    """The mode of an identity in a few words: `batch`, `latency for 2 s`, `concurrent 8 for 2 s`, `load 1,000/s`."""
    if mode is None:
        return "batch"
    lasting = f" for {mode['seconds']:g} s" if "seconds" in mode else ""
    if mode.get("rate") == "max":
        return f"load, p99 <= {1e3 * mode['p99']:g} ms{lasting and ','}{lasting}"
    if "rate" in mode:
        return f"load {mode['rate']:,.10g}/s{lasting}"
    return " ".join(str(mode[name]) for name in ("kind", "clients") if name in mode) + lasting


def latency(bundle: Bundle, level: float = LEVEL) -> Latency:
    """The figures of a bundle whose queries were put one by one; nothing of any other."""
    mode = bundle.identity.fields.get("mode")
    if bundle.asks is None or mode is None:
        return Latency()
    return _Passes(bundle, bundle.asks, mode, level).figures()


def latencies(bundle: Bundle) -> dict[tuple[int, int], Floats]:
    """Seconds of every query (rounds, queries) of each build, run that percentiles are of; none of batches."""
    mode = bundle.identity.fields.get("mode")
    if bundle.asks is None or mode is None:
        return {}
    passes = _Passes(bundle, bundle.asks, mode)
    return {(build, run): passes.times(build, run) for build, runs in enumerate(passes.counted()) for run in runs}


def found_rates(bundle: Bundle) -> Floats | None:
    """The highest rate that met the goal in each build, (builds,), NaN: none; None where none was looked for."""
    mode = bundle.identity.fields.get("mode")
    if bundle.asks is None or mode is None or mode.get("rate") != "max":
        return None
    return np.array([math.nan if one is None else one.answered for one in _Passes(bundle, bundle.asks, mode).best])


@dataclass(frozen=True)
class _Passes:
    """All the passes of a bundle, of all searches together."""

    bundle: Bundle
    asks: Asks
    mode: Mapping[str, Any]
    level: float = LEVEL

    @property
    def searching(self) -> bool:
        return self.mode.get("rate") == "max"

    @cached_property
    def whole(self) -> list[list[int]]:
        """The runs of each build that ended."""
        return [
            [run for run, seconds in enumerate(build) if np.isfinite(seconds).all()] for build in self.bundle.seconds
        ]

    @cached_property
    def trials(self) -> list[dict[int, Trial]]:
        """What each of them shows, by its run."""
        asks = self.asks
        return [
            {
                run: trial(
                    float(asks.rate[build, run, 0]),
                    asks.due[build, run],
                    asks.sent[build, run],
                    asks.answered[build, run],
                )
                for run in runs
            }
            for build, runs in enumerate(self.whole)
        ]

    @cached_property
    def best(self) -> list[Trial | None]:
        """The highest rate of each build that met the goal."""
        return [highest(list(trials.values()), float(self.mode["p99"])) for trials in self.trials]

    def counted(self) -> list[list[int]]:
        """The runs of each build that percentiles are of: where a rate was looked for, the one that found it."""
        if not self.searching:
            return [[run for run in runs if self.trials[build][run].kept_up] for build, runs in enumerate(self.whole)]
        return [
            [run for run in runs if self.trials[build][run] is self.best[build]]
            for build, runs in enumerate(self.whole)
        ]

    def figures(self) -> Latency:
        late = [[self.times(build, run) for run in runs] for build, runs in enumerate(self.counted())]
        flat = [run for runs in late for run in runs if np.isfinite(run).any()]
        found = {name: percentile_estimate(late, share, self.level) for name, share in SHARES.items()}
        null = self.asks.null[np.isfinite(self.asks.null)]
        return Latency(
            percentiles=found,
            slowest=max((float(np.nanmax(run)) for run in flat), default=math.nan),
            wire=median(null),
            rate=self.rate(),
            notes=tuple(note for note in (self.goal_note(), self.client_note()) if note),
        )

    def times(self, build: int, run: int) -> Floats:
        """The latencies of a run, (rounds, queries)."""
        asks = self.asks
        return by_round(asks.answered[build, run] - asks.due[build, run], sum(self.bundle.counts))

    def rate(self) -> Estimate:
        if not self.searching:
            asked = self.mode.get("rate")
            return NOTHING if asked is None else Estimate(float(asked), math.nan, math.nan)
        found = [math.nan if one is None else one.answered for one in self.best]
        if any(math.isnan(one) for one in found):
            return NOTHING
        return median_estimate(np.array(found)[:, None], self.level)

    def goal_note(self) -> str:
        """Of a goal that no rate met."""
        missed = (
            [trials for trials, best in zip(self.trials, self.best, strict=True) if best is None and trials]
            if (self.searching)
            else []
        )
        tried = [one for trials in missed for one in trials.values() if one.rate > 0]
        if not tried:
            return ""
        least = min(tried, key=lambda one: one.rate)
        return (
            f"no rate kept p99 <= {1e3 * self.mode['p99']:g} ms: at {least.rate:,.0f} queries a second it was "
            f"{1e3 * least.p99:,.3g} ms"
        )

    def client_note(self) -> str:
        """Of a client that is what bounds the speed, or that was late."""
        all_of_them = [one for trials in self.trials for one in trials.values()]
        slow = [one for one in all_of_them if not one.kept_up]
        if slow and not self.searching:
            return (
                f"the client could send no more than {min(one.sent for one in slow):,.0f} of the "
                f"{slow[0].rate:,.0f} queries a second asked for: such runs give no latency; lower --rate"
            )
        if slow and all(best is None or best.rate < min(one.rate for one in slow) for best in self.best):
            bound = min(one.rate for one in slow)
            above = [one for one in all_of_them if one.kept_up and one.rate > 0 and one.p99 > float(self.mode["p99"])]
            if not above or min(one.rate for one in above) > bound:
                return f"the client could not send {bound:,.0f} queries a second: a higher rate may be possible"
        if np.nanmax(self.asks.busy, initial=0.0) > BUSY:
            share = float(np.nanmax(self.asks.busy))
            return f"the client was at work for {share:.0%} of the time: it may be what bounds the speed"
        return self.queue_note() or self.late_note()

    def queue_note(self) -> str:
        """Of a given rate that is higher than what the entry answers: its queue grows as long as a run lasts."""
        asked = 0.0 if self.searching else float(self.mode.get("rate", 0.0))
        answered = [one.answered / one.sent for trials in self.trials for one in trials.values() if one.kept_up]
        if not asked or not answered or (share := median(answered)) > ANSWERED:
            return ""
        return (
            f"{asked:,.0f} queries a second were more than it could answer ({share * asked:,.0f}): the queue grew, so "
            "that latencies say how long a run lasted"
        )

    def late_note(self) -> str:
        """Of a client that sent queries late: latencies hold the delay."""
        counted = [(build, run) for build, runs in enumerate(self.counted()) for run in runs]
        if not counted:
            return ""
        lag = percentile(np.concatenate([(self.asks.sent - self.asks.due)[place] for place in counted]), 0.99)
        late = percentile(np.concatenate([self.times(*place).ravel() for place in counted]), 0.99)
        if lag <= max(LATE_SECONDS, LATE_SHARE * late):
            return ""
        return (
            f"the client sent 1 % of the queries late, by {1e3 * lag:,.3g} ms or more, which latencies hold: a busy "
            "machine?"
        )


def waits(bundle: Bundle) -> Floats:
    """The latencies that percentiles are of, in seconds, ascending, of all counted runs; empty of any other result."""
    mode = bundle.identity.fields.get("mode")
    if bundle.asks is None or mode is None:
        return np.zeros(0)
    passes = _Passes(bundle, bundle.asks, mode)
    found = [passes.times(build, run).ravel() for build, runs in enumerate(passes.counted()) for run in runs]
    times = np.concatenate(found) if found else np.zeros(0)
    return np.sort(times[np.isfinite(times)])


def at_rates(bundle: Bundle) -> list[tuple[float, float, float]]:
    """Rate, p50 and p99 (seconds) of every run at a given rate that the client kept up with, by rate."""
    mode = bundle.identity.fields.get("mode")
    if bundle.asks is None or mode is None:
        return []
    passes = _Passes(bundle, bundle.asks, mode)
    found = [
        (one.rate, percentile(passes.times(build, run), 0.5), one.p99)
        for build, trials in enumerate(passes.trials)
        for run, one in trials.items()
        if one.kept_up and one.rate > 0
    ]
    return sorted(found)


def columns(found: Latency) -> dict[str, float]:
    """Percentiles and their intervals by the names of their columns: `p50 p50_low p50_high p90 ...`."""
    pairs: Sequence[tuple[str, Estimate]] = list(found.percentiles.items())
    return {
        name: value
        for which, one in pairs
        for name, value in ((which, one.value), (f"{which}_low", one.low), (f"{which}_high", one.high))
    }
