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
from ann_bench.stats.goal import STOPPED_LEVEL, Watched, is_enough, narrow, needed

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


def _note(fields: dict[str, Any], rates: Any, recalls: Any = ((1.0,),)) -> str:
    bundle = Bundle(Identity(fields), Outcome(Status.OK))
    return goal_note(bundle, np.array(rates, dtype=float), np.array(recalls, dtype=float))


def test_what_a_goal_took() -> None:
    goal = {"until": 0.02}
    steady = np.tile([100.0, 100.1, 99.9, 100.05], 3)[None]
    assert _note(goal, steady) == "8 runs would have been enough, 12 were made"
    assert _note(goal, steady[:, :8]) == _note(goal, steady[:, :5]) == ""
    assert "5 runs and QPS is within" in _note(goal, [[100.0, 80, 120, 90, 110]])
    assert "2 builds: too few" in _note({**goal, "builds": 9}, steady[0, :2, None], [[1.0], [1.0]])
    assert _note({}, steady) == ""


def test_recall_counts_where_builds_are_repeated() -> None:
    goal, rates = {"until": 0.02, "builds": 9}, [[100.0], [100.1], [99.9], [100.05], [100]]
    assert _note(goal, rates, [[0.9], [0.901], [0.9], [0.9], [0.899]]) == ""
    note = _note(goal, rates, [[0.9], [0.7], [0.9], [0.8], [0.9]])
    assert note.startswith("5 builds and recall is within")
    assert "QPS" not in note
    assert _note(goal, rates, np.ones((5, 1))) == ""  # no build differs: an interval of no width


def test_a_limit_of_time_is_named() -> None:
    goal = {"until": 0.001, "until_seconds": 60.0, "runs": 50}
    assert _note(goal, [[100.0, 80, 120, 90, 110]]).startswith("the time was up after 5 runs: QPS is within")
    assert _note({**goal, "runs": 5}, [[100.0, 80, 120, 90, 110]]).startswith("5 runs and QPS is within")
    assert "how builds differ is not known" in _note({**goal, "builds": 4}, [[100.0, 80]])


def _watched(rates: list[float]) -> list[Watched]:
    return [Watched("QPS", np.array([rates]))]


@given(st.lists(st.floats(90, 110), min_size=1, max_size=16), st.floats(0.001, 0.5))
def test_when_a_goal_is_reached(rates: list[float], goal: float) -> None:
    """Narrow with two thirds of the repeats, and narrow with all of them."""
    found = needed(_watched(rates), goal)
    stops = [count for count in range(1, len(rates) + 1) if is_enough(_watched(rates[:count]), goal)]
    assert found == (stops[0] if stops else None)
    for count in stops:
        assert count >= 8
        assert narrow(_watched(rates), goal, count)
        assert narrow(_watched(rates), goal, count * 2 // 3)
        assert median_estimate([rates[:count]], STOPPED_LEVEL).width <= goal


def test_a_slow_warm_up_is_a_slow_start() -> None:
    seconds = np.full((1, 3, 1), 0.1)
    warmup = Step(0, -1, "warmup", 2.0, 2.0)
    bundle = Bundle(Identity({}), Outcome(Status.OK), counts=(5,), seconds=seconds, steps=(warmup, warmup))
    assert any("first batch took 20.0 x" in note for note in notes(bundle))
    assert not any("first batch" in note for note in notes(replace(bundle, steps=())))
