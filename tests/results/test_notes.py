"""Odd measurements carry a note, even ones none."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ann_bench.results.control import compare
from ann_bench.results.figures import COLUMNS, figures
from ann_bench.results.model import Bundle, Usage
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


def known(hits: np.ndarray, *, runs: int = 3) -> Bundle:
    """A bundle whose published recall is 1, in batches of 0.1 s; each row of `hits` is what a control batch found."""
    builds = len(hits)
    bundle = made.bundle(1.0, shape=(builds, runs, 1), queries=hits.shape[1])
    return dataclasses.replace(bundle, seconds=np.full((builds, runs, 1), 0.1))


def unseen(hits: np.ndarray, **times: object) -> tuple[str, ...]:
    bundle = known(hits)
    return figures(dataclasses.replace(bundle, control=made.control(bundle, hits, **times))).notes


def test_a_lower_recall_on_unseen_queries() -> None:
    expected = (
        "answers to queries that nobody had seen: recall {} against 1.00 on the published ones: answered from a table?"
    )
    assert unseen(np.full((1, 100), 1)) == (expected.format("0.10"),)
    half = np.where(np.arange(200) % 2, 9, 10)[None]
    assert unseen(half) == (expected.format("0.95"),)
    assert unseen(np.full((1, 26), 0)) == (expected.format("0.00"),)


@pytest.mark.parametrize(
    "hits",
    [
        np.full((1, 100), 10),
        np.where(np.arange(100) < 25, 0, 10)[None],  # 25 signs alike may be chance
        np.full((1, 25), 0),
        np.full((1, 1), 0),
        np.zeros((1, 0)),
        np.where(np.arange(200) < 39, 9, 10)[None],  # no chance, but 0.0195 of recall
    ],
)
def test_what_is_not_worse_enough(hits: np.ndarray) -> None:
    assert unseen(hits) == ()


def test_recall_of_control_batches_is_over_builds() -> None:
    hits = np.array([np.full(50, 10), np.full(50, 5)])
    bundle = known(hits)
    bundle = dataclasses.replace(bundle, control=made.control(bundle, hits))
    assert figures(bundle).control_recall == 0.75
    assert (compare(bundle).published, compare(bundle).unseen) == (1.0, 0.75)
    assert np.isnan(figures(made.bundle()).control_recall)


def test_chance_alone_gives_no_note() -> None:
    """Two batches of the same index, 20,000 times: the bound is for one in 250,000."""
    rng = np.random.default_rng(1)
    shares = rng.beta(4, 1, (20_000, 1, 100))
    lost = (rng.binomial(10, shares) - rng.binomial(10, shares))[:, 0]
    assert (lost.sum(axis=1) / np.sqrt((lost**2).sum(axis=1))).max() < 5.0
    hits = rng.binomial(10, 0.9, (3, 200))
    bundle = made.bundle(0.9, shape=(3, 3, 1), queries=200, distinct=True)
    assert figures(dataclasses.replace(bundle, control=made.control(bundle, hits))).notes == ()


SLOWER = (
    "queries that nobody had seen took {} x the time of the published ones: answered from a table, or from a cache?"
)


def test_unseen_queries_that_take_longer() -> None:
    right = np.full((1, 100), 10)
    cpu = {"cpu": 0.9, "published_cpu": [0.2, 0.2, 0.2]}
    assert unseen(right, seconds=0.31, **cpu) == (SLOWER.format("3.1"),)
    assert unseen(right, seconds=0.19, **cpu) == ()
    assert unseen(right, seconds=0.31, cpu=0.25, published_cpu=[0.2, 0.2, 0.2]) == ()  # it had to wait
    assert unseen(right, seconds=1.1, cpu=0.0, published_cpu=[0.2, 0.2, 0.2]) == (SLOWER.format("11.0"),)
    assert unseen(right, seconds=0.31, cpu=0.9, published_cpu=[0.0, 0.0, 0.0]) == (SLOWER.format("3.1"),)
    assert unseen(right, seconds=0.31, cpu=0.9, published_cpu=[np.nan] * 3) == ()
    assert unseen(right, seconds=np.nan) == ()


def test_the_worst_build_counts() -> None:
    right = np.full((2, 100), 10)
    cpu = {"cpu": [9, 9], "published_cpu": np.ones((2, 3))}
    assert unseen(right, seconds=[0.25, 0.42], **cpu) == (SLOWER.format("4.2"),)
