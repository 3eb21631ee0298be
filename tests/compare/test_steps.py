"""Steps in series that were made for it: none, one, two; noise, outliers, and how often a step is seen that is none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ann_bench.compare.steps import FALSE_ALARMS, LEAST, steps


def noisy(levels: list[tuple[int, float]], noise: float, rng: np.random.Generator) -> np.ndarray:
    """So many values at each level, with a relative noise."""
    series = np.concatenate([np.full(count, level) for count, level in levels])
    return series * np.exp(noise * rng.standard_normal(len(series)))


@pytest.mark.parametrize("length", [6, 12, 40])
@pytest.mark.parametrize("kind", ["normal", "heavy tails", "outliers"])
def test_false_alarms_are_rare(length: int, kind: str) -> None:
    rng = np.random.default_rng([length, len(kind)])
    count = 200
    series = rng.standard_t(3, (count, length)) if kind == "heavy tails" else rng.standard_normal((count, length))
    if kind == "outliers":
        series = np.where(rng.random(series.shape) < 0.03, series - 10, series)
    alarms = sum(bool(steps(np.exp(0.02 * row))) for row in series)
    # of 200 series 2 are expected; 10 or more come up once in 20,000 studies
    assert alarms < (10 if kind == "normal" else 16)
    assert FALSE_ALARMS == 0.01


@pytest.mark.parametrize("ratio", [0.9, 1.1])
@pytest.mark.parametrize("place", [LEAST, 15, 27])
def test_one_step_is_found_where_it_is(ratio: float, place: int) -> None:
    rng = np.random.default_rng([place, int(100 * ratio)])
    found = [steps(noisy([(place, 1000.0), (30 - place, 1000.0 * ratio)], 0.01, rng)) for _ in range(30)]
    right = [one for one in found if [step.place for step in one] == [place]]
    assert len(right) >= 27
    assert all(abs(one[0].ratio / ratio - 1) < 0.03 for one in right)


def test_two_steps_are_found() -> None:
    rng = np.random.default_rng(2)
    up_and_down = [(15, 1000.0), (15, 800.0), (15, 1000.0)]
    stairs = [(15, 1000.0), (15, 900.0), (15, 700.0)]
    for levels in (up_and_down, stairs):
        found = [[step.place for step in steps(noisy(levels, 0.02, rng))] for _ in range(25)]
        near = [len(places) == 2 and max(abs(places[0] - 15), abs(places[1] - 30)) <= 1 for places in found]
        assert sum(near) >= 22


def test_slow_nights_are_no_step() -> None:
    series = noisy([(30, 1000.0)], 0.01, np.random.default_rng(5))
    series[[7, 20]] *= 0.4
    assert steps(series) == []
    (step,) = steps(np.concatenate([series, 0.8 * series]))
    assert step.place == 30


def test_levels_without_noise() -> None:
    assert steps([5.0] * 10) == []
    (step,) = steps([5.0] * 5 + [6.0] * 5)
    assert (step.place, step.ratio) == (5, pytest.approx(1.2))


@given(st.lists(st.floats(1e-9, 1e12), max_size=5))
def test_too_few_values_say_nothing(series: list[float]) -> None:
    assert steps(series) == []


@given(st.lists(st.floats(0.5, 2.0), min_size=6, max_size=30))
def test_steps_lie_within(series: list[float]) -> None:
    found = [step.place for step in steps(series)]
    assert found == sorted(found)
    assert all(LEAST <= place <= len(series) - LEAST for place in found)
