"""Medians and intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ann_bench.stats import Estimate, mean, median, median_estimate, recall_estimate

shapes = st.tuples(st.integers(1, 4), st.integers(1, 6))
rates = arrays(np.float64, shapes, elements=st.floats(1, 1e6) | st.just(math.nan))
recalls = arrays(np.float64, shapes, elements=st.floats(0, 1) | st.just(math.nan))
queries = arrays(np.float64, st.integers(0, 50), elements=st.floats(0, 1) | st.just(math.nan))


def test_median_and_mean() -> None:
    assert median([3, 1, math.nan, 2]) == 2
    assert mean([0.9] * 7) == 0.9
    assert mean([0.1] * 10 + [math.nan]) == 0.1
    assert mean([1, 2, 4.5]) == 2.5
    assert math.isnan(median([]))
    assert math.isnan(mean([math.nan]))


def test_few_values() -> None:
    one = median_estimate([[5.0]])
    assert one.value == 5
    assert math.isnan(one.low)
    assert math.isnan(one.high)
    five = median_estimate([[5.0, 1, 3, 2, 4]])
    assert five.value == 3
    assert five.low < 1.5  # the interval may go beyond the values: five say little about their median
    assert five.high > 4
    assert median_estimate([[2.0], [math.nan], [4.0]]).value == 3
    for nothing in (median_estimate(np.zeros((0, 0))), recall_estimate([[math.nan]], [0.5])):
        assert math.isnan(nothing.value)


def test_a_certain_recall_has_no_width() -> None:
    assert recall_estimate([[1.0] * 5], np.ones(1000)) == Estimate(1, 1, 1)


@settings(max_examples=200, deadline=None)
@given(rates)
def test_a_median_lies_in_its_interval(values: np.ndarray) -> None:
    found = median_estimate(values)
    known = values[~np.isnan(values)]
    if len(known) == 0:
        assert math.isnan(found.value)
    elif len(known) == 1:
        assert found.value == known[0]
    else:
        assert known.min() <= found.value <= known.max()
        if not math.isnan(found.low):
            assert 0 < found.low <= found.value <= found.high
            assert found.holds(found.value)


@settings(max_examples=200, deadline=None)
@given(recalls, queries)
def test_a_recall_lies_in_its_interval_between_zero_and_one(runs: np.ndarray, values: np.ndarray) -> None:
    found = recall_estimate(runs, values)
    if np.isnan(runs).all():
        assert math.isnan(found.value)
    else:
        assert 0 <= found.low <= found.value <= found.high <= 1
        assert found == recall_estimate(runs, values)  # the same every time


@settings(max_examples=50, deadline=None)
@given(rates, st.floats(0.1, 10))
def test_a_median_interval_scales(values: np.ndarray, factor: float) -> None:
    one, other = median_estimate(values), median_estimate(values * factor)
    np.testing.assert_allclose(
        [other.value, other.low, other.high], [one.value * factor, one.low * factor, one.high * factor], rtol=1e-9
    )


def test_more_queries_narrow_the_interval() -> None:
    rng = np.random.default_rng(1)
    values = rng.binomial(10, 0.9, 100_000) / 10
    widths = []
    for count in (100, 1000, 10_000, 100_000):
        part = values[:count]
        found = recall_estimate([[part.mean()] * 5], part)
        widths.append(found.high - found.low)
        normal = 2 * 1.96 * part.std() / math.sqrt(count)
        assert widths[-1] == pytest.approx(normal, rel=0.12)
    assert widths == sorted(widths, reverse=True)


def test_many_distinct_values_are_binned_without_harm() -> None:
    values = np.random.default_rng(2).random(50_000)
    found = recall_estimate([[values.mean()]], values)
    assert found.high - found.low == pytest.approx(2 * 1.96 * values.std() / math.sqrt(len(values)), rel=0.12)


def test_repeating_equal_runs_does_not_narrow_the_interval() -> None:
    values = np.random.default_rng(3).binomial(10, 0.8, 500) / 10
    once, often = (recall_estimate([[values.mean()] * runs], values) for runs in (1, 50))
    assert once == often


def test_builds_that_differ_widen_the_interval() -> None:
    values = np.random.default_rng(4).binomial(10, 0.8, 5000) / 10
    same = recall_estimate([[0.8] * 3] * 4, values)
    apart = recall_estimate([[0.78] * 3, [0.82] * 3, [0.79] * 3, [0.81] * 3], values)
    assert apart.high - apart.low > 3 * (same.high - same.low)


def test_recall_intervals_cover_the_truth() -> None:
    """Simulated indexes: 300 queries of a common difficulty; the interval holds the true recall 95 times in 100."""
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(300):
        chance = rng.beta(9, 1, 300)
        values = rng.binomial(10, chance) / 10
        found = recall_estimate([[values.mean()]], values)
        held += found.low <= 0.9 <= found.high
    assert 0.91 <= held / 300 <= 0.99


def test_intervals_over_builds_cover_the_truth() -> None:
    """Five builds, each with a recall of its own around 0.9."""
    rng = np.random.default_rng(6)
    held = 0
    for _ in range(200):
        builds = rng.normal(0.9, 0.01, 5)
        values = rng.normal(builds.mean(), 0.05, 500).clip(0, 1)
        found = recall_estimate(np.repeat(builds[:, None], 3, axis=1), values)
        held += found.low <= 0.9 <= found.high
    assert 0.91 <= held / 200 <= 0.98
