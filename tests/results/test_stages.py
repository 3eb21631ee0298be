"""Every figure of a step of a stream, against the plain definition."""

from __future__ import annotations

import dataclasses
import math
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ann_bench.results.bundle import write
from ann_bench.results.figures import figures
from ann_bench.results.model import Bundle, Outcome, Status, Step
from ann_bench.results.stages import changes_index
from tests.report import scenes
from tests.results import made


@st.composite
def workloads(draw: st.DrawFn) -> list[dict[str, object]]:
    """A stream: each change touches ids that allow it."""
    operations: list[dict[str, object]] = []
    first = end = 0
    for kind in draw(st.lists(st.sampled_from(["insert", "delete", "replace", "search"]), max_size=12)):
        count = draw(st.integers(1, 9))
        if kind == "insert":
            ids = [end, end := end + count]
        elif kind == "search":
            operations.append({"op": kind, "queries": count, "k": 10})
            continue
        elif first + count > end:
            continue
        else:
            ids = [first, first + count]
            first += count if kind == "delete" else 0
        operations.append({"op": kind, "ids": ids, **({} if kind == "delete" else {"rows": ids})})
    return operations


@st.composite
def streams(draw: st.DrawFn) -> Bundle:
    """A stream that was measured in one or two builds; large changes in blocks; perhaps it broke off."""
    workload = draw(workloads())
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    builds, answers, steps = draw(st.integers(1, 2)), [], []
    searches = [operation for operation in workload if operation["op"] == "search"]
    seconds = np.full((builds, 1, len(searches)), np.nan)
    answer_of = np.full(seconds.shape, -1, np.int32)
    ends = [draw(st.integers(0, len(workload)))] * builds
    for build in range(builds):
        now, number = 0.0, 0
        for place, operation in enumerate(workload[: ends[build]]):
            kind = str(operation["op"])
            left = operation["queries"] if kind == "search" else operation["ids"][1] - operation["ids"][0]
            while left:
                points = int(rng.integers(1, left + 1)) if kind in ("insert", "replace") else left
                took = float(rng.random() + 0.01)
                steps.append(Step(build, place, kind, took, took, 0, now, int(rng.integers(1, 2**40)), points))
                now, left = now + took, left - points
            if kind == "search":
                seconds[build, 0, number] = steps[-1].seconds
                answer_of[build, 0, number] = len(answers)
                answers.append(made.score(rng.integers(0, 11, points), np.full(points, 10)))
                number += 1
    return Bundle(
        identity=made.identity(workload=workload, builds=builds, runs=1),
        outcome=Outcome(Status.OK if ends[0] == len(workload) else Status.TIMEOUT),
        counts=tuple(operation["queries"] for operation in searches), seconds=seconds, answer_of=answer_of,
        answers=tuple(np.zeros((len(score.hits), 10), np.int32) for score in answers), scores=tuple(answers),
        steps=tuple(steps),
    )  # fmt: skip


def naive_live(workload: list[dict[str, object]], place: int) -> int:
    live: set[int] = set()
    for operation in workload[: place + 1]:
        ids = set(range(*operation.get("ids", (0, 0))))
        live = live | ids if operation["op"] == "insert" else live - ids if operation["op"] == "delete" else live
    return len(live)


