"""The bootstrap of a median, summed instead of drawn."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ann_bench.stats.exact import bootstrap_spread, by_size, quantile


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-100, 100), min_size=2, max_size=4))
def test_it_is_the_spread_over_all_samples_that_can_be_drawn(values: list[float]) -> None:
    every = np.median(list(itertools.product(values, repeat=len(values))), axis=1)
    assert bootstrap_spread(np.array(values)) == pytest.approx(np.std(every), rel=1e-9, abs=1e-7)


@pytest.mark.parametrize("count", [2, 3, 4, 5, 7, 10, 14, 33])
def test_intervals_of_normal_samples_hold_the_truth(count: int) -> None:
    values = np.random.default_rng(count).standard_normal((10_000, count))
    freedom, factor = by_size(count)
    off = np.abs(np.median(values, axis=1)) / (bootstrap_spread(values) * factor)
    assert 0.94 <= np.mean(off <= quantile(freedom, 0.95)) <= 0.965
    assert 0.992 <= np.mean(off <= quantile(freedom, 0.995)) <= 0.998


def test_a_thousand_values_are_no_trouble() -> None:
    values = np.random.default_rng(1).standard_normal(1000)
    assert bootstrap_spread(values) == pytest.approx(1.2533 / np.sqrt(1000), rel=0.35)
