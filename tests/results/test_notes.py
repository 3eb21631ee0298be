"""Odd measurements carry a note, even ones none."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ann_bench.results.figures import COLUMNS, figures
from ann_bench.results.model import Usage
from tests.results import made

CACHE = "first batch took {} x the median of the others: built late, or answers from a cache?"


def notes_of(seconds: list[list[float]], **usage: float) -> tuple[str, ...]:
    bundle = made.bundle(queries=5, shape=(len(seconds), len(seconds[0]), 1))
    return figures(dataclasses.replace(bundle, seconds=np.array(seconds)[:, :, None], usage=Usage(**usage))).notes


def test_an_entry_with_a_cache_after_the_first_run() -> None:
    assert notes_of([[0.71, 0.1, 0.09, 0.11, 0.1]]) == (CACHE.format("7.1"),)


def test_an_even_entry() -> None:
    assert notes_of([[0.1, 0.11, 0.1, 0.09, 0.1]]) == ()
    assert figures(made.bundle()).notes == ()
    assert figures(made.failed()).notes == ()


@pytest.mark.parametrize(
    "runs",
    [
        [0.3, 0.1, 0.1],  # three times as long, and not more
        [0.059, 0.01, 0.01],  # slower by less than 0.05 s
        [0.1, 0.9, 0.1],  # not the first one
        [0.9, 0.1],  # two runs say nothing
        [0.9, 0.1, np.nan],
        [np.nan, 0.1, 0.1],
        [0.9, 0.0, 0.0],
    ],
)
def test_what_is_not_slow_enough(runs: list[float]) -> None:
    assert notes_of([runs]) == ()


def test_just_slow_enough() -> None:
    assert notes_of([[0.0611, 0.01, 0.01]]) == (CACHE.format("6.1"),)
    assert notes_of([[0.31, 0.1, 0.1, np.nan]]) == (CACHE.format("3.1"),)


def test_the_worst_build_is_noted_against_its_own_runs() -> None:
    assert notes_of([[0.5, 0.1, 0.1], [8.0, 0.1, 0.1], [9.0, 9.0, 9.0]]) == (CACHE.format("80.0"),)


def test_all_searches_of_a_run_count() -> None:
    bundle = made.bundle(queries=5, shape=(1, 3, 2))
    slow_once = np.array([[[0.9, 0.1], [0.1, 0.1], [0.1, 0.1]]])
    assert figures(dataclasses.replace(bundle, seconds=slow_once)).notes == (CACHE.format("5.0"),)


def test_work_outside_of_the_timed_calls() -> None:
    even = [[0.1, 0.1, 0.1]]
    expected = "used {} CPU seconds outside of the timed calls"
    assert notes_of(even, cpu_inside_seconds=20, cpu_outside_seconds=12.2) == (expected.format("12"),)
    assert notes_of(even, cpu_inside_seconds=0, cpu_outside_seconds=1.1) == (expected.format("1.1"),)
    assert notes_of(even, cpu_inside_seconds=0, cpu_outside_seconds=1.0) == ()
    assert notes_of(even, cpu_inside_seconds=24, cpu_outside_seconds=12) == ()


def test_both_and_neither_is_a_column() -> None:
    assert len(notes_of([[0.7, 0.1, 0.1]], cpu_outside_seconds=5)) == 2
    assert "notes" not in COLUMNS
    assert "notes" not in figures(made.bundle()).row()
