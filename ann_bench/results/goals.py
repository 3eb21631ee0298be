"""Which figures of a result are to be known well before it is measured no further; see docs/repeats.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ann_bench.results.model import Asks
from ann_bench.results.trials import highest, kept_up, trial
from ann_bench.stats.goal import Watched

Floats = npt.NDArray[np.float64]

#: The percentile that a mode is about.
HEADLINES = {"latency": ("p50", 0.5), "concurrent": ("p99", 0.99), "load": ("p99", 0.99)}


class Pass(NamedTuple):
    """The queries of a run that were put one by one: when each was due, sent, answered; the rate (NaN: none)."""

    due: Floats
    sent: Floats
    answered: Floats
    rate: float


#: By build and run.
Passes = Mapping[tuple[int, int], Pass]


def passes_of(asks: Asks | None, rates: Floats) -> Passes:
    """Those of a bundle that were measured whole."""
    if asks is None:
        return {}
    places = [(build, run) for build, run in np.argwhere(np.isfinite(rates)).tolist()]
    return {
        (build, run): Pass(
            asks.due[build, run], asks.sent[build, run], asks.answered[build, run], float(asks.rate[build, run, 0])
        )
        for build, run in places
    }


def watched(mode: Mapping[str, Any] | None, passes: Passes, rates: Floats, recalls: Floats) -> list[Watched]:
    """What counts for `--until`, from rates and recalls of shape (builds, runs).

    Of batches QPS, of single queries the headline percentile too. With a rate that is asked for QPS says nothing of the
    entry, and of a search for the highest rate each build has one figure. Recall counts where builds are repeated, for
    runs ask one and the same index.
    """
    found = [Watched("QPS", rates)]
    if mode is not None and mode.get("rate") == "max":
        found = [Watched("the rate", _highest_rates(passes, len(rates), float(mode["p99"])))]
    elif mode is not None:
        name, share = HEADLINES[str(mode["kind"])]
        late = Watched(name, _percentiles(passes, rates, share))
        found = [late] if "rate" in mode else [*found, late]
    return [*found, Watched("recall", recalls, average=True)] if rates.shape[0] > 1 else found


def _percentiles(passes: Passes, rates: Floats, share: float) -> Floats:
    """Of every run whose client kept up, (builds, runs)."""
    found = np.full(rates.shape, np.nan)
    for place, one in passes.items():
        if kept_up(one.due, one.sent):
            found[place] = np.nanquantile(one.answered - one.due, share)
    return found


def _highest_rates(passes: Passes, builds: int, p99: float) -> Floats:
    """The one that was found in each build, (builds, 1)."""
    found = np.full((builds, 1), np.nan)
    for build in range(builds):
        mine = [trial(one.rate, one.due, one.sent, one.answered) for (of, _), one in passes.items() if of == build]
        best = highest(mine, p99)
        found[build] = np.nan if best is None else best.answered
    return found
