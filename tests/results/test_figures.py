"""Figures follow from raw answers and times, and from nothing else."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ann_bench.results.figures import COLUMNS, figures
from ann_bench.results.model import Bundle, Outcome, Score, Status, Step
from ann_bench.stats import median_estimate
from tests.results import made

ISSUE = (
    "track, dataset, queries, algorithm, build, query, k, status, recall, recall_strict, recall_bigann, recall_low, "
    "recall_high, qps, qps_best, qps_low, qps_high, build_seconds, peak_memory_bytes, sandbox, cpus, "
    "memory_limit_bytes, runs, control_recall, searches, least_recall, search_seconds, update_seconds, "
    "inserts_per_second, deletes_per_second, replaces_per_second, radius, precision, challenge, canary_drift, key, "
    "mode, rate, p50, p50_low, p50_high, p90, p90_low, p90_high, p95, p95_low, p95_high, p99, p99_low, p99_high, "
    "p999, p999_low, p999_high, slowest, wire, build_seconds_low, build_seconds_high, update_seconds_low, "
    "update_seconds_high, tuned, index_memory_bytes"
)


def test_columns_are_those_that_were_promised() -> None:
    assert ", ".join(COLUMNS) == ISSUE
    assert [field.name for field in dataclasses.fields(figures(made.bundle()))][: len(COLUMNS)] == list(COLUMNS)
    assert tuple(figures(made.bundle()).row()) == COLUMNS


def small(hits: list[list[int]], possible: list[list[int]], answer_of: object, seconds: object, **more) -> Bundle:
    scores = tuple(made.score(np.array(h), np.array(p)) for h, p in zip(hits, possible, strict=True))
    answer_of = np.array(answer_of, dtype=np.int32)
    counts = tuple([len(hits[0]) if hits else 2] * answer_of.shape[2])
    status = more.pop("status", Status.OK)
    answers = tuple(np.zeros((len(h), 10), dtype=np.int32) for h in hits)
    return Bundle(
        identity=made.identity(**more), outcome=Outcome(status), counts=counts, answer_of=answer_of,
        seconds=np.array(seconds, dtype=float), answers=answers, scores=scores,
    )  # fmt: skip


def test_by_hand() -> None:
    bundle = small([[10, 5, 0]], [[10, 5, 0]], [[[0], [0], [0]]], [[[1.0], [3.0], [2.0]]])
    found = figures(bundle)
    assert found.recall == 1  # the third query has no true answer and does not count
    assert found.recall_strict == (9 / 10 + 4 / 5) / 2
    assert found.recall_bigann == 15 / 30  # big-ann's denominator is k for every query
    assert (found.qps, found.qps_best) == (1.5, 3.0)
    assert found.qps_low < 1.0  # three runs say little: the interval goes beyond them
    assert found.qps_high > 3.0
    assert found.build == '{"nlist":1024}'
    assert math.isnan(found.build_seconds)


def test_recall_is_the_mean_over_runs_each_counted_by_itself() -> None:
    bundle = small([[10, 10], [5, 5]], [[10, 10]] * 2, [[[0], [1], [1], [1]]], np.ones((1, 4, 1)))
    assert figures(bundle).recall == (1 + 0.5 * 3) / 4


def test_recall_of_every_step_counts() -> None:
    """A stream: the mean over searches, not the first one's recall for all."""
    bundle = small([[10, 10], [5, 5], [0, 0]], [[10, 10]] * 3, [[[0, 1, 2]]], [[[1.0, 1.0, 2.0]]])
    found = figures(bundle)
    assert found.recall == 0.5
    assert found.qps == 6 / 4
    assert found.recall_low < 0.5 + 1e-12
    assert math.isnan(found.qps_low)


def test_a_bound_is_not_missed_by_rounding() -> None:
    hits = [[9] * 1000]
    assert figures(small(hits, [[10] * 1000], np.zeros((3, 7, 1)), np.ones((3, 7, 1)))).recall == 0.9


def test_broken_off_runs_do_not_count_where_there_are_whole_ones() -> None:
    nan = math.nan
    bundle = small(
        [[10, 10], [0, 0]], [[10, 10]] * 2, [[[0, 0], [1, -1]]], [[[1.0, 1.0], [9.0, nan]]], status=Status.TIMEOUT
    )
    found = figures(bundle)
    assert (found.recall, found.qps, found.status) == (1.0, 2.0, "timeout")
    partial = small([[10, 10]], [[10, 10]], [[[0, -1]]], [[[0.5, nan]]], status=Status.CRASHED)
    assert (figures(partial).recall, figures(partial).qps) == (1.0, 4.0)


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.OK])
def test_what_was_not_measured_is_missing(status: Status) -> None:
    for bundle in (
        made.failed(status),
        small([], [], -np.ones((1, 5, 1)), np.full((1, 5, 1), math.nan), status=status),
        small([], [], np.zeros((0, 5, 1)), np.zeros((0, 5, 1)), status=status),
    ):
        found = figures(bundle)
        row = found.row()
        assert row["status"] == status.value
        assert not found.ok
        assert all(row[name] is None for name in COLUMNS if name.startswith(("recall", "qps", "build_s", "peak")))


