"""What a result says of its repeats and of the machine."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ann_bench.results.model import Bundle, Identity, Outcome, Status, Step
from ann_bench.results.notes import notes
from ann_bench.results.repeats import canary_drift, drift_note, goal_note
from ann_bench.stats import median_estimate
from ann_bench.stats.goal import narrow_enough, needed

STEADY = [0.010 + 0.0001 * (place % 3) for place in range(15)]


def _with(**provenance: Any) -> Bundle:
    return Bundle(Identity({}), Outcome(Status.OK), provenance)


def test_a_machine_that_became_slower_is_noted() -> None:
    slower = _with(canary={"before": STEADY, "after": [1.25 * one for one in STEADY]})
    assert canary_drift(slower) == pytest.approx(-0.2)
    assert "20% slower after this measurement" in drift_note(slower)
    assert "faster" in drift_note(_with(canary={"after": STEADY, "before": [1.25 * one for one in STEADY]}))
    assert not drift_note(_with(canary={"before": STEADY, "after": [1.03 * one for one in STEADY]}))


@pytest.mark.parametrize(
    "canary", [None, {}, {"before": [1.0]}, {"before": "x", "after": [1]}, {"before": [0], "after": [1]}]
)
def test_no_canary_says_nothing(canary: Any) -> None:
    assert math.isnan(canary_drift(_with(canary=canary)))
    assert not drift_note(_with(canary=canary))


def test_what_a_goal_took() -> None:
    bundle = Bundle(Identity({"until": 0.02}), Outcome(Status.OK))
    steady = np.tile([100.0, 100.1, 99.9, 100.05], 3)[None]
    assert goal_note(bundle, steady) == "5 runs would have been enough, 12 were made"
    assert goal_note(bundle, steady[:, :5]) == ""
    assert "5 runs and QPS is within" in goal_note(bundle, np.array([[100.0, 80, 120, 90, 110]]))
    assert "2 builds and QPS" in goal_note(bundle, steady[0, :2, None])
    assert goal_note(Bundle(Identity({}), Outcome(Status.OK)), steady) == ""


@given(st.lists(st.floats(90, 110), min_size=1, max_size=12), st.floats(0.001, 0.5))
def test_from_when_on_a_goal_was_reached(rates: list[float], goal: float) -> None:
    found = needed([rates], goal)
    assert (found is not None) == narrow_enough([rates], goal)
    if found is not None:
        assert all(narrow_enough([rates[:count]], goal) for count in range(found, len(rates) + 1))
        assert found == 5 or not narrow_enough([rates[: found - 1]], goal)
        assert median_estimate([rates]).width <= goal


def test_a_slow_warm_up_is_a_slow_start() -> None:
    seconds = np.full((1, 3, 1), 0.1)
    warmup = Step(0, -1, "warmup", 2.0, 2.0)
    bundle = Bundle(Identity({}), Outcome(Status.OK), counts=(5,), seconds=seconds, steps=(warmup, warmup))
    assert any("first batch took 20.0 x" in note for note in notes(bundle))
    assert not any("first batch" in note for note in notes(replace(bundle, steps=())))
