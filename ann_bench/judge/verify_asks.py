"""Check that the times of single queries tell one story, and are what the mode of a result asks for."""

from __future__ import annotations

import math

import numpy as np

from ann_bench.errors import ResultError
from ann_bench.judge.mode import Mode
from ann_bench.judge.pattern import MOST_ASKS, Pattern
from ann_bench.results.model import Asks, Bundle
from ann_bench.results.rounds import answers_of, by_round, rounds_made
from ann_bench.results.trials import Floats, Trial, trial

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
    for build, run, search in map(tuple, np.argwhere(np.isfinite(bundle.seconds)).tolist()):
        place = build, run, search
        where = f"pass {run} of build {build}"
        _rounds(bundle, place, where)
        times = _noted(bundle, asks, place)
        _times(bundle, place, times, where)
        before = [_trial(bundle, asks, (build, one, search)) for one in range(run)]
        seed = (bundle.provenance["seed"], build, run, search)
        pattern = mode.pattern(bundle.identity["callers"], bundle.counts[search], seed, before)
        rate = asks.rate[place]
        if pattern is None or not (pattern.rate == rate or (math.isnan(pattern.rate) and math.isnan(rate))):
            raise ResultError(f"{where} has another rate than its mode asks for")
        _lasted(bundle, place, pattern, where)
        if pattern.schedule is not None:
            due = np.sort(times[0].ravel())
            if not np.allclose(due, pattern.schedule - pattern.schedule[0], rtol=1e-6, atol=_SLACK):
                raise ResultError(f"{where} did not follow its schedule")


def _noted(bundle: Bundle, asks: Asks, place: tuple[int, int, int]) -> list[Floats]:
    """When the queries of a search were due, sent and answered in a pass, each (rounds, queries)."""
    ends = np.cumsum([0, *bundle.counts]).tolist()
    build, run, search = place
    own, made = slice(ends[search], ends[search + 1]), rounds_made(bundle, build, run, search)
    return [part[build, run].reshape(-1, ends[-1])[:made, own] for part in (asks.due, asks.sent, asks.answered)]


def _rounds(bundle: Bundle, place: tuple[int, int, int], where: str) -> None:
    """Answers of all the rounds that have times, and of no others."""
    build, run, search = place
    assert bundle.asks is not None
    given = answers_of(bundle)[build, run, :, search]
    made = rounds_made(bundle, build, run, search)
    timed = len(by_round(bundle.asks.answered[build, run], sum(bundle.counts)))
    if (given[:made] < 0).any() or given[0] != bundle.answer_of[place] or (made != timed and len(bundle.counts) == 1):
        raise ResultError(f"{where} has answers and times that do not belong together")


def _lasted(bundle: Bundle, place: tuple[int, int, int], pattern: Pattern, where: str) -> None:
    """As many rounds as its mode asks for."""
    made, count = rounds_made(bundle, *place), bundle.counts[place[2]]
    if pattern.schedule is not None:
        fits = made * count == len(pattern.schedule)
    else:
        long_enough = made * bundle.seconds[place] >= pattern.seconds - _SLACK
        fits = made <= max(1, MOST_ASKS // count) and (long_enough or made == max(1, MOST_ASKS // count))
    if not fits:
        raise ResultError(f"{where} has {made:,} rounds of its queries, which its mode does not ask for")


def _times(bundle: Bundle, place: tuple[int, int, int], times: list[Floats], where: str) -> None:
    due, sent, answered = times
    if np.isnan(due).any() or np.isnan(sent).any() or np.isnan(answered).any():
        raise ResultError(f"{where} lacks times of queries that were answered")
    if (sent < due).any() or (answered <= sent).any() or abs(due.min()) > _SLACK:
        raise ResultError(f"{where} has queries that were answered before they were asked")
    if abs(float(answered.max()) - bundle.seconds[place] * len(due)) > _SLACK * len(due):
        raise ResultError(f"{where} took another time than its queries say")


def _trial(bundle: Bundle, asks: Asks, place: tuple[int, int, int]) -> Trial:
    return trial(float(asks.rate[place]), *_noted(bundle, asks, place))


def _mode(bundle: Bundle) -> Mode | None:
    """The mode that the identity names; None for whole batches."""
    fields = bundle.identity.fields.get("mode")
    return None if fields is None else Mode.from_json(fields)
