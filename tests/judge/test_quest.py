"""The search for the highest rate, on entries that are nothing but a curve of p99 over the rate."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ann_bench.judge.mode import HIGHEST, TRIALS, Mode
from ann_bench.judge.pattern import MOST_ASKS, Pattern, poisson, rounds_at
from ann_bench.judge.quest import CLOSE, LEAST, next_rate
from ann_bench.results.trials import Trial, highest, trial

GOAL = 0.01


def searched(bound: float, *, most: float = 1000.0, trials: int = TRIALS) -> list[Trial]:
    """All the trials of an entry that keeps the goal up to a rate; waiting clients get `most` queries a second."""
    found = [Trial(math.nan, most, 1.0, True)]
    while len(found) < trials and (rate := next_rate(found, GOAL)) is not None:
        found.append(Trial(rate, rate, GOAL / 2 if rate <= bound else 10 * GOAL, True))
    return found


@given(st.floats(30, 2500))
def test_the_highest_rate_is_found(bound: float) -> None:
    trials = searched(bound)
    best = highest(trials, GOAL)
    assert best is not None
    assert best.rate <= bound
    assert len(trials) <= TRIALS
    if len(trials) < TRIALS:  # it ended by itself: so it is close
        assert bound < best.rate * CLOSE


def test_one_unlucky_run_does_not_decide() -> None:
    """A rate far below what the entry can do misses the goal once: it is tried again before the search ends."""
    found = [Trial(math.nan, 1000.0, 1.0, True)]
    unlucky = 1
    while len(found) < TRIALS and (rate := next_rate(found, GOAL)) is not None:
        kept = rate <= 700 and not (unlucky and rate == 400)
        unlucky -= rate == 400
        found.append(Trial(rate, rate, GOAL / 2 if kept else 10 * GOAL, True))
    best = highest(found, GOAL)
    assert best is not None
    assert 550 < best.rate <= 700
    assert [one.rate for one in found].count(400) == 2
    again = [*found, dataclasses.replace(best, p99=10 * GOAL)]
    worse = highest(again, GOAL)
    assert worse is not None
    assert worse.rate < best.rate


def test_a_client_that_was_late_decides_nothing() -> None:
    """Its trial is made again, but not for ever."""
    start = Trial(math.nan, 1000.0, 1.0, True)
    late = Trial(800.0, 700.0, 5 * GOAL, True, late=GOAL)
    assert next_rate([start, late], GOAL) == 800.0
    assert next_rate([start, *[late] * 3], GOAL) == 400.0
    assert next_rate([start, dataclasses.replace(late, late=GOAL / 3)], GOAL) == 400.0
    kept = [start, late, Trial(800.0, 800.0, GOAL / 2, True)]
    best = highest(kept, GOAL)
    assert best is not None
    assert best.rate == 800.0


def test_a_goal_that_no_rate_meets_ends_the_search() -> None:
    trials = searched(0.0)
    assert highest(trials, GOAL) is None
    assert len(trials) < TRIALS
    assert min(one.rate for one in trials[1:]) >= LEAST * 1000


def test_a_lucky_pass_above_a_failed_one_does_not_count() -> None:
    trials = [Trial(100, 100, 0.001, True), Trial(200, 200, 0.5, True), Trial(300, 300, 0.001, True)]
    best = highest(trials, GOAL)
    assert best is not None
    assert best.rate == 100
    assert highest([Trial(100, 100, 0.001, False)], GOAL) is None  # the client did not send at that rate


def test_arrivals_are_random_and_the_same_for_a_seed() -> None:
    times = poisson(500.0, 20_000, (7, 0, 1, 0))
    assert np.array_equal(times, poisson(500.0, 20_000, (7, 0, 1, 0)))
    assert not np.array_equal(times, poisson(500.0, 20_000, (7, 0, 2, 0)))
    gaps = np.diff(times)
    assert gaps.min() > 0
    assert abs(gaps.mean() * 500 - 1) < 0.05
    assert abs(gaps.std() * 500 - 1) < 0.05  # exponential: deviation and mean are equal


@given(st.floats(1, 1e6), st.integers(1, 100_000), st.floats(0, 60))
def test_a_schedule_has_whole_rounds(rate: float, count: int, seconds: float) -> None:
    rounds = rounds_at(rate, count, seconds)
    assert rounds >= 1
    assert rounds == 1 or (rounds * count <= MOST_ASKS and (rounds - 1) * count < rate * seconds)
    assert rounds * count >= min(rate * seconds, MOST_ASKS - count)


@given(st.integers(1, 5000), st.floats(0, 10), st.floats(1e-6, 0.1))
def test_clients_go_on_until_it_has_lasted(count: int, seconds: float, each: float) -> None:
    """The same speed all the time: after the first round one more part is enough, or one more because of rounding."""
    pattern = Pattern(1, seconds=seconds)
    made, parts = 0, 0
    while rounds := pattern.rounds(count, made, made * count * each):
        made, parts = made + rounds, parts + 1
    most = max(1, MOST_ASKS // count)
    assert parts <= 3
    assert made <= most
    assert made == most or made * count * each >= seconds
    assert made == 1 or (made - 1) * count * each < seconds * (1 + 1e-9)


def test_what_a_pass_shows() -> None:
    due = np.arange(100) / 100
    found = trial(100.0, due, due + 1e-5, due + np.arange(1, 101) / 1e4)
    assert abs(found.p99 - 0.0099) < 1e-9
    assert found.kept_up
    assert not trial(100.0, due, due * 1.2, due * 1.2 + 0.001).kept_up


def test_the_first_pass_of_a_search_has_clients_that_wait() -> None:
    mode = Mode("load", rate=HIGHEST, p99=GOAL)
    first = mode.pattern(2, 10, (1, 0, 0, 0))
    assert first is not None
    assert first.schedule is None
    assert first.clients == 4
    second = mode.pattern(2, 10, (1, 0, 1, 0), [Trial(math.nan, 1000.0, 0.5, True)])
    assert second is not None
    assert second.rate == 800.0
