"""Check that the times of single queries tell one story, and are what the mode of a result asks for."""

from __future__ import annotations

import math

import numpy as np

from ann_bench.errors import ResultError
from ann_bench.judge.mode import HIGHEST, Mode
from ann_bench.judge.pattern import poisson
from ann_bench.results.model import Asks, Bundle
from ann_bench.results.trials import Trial, trial

#: Seconds that rounding may cost.
_SLACK = 1e-6


def passes_of(bundle: Bundle, build: int) -> int:
    """How many runs a build was to have: a search for a rate ends when it has found it."""
    mode = _mode(bundle)
    if mode is None or not mode.searches:
        return int(bundle.seconds.shape[1])
    return int(np.isfinite(bundle.seconds[build]).all(axis=1).sum())


def complete(bundle: Bundle) -> bool:
    """Whether all that was to be done was done."""
    measured = np.asarray(np.isfinite(bundle.seconds).all(axis=2))
    return all(measured[build, : max(1, passes_of(bundle, build))].all() for build in range(len(measured)))


def verify_asks(bundle: Bundle) -> None:
    """Raise ResultError, naming the pass, where times cannot be, or are not those of the mode."""
    mode, asks = _mode(bundle), bundle.asks
    if mode is None or asks is None:
        if (mode is None) != (asks is None) and np.isfinite(bundle.seconds).any():
            raise ResultError("times of single queries do not belong to the mode of the result")
        return
    ends = np.cumsum([0, *bundle.counts]).tolist()
    for build, run, search in map(tuple, np.argwhere(np.isfinite(bundle.seconds)).tolist()):
        own = slice(ends[search], ends[search + 1])
        where = f"pass {run} of build {build}"
        _times(bundle, asks, (build, run, search), own, where)
        before = _trials(asks, (build, run, search), own)
        seed = (bundle.provenance["seed"], build, run, search)
        pattern = mode.pattern(bundle.identity["callers"], bundle.counts[search], seed, before)
        rate = asks.rate[build, run, search]
        if pattern is None or not (pattern.rate == rate or (math.isnan(pattern.rate) and math.isnan(rate))):
            raise ResultError(f"{where} has another rate than its mode asks for")
        if pattern.schedule is not None:
            due = np.sort(asks.due[build, run, own])
            if not np.allclose(due, poisson(rate, len(due), seed) - pattern.schedule[0], rtol=1e-6, atol=_SLACK):
                raise ResultError(f"{where} did not follow its schedule")


def _times(bundle: Bundle, asks: Asks, place: tuple[int, int, int], own: slice, where: str) -> None:
    due, sent, answered = (part[place[0], place[1], own] for part in (asks.due, asks.sent, asks.answered))
    if np.isnan(due).any() or np.isnan(sent).any() or np.isnan(answered).any():
        raise ResultError(f"{where} lacks times of queries that were answered")
    if (sent < due).any() or (answered <= sent).any() or abs(due.min()) > _SLACK:
        raise ResultError(f"{where} has queries that were answered before they were asked")
    if abs(float(answered.max()) - bundle.seconds[place]) > _SLACK:
        raise ResultError(f"{where} took another time than its queries say")


def _trials(asks: Asks, place: tuple[int, int, int], own: slice) -> list[Trial]:
    build, last, search = place
    return [
        trial(
            float(asks.rate[build, run, search]),
            asks.due[build, run, own],
            asks.sent[build, run, own],
            asks.answered[build, run, own],
        )
        for run in range(last)
    ]


def _mode(bundle: Bundle) -> Mode | None:
    """The mode that the identity names; None for whole batches."""
    fields = bundle.identity.fields.get("mode")
    if fields is None:
        return None
    return Mode(
        str(fields["kind"]),
        clients=int(fields.get("clients", 1)),
        rate=HIGHEST if fields.get("rate") == "max" else float(fields.get("rate", math.nan)),
        p99=float(fields.get("p99", math.nan)),
    )
