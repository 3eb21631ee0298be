"""Percentiles of latencies."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import ndtri

from ann_bench.stats import percentile_estimate

run = arrays(np.float64, st.integers(0, 30), elements=st.floats(1e-6, 1) | st.just(math.nan))
shares = st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(run, max_size=3), max_size=3), shares, st.floats(0.1, 10))
def test_a_percentile_lies_in_its_interval_and_scales(values: list[list[np.ndarray]], share: float, by: float) -> None:
    found = percentile_estimate(values, share)
    known = np.array([one for runs in values for run in runs for one in run if not math.isnan(one)])
    if not len(known):
        assert math.isnan(found.value)
        return
    assert known.min() * (1 - 1e-9) <= found.value <= known.max() * (1 + 1e-9)
    if not math.isnan(found.low):
        assert found.low <= found.value <= found.high
    other = percentile_estimate([[run * by for run in runs] for runs in values], share)
    np.testing.assert_allclose(
        [other.value, other.low, other.high],
        [found.value * by, found.low * by, found.high * by],
        rtol=1e-6,
        equal_nan=True,
    )


def test_the_value_is_the_percentile_of_all_latencies_of_a_build() -> None:
    values = np.random.default_rng(1).random((3, 4, 500)) + 0.1
    builds = [np.quantile(build, 0.9) for build in values]
    assert percentile_estimate(values, 0.9).value == pytest.approx(np.median(builds))


def test_too_few_queries_give_no_interval() -> None:
    rng = np.random.default_rng(2)
    assert math.isnan(percentile_estimate([[rng.random(367)]], 0.99).high)
    assert percentile_estimate([[rng.random(368)]], 0.99).high < 1
    assert math.isnan(percentile_estimate([[rng.random(3600)]], 0.999).high)
    assert math.isnan(percentile_estimate([[[0.5]]], 0.5).low)


def test_queries_that_are_always_slow_count_once() -> None:
    rng = np.random.default_rng(3)
    queries = rng.lognormal(0, 1, 2000)
    once = percentile_estimate([[queries]], 0.9)
    often = percentile_estimate([[queries * rng.lognormal(0, 1e-4, 2000) for _ in range(20)]], 0.9)
    fresh = percentile_estimate([[rng.lognormal(0, 1, 2000) for _ in range(20)]], 0.9)
    assert often.width == pytest.approx(once.width, rel=0.15)
    assert fresh.width < 0.4 * once.width


def test_rounds_of_a_run_are_no_runs() -> None:
    """Runs that differ are what an interval is about, however many rounds each of them has."""
    rng = np.random.default_rng(4)
    rounds = [rng.lognormal(0.2 * run, 0.1, (30, 400)) for run in range(4)]
    found = percentile_estimate([rounds], 0.9)
    split = percentile_estimate([[one for run in rounds for one in run]], 0.9)
    assert found.value == split.value
    assert found.width > 2 * split.width
    padded = [np.vstack([run, np.full((3, 400), np.nan)]) for run in rounds]
    assert percentile_estimate([padded], 0.9) == found


@pytest.mark.parametrize(("builds", "runs"), [(1, 1), (1, 5), (4, 2)])
def test_intervals_of_percentiles_cover_the_truth(builds: int, runs: int) -> None:
    """Queries that are slow by nature, runs that are unlucky, builds that differ."""
    rng = np.random.default_rng([builds, runs])
    held, share, count = 0, 0.95, 100
    for _ in range(count):
        shape = (builds, runs, 600)
        own = rng.normal(0, 0.5, 600) + rng.normal(0, 0.5, shape)
        values = np.exp(own + rng.normal(0, 0.05, (builds, 1, 1)) * (builds > 1))
        found = percentile_estimate(values, share)
        held += found.low <= math.exp(ndtri(share) * math.sqrt(0.5)) <= found.high
    assert held / count >= 0.90
