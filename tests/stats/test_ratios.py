"""Ratios of two results, verdicts, tiers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ann_bench.stats import LEVEL, VERDICT_LEVEL, Verdict, differs, median_estimate, ratio_estimate, tiers

shapes = st.tuples(st.integers(1, 4), st.integers(1, 6))
elements = st.floats(1, 1e4) | st.just(math.nan)
rates = shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=elements))
pairs = shapes.flatmap(lambda shape: st.tuples(*[arrays(np.float64, shape, elements=elements)] * 2))


def _equal(one: object, other: object) -> None:
    np.testing.assert_allclose(one, other, rtol=1e-9, equal_nan=True)


@settings(max_examples=150, deadline=None)
@given(rates, rates)
def test_a_ratio_turned_round_is_its_inverse(a: np.ndarray, b: np.ndarray) -> None:
    one, other = ratio_estimate(a, b), ratio_estimate(b, a)
    _equal([one.value, one.low, one.high], [1 / other.value, 1 / other.high, 1 / other.low])
    if not math.isnan(one.low):
        assert one.low <= one.value <= one.high
        _equal(one.value, median_estimate(a).value / median_estimate(b).value)
    turned = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}
    assert differs(b, a) is turned.get(differs(a, b), Verdict.CANNOT_TELL)


@settings(max_examples=150, deadline=None)
@given(pairs, st.floats(0.01, 100), st.floats(0.01, 100))
def test_a_ratio_scales(both: tuple[np.ndarray, np.ndarray], up: float, down: float) -> None:
    for paired in (False, True):
        one = ratio_estimate(*both, paired=paired)
        other = ratio_estimate(both[0] * up, both[1] * down, paired=paired)
        factor = up / down
        np.testing.assert_allclose(
            [other.value, other.low, other.high],
            [one.value * factor, one.low * factor, one.high * factor],
            rtol=1e-6,
            equal_nan=True,
        )


@settings(max_examples=100, deadline=None)
@given(pairs, st.integers(0, 2**32))
def test_what_both_share_cancels_where_they_are_paired(both: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    drift = np.random.default_rng(seed).uniform(0.5, 2, both[0].shape)
    one = ratio_estimate(*both, paired=True)
    other = ratio_estimate(both[0] * drift, both[1] * drift, paired=True)
    np.testing.assert_allclose([other.value, other.low], [one.value, one.low], rtol=1e-6, equal_nan=True)


@settings(max_examples=100, deadline=None)
@given(st.lists(rates, max_size=6))
def test_tiers_are_groups_of_neighbours_in_the_ranking(results: list[np.ndarray]) -> None:
    found = tiers(results)
    values = [median_estimate(one).value for one in results]
    assert [tier == 0 for tier in found] == [math.isnan(value) for value in values]
    ranking = sorted((place for place, tier in enumerate(found) if tier), key=lambda place: -values[place])
    steps = np.diff([0, *(found[place] for place in ranking)])
    assert set(steps.tolist()) <= {0, 1}
    for place, step in zip(ranking, steps.tolist(), strict=True):
        first = next(p for p in ranking if found[p] == found[place])
        assert step == 1 or differs(results[first], results[place]) is Verdict.CANNOT_TELL


def test_tiers_of_three_results() -> None:
    runs = np.array([[0.99, 1, 1.01, 1.005, 0.995]])
    assert tiers([100 * runs, 300 * runs, 299 * runs]) == [2, 1, 1]
    assert tiers([[[5.0]], [[7.0]], [[math.nan]]]) == [1, 1, 0]  # one value each: nobody can tell


def test_a_wider_level_decides() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(103, 1, (1, 5)), rng.normal(100, 1, (1, 5))
    ratio = ratio_estimate(a, b)
    assert ratio_estimate(a, b, level=VERDICT_LEVEL).low < ratio.low
    assert LEVEL < VERDICT_LEVEL
    assert differs(a * 1.1, b) is Verdict.FASTER
    assert differs(b, a * 1.1) is Verdict.SLOWER


def test_bad_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match=r"unlike shapes: \(1, 2\) and \(1, 3\)"):
        ratio_estimate([[1, 2]], [[1, 2, 3]], paired=True)
    with pytest.raises(ValueError, match="positive"):
        ratio_estimate([[1, 0]], [[1, 2]])
    for paired in (False, True):
        assert math.isnan(ratio_estimate([[math.nan]], [[1.0]], paired=paired).value)