@settings(max_examples=150, deadline=None)
@given(streams())
def test_against_the_plain_definition(bundle: Bundle) -> None:
    workload = bundle.identity["workload"]
    shown = figures(bundle)
    builds = range(bundle.seconds.shape[0])
    if not changes_index(workload):
        assert shown.stages == ()
        return
    assert shown.changes
    assert [stage.operation for stage in shown.stages] == sorted({step.operation for step in bundle.steps})
    places = [place for place, operation in enumerate(workload) if operation["op"] == "search"]
    for stage in shown.stages:
        mine = [[s for s in bundle.steps if (s.build, s.operation) == (b, stage.operation)] for b in builds]
        assert stage.kind == workload[stage.operation]["op"]
        assert stage.points == sum(s.points for s in mine[0])
        assert stage.seconds == pytest.approx(np.median([sum(s.seconds for s in steps) for steps in mine]))
        assert stage.began == pytest.approx(np.median([steps[0].began for steps in mine]))
        assert stage.memory_bytes == int(np.median([steps[-1].memory_bytes for steps in mine]))
        assert stage.live == naive_live(workload, stage.operation)
        assert stage.rate == pytest.approx(stage.points / stage.seconds)
        assert stage.latency == pytest.approx(stage.seconds / stage.points)
        if stage.kind == "search":
            of = bundle.answer_of[:, 0, places.index(stage.operation)]
            assert stage.recall == pytest.approx(np.mean([bundle.scores[a].hits.mean() / 10 for a in of]))
        else:
            assert math.isnan(stage.recall)
    recalls = [stage.recall for stage in shown.stages if stage.kind == "search"]
    if recalls:
        assert shown.recall == pytest.approx(np.mean(recalls))  # of all searches, never of the first alone
        assert shown.least_recall == pytest.approx(min(recalls))
        assert shown.search_seconds == pytest.approx(np.median(np.nansum(bundle.seconds, axis=(1, 2))))
    changes = [[s for s in bundle.steps if s.build == b and s.kind != "search"] for b in builds]
    if any(changes):
        assert shown.update_seconds == pytest.approx(np.median([sum(s.seconds for s in steps) for steps in changes]))
    for kind, found in (("insert", shown.inserts_per_second), ("delete", shown.deletes_per_second)):
        kinds = [[s for s in steps if s.kind == kind] for steps in changes]
        if kinds[0]:
            rates = [sum(s.points for s in steps) / sum(s.seconds for s in steps) for steps in kinds]
            assert found == pytest.approx(np.median(rates))
        else:
            assert math.isnan(found)


def test_the_first_search_does_not_stand_for_all() -> None:
    """A published ranking came from the first step's recall; ours is the mean, and the least stands beside it."""
    shown = figures(made.stream(1.0, scenes.runbook(40), decline=0.9))
    searches = [stage.recall for stage in shown.stages if stage.kind == "search"]
    assert searches[0] == 1.0
    assert 0.4 < shown.recall < 0.7
    assert shown.recall == pytest.approx(sum(searches) / len(searches))
    assert shown.least_recall == min(searches) < 0.3


def test_an_operation_that_broke_off_has_the_points_that_came() -> None:
    workload = [{"op": "insert", "ids": [0, 100], "rows": [0, 100]}, {"op": "search", "queries": 5, "k": 10}]
    whole = made.stream(1.0, workload)
    steps = (whole.steps[0], dataclasses.replace(whole.steps[1], points=60))
    nothing = {"seconds": np.full((1, 1, 1), np.nan), "answer_of": np.full((1, 1, 1), -1, np.int32)}
    broken = dataclasses.replace(
        whole, steps=steps, outcome=Outcome(Status.TIMEOUT), answers=(), scores=(), **nothing
    )  # fmt: skip
    shown = figures(broken)
    assert [(stage.points, stage.live) for stage in shown.stages] == [(60, 60)]
    row = shown.row()
    assert row["update_seconds"] == pytest.approx(steps[1].seconds)
    assert row["inserts_per_second"] == pytest.approx(60 / steps[1].seconds)
    assert row["recall"] is row["least_recall"] is row["search_seconds"] is None
    assert math.isnan(shown.total_seconds)


def test_no_stream_has_no_stages() -> None:
    shown = figures(made.bundle())
    assert not shown.changes
    assert shown.stages == ()
    assert shown.row()["update_seconds"] is None
    assert shown.total_seconds == pytest.approx(shown.build_seconds + shown.search_seconds)


def test_a_large_bundle_is_written_without_copies_of_its_answers(tmp_path: Path) -> None:
    """Random 31-bit ids do not shrink: the image is as large as they are, and is the only copy."""
    rng = np.random.default_rng(1)
    workload = scenes.runbook(120)
    bundle = made.stream(0.9, workload)
    answers = tuple(rng.integers(0, 2**31 - 1, (100, 10), dtype=np.int32) for _ in bundle.answers)
    answers = tuple(np.tile(ids, (60, 1)) ^ rng.integers(0, 2**31 - 1, (6000, 10), dtype=np.int32) for ids in answers)
    size = sum(ids.nbytes for ids in answers)
    assert size > 9 * 2**20
    tracemalloc.start()
    write(dataclasses.replace(bundle, answers=answers), tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * size