def test_no_query_with_an_answer() -> None:
    found = figures(small([[0, 0]], [[0, 0]], [[[0]]], [[[1.0]]]))
    assert math.isnan(found.recall)
    assert found.recall_bigann == 0
    assert figures(small([[]], [[]], [[[0]]], [[[1.0]]])).row()["recall"] is None


def test_a_clock_that_stood_still_makes_no_infinite_speed() -> None:
    assert figures(small([[1, 1]], [[1, 1]], [[[0]]], [[[0.0]]])).row()["qps"] is None


def test_invalid_answers_are_counted_in_the_worst_run() -> None:
    good, bad = made.score(np.array([1]), np.array([10])), made.score(np.array([1]), np.array([10]), invalid=7)
    bundle = dataclasses.replace(
        made.bundle(queries=1, status=Status.INVALID_ANSWER), scores=(good, bad),
        answers=(np.zeros((1, 10), np.int32),) * 2, answer_of=np.array([[[0], [1], [1], [0], [0]]], np.int32),
    )  # fmt: skip
    assert figures(bundle).invalid["duplicate"] == 7
    assert figures(bundle).status == "invalid-answer"


def test_build_time_is_the_median_over_builds_of_all_build_steps() -> None:
    steps = tuple(Step(b, o, "build", s, 0.0) for b, o, s in [(0, 0, 1.0), (0, 1, 2.0), (1, 0, 9.0), (2, 0, 4.0)])
    other = (Step(0, 2, "search", 50.0, 0.0), Step(3, 0, "build", math.nan, 0.0))
    found = figures(dataclasses.replace(made.bundle(), steps=steps + other))
    assert found.build_seconds == 4.0
    assert 0 < found.build_seconds_low < 3.0
    assert found.build_seconds_high > 9.0


def test_one_build_says_nothing_of_how_builds_differ() -> None:
    steps = (Step(0, 0, "build", 3.0, 0.0), Step(0, 1, "build", 4.0, 0.0))
    found = figures(dataclasses.replace(made.bundle(), steps=steps))
    assert found.build_seconds == 7.0
    assert math.isnan(found.build_seconds_low)
    assert found.row()["build_seconds_high"] is None


@given(st.lists(st.floats(0.01, 1e4), min_size=2, max_size=9))
def test_the_interval_of_build_time_is_that_of_its_median(times: list[float]) -> None:
    steps = tuple(Step(build, 0, "build", seconds, 0.0) for build, seconds in enumerate(times))
    found = figures(dataclasses.replace(made.bundle(), steps=steps))
    assert found.build_seconds == np.median(times)
    assert found.build_seconds_low <= found.build_seconds <= found.build_seconds_high
    expected = median_estimate(np.array(times)[:, None])
    assert (found.build_seconds_low, found.build_seconds_high) == (expected.low, expected.high)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_against_the_plain_definition(data: st.DataObject) -> None:
    builds, runs, searches = (data.draw(st.integers(1, 3)) for _ in range(3))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    count = data.draw(st.integers(1, 6))
    possible = [rng.integers(0, 11, 4) for _ in range(count)]
    scores = tuple(Score(*(rng.integers(0, p + 1).astype(np.uint16) for _ in range(3)), p.astype(np.uint16), {})
                   for p in possible)  # fmt: skip
    answer_of = rng.integers(0, count, (builds, runs, searches)).astype(np.int32)
    bundle = Bundle(
        identity=made.identity(), outcome=Outcome(Status.OK), counts=(4,) * searches, answer_of=answer_of,
        seconds=rng.random((builds, runs, searches)) + 0.1, scores=scores,
    )  # fmt: skip
    with np.errstate(invalid="ignore"):
        means = [np.mean((s.hits / s.possible)[s.possible > 0]) if s.possible.any() else math.nan for s in scores]
    per_run = np.array([[_mean([means[a] for a in run]) for run in build] for build in answer_of.tolist()])
    expected = _mean([_mean(build) for build in per_run])
    found = figures(bundle)
    assert found.recall == pytest.approx(expected, nan_ok=True)
    assert math.isnan(found.recall) or 0 <= found.recall_low <= found.recall <= found.recall_high <= 1
    rates = 4 * searches / bundle.seconds.sum(axis=2)
    assert found.qps == pytest.approx(np.median(np.median(rates, axis=1)))
    assert found.qps_best == pytest.approx(rates.max())
    assert found.qps <= found.qps_best * (1 + 1e-12)
    assert math.isnan(found.qps_low) or found.qps_low <= found.qps <= found.qps_high


def _mean(values: object) -> float:
    known = [v for v in values if not math.isnan(v)]
    return sum(known) / len(known) if known else math.nan
