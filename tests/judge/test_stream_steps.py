"""Every call of a stream is in its result: in blocks, with its place in time; also where the stream breaks off."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ann_bench.arrays import ArrayRef, CsrRef
from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest
from ann_bench.errors import ResultError
from ann_bench.judge import blocks as cutting
from ann_bench.judge.blocks import block_rows, blocks
from ann_bench.judge.verify_steps import verify_steps
from ann_bench.results.bundle import read, write
from ann_bench.results.model import Bundle, Control, Outcome, Status, Step
from ann_bench.tracks import Track
from ann_bench.workload import Delete, Insert, Replace, Search, Workload
from tests.judge.test_streams import STREAM, run, stream
from tests.support import tiny_dataset

pytestmark = pytest.mark.usefixtures("nothing_left")


def changed(track: Track, **changes: object) -> Track:
    return dataclasses.replace(track, **changes)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "BLOCK_ROWS", 33)


@given(st.integers(0, 500), st.integers(0, 10**9), st.integers(0, 10**9), st.integers(1, 60), st.booleans())
def test_blocks_are_all_of_it_once_in_order(count: int, ids: int, rows: int, most: int, replace: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "block_rows", lambda dataset: most)
        kind = Replace if replace else Insert
        parts = list(blocks(kind(range(ids, ids + count), range(rows, rows + count)), None))
        assert [i for part in parts for i in part.ids] == list(range(ids, ids + count))
        assert [r for part in parts for r in part.rows] == list(range(rows, rows + count))
        assert all(type(part) is kind and len(part.ids) == len(part.rows) <= most for part in parts)
        for whole in (Delete(range(count)), Search(count, 10)):
            assert list(blocks(whole, None)) == [whole]


def test_blocks_are_bounded_by_rows_and_bytes(tmp_path: Path) -> None:
    dataset = prepare(find_manifest(str(tiny_dataset(tmp_path)), "filtered"), "public")
    assert block_rows(dataset) == cutting.BLOCK_ROWS  # 8 bytes a row, and a few tags
    wide = dataclasses.replace(dataset, base=ArrayRef("", "float32", (10**6, 1024)), tags=None)
    assert block_rows(wide) == 64 * 2**20 // 4096
    parts = (ArrayRef("", "int64", (1001,)), ArrayRef("", "int32", (10**6,)), ArrayRef("", "float32", (10**6,)))
    assert 8300 < block_rows(dataclasses.replace(wide, base=CsrRef(*parts, (1000, 30_000)))) < 8400
    assert block_rows(dataclasses.replace(wide, base=ArrayRef("", "float32", (3, 2**30)))) == 1


def test_large_inserts_arrive_in_blocks_and_nothing_is_missing(tmp_path: Path, small_blocks: None) -> None:
    counting = STREAM.replace("def insert(self, vectors, ids, tags=None):", """def stats(self):
    return {"sizes": str(self.sizes)}

def insert(self, vectors, ids, tags=None):
    self.sizes = [*getattr(self, "sizes", []), len(ids)]""")  # fmt: skip
    track = stream()
    (bundle,) = run(tmp_path, counting + "\n\nreplace = insert", track)
    assert bundle.outcome.status is Status.CRASHED  # this entry's insert takes no id that is there already
    counting = counting.replace("assert one not in self.points", "pass")
    (bundle,) = run(tmp_path / "again", counting + "\n\nreplace = insert", track)
    assert bundle.outcome.status is Status.OK, bundle.outcome
    points = [(step.operation, step.kind, step.points) for step in bundle.steps if step.operation >= 0]
    assert points == [
        (0, "insert", 33), (0, "insert", 33), (0, "insert", 33), (0, "insert", 21), (1, "search", 40),
        (2, "insert", 33), (2, "insert", 33), (2, "insert", 14), (3, "delete", 40), (4, "search", 40),
        (5, "replace", 30), (6, "search", 25), (7, "insert", 10), (8, "search", 40),
    ]  # fmt: skip
    assert bundle.stats["sizes"] == str([33, 33, 33, 21, 33, 33, 14, 30, 10])
    verify_steps(bundle)


def test_the_place_of_each_call_in_time(tmp_path: Path) -> None:
    slow = STREAM.replace("def delete(self, ids):", "def delete(self, ids):\n    import time; time.sleep(0.2)")
    slow = slow.replace(
        "self.points, self.tags_of = {}, {}", "self.points, self.tags_of = {}, {}\n    self.hog = np.ones(2**23)"
    )
    (bundle,) = run(tmp_path, slow, stream())
    steps = bundle.steps
    assert [step.kind for step in steps[:3]] == ["create", "setup", "set"]
    assert steps[0].began == pytest.approx(0, abs=0.05)
    for one, other in itertools.pairwise(steps):
        assert other.began >= one.began + one.seconds * (1 - 1e-9)
    delete = next(step for step in steps if step.kind == "delete")
    after = steps[steps.index(delete) + 1]
    assert delete.seconds >= 0.2
    assert delete.cpu_seconds < 0.15  # it slept
    assert 0.2 <= after.began - delete.began < 2
    assert steps[1].memory_bytes - steps[0].memory_bytes >= 60 * 2**20
    assert all(0 < step.memory_bytes <= bundle.usage.peak_memory_bytes for step in steps)
    assert [s.seconds for s in steps if s.kind == "search"] == bundle.seconds[0, 0].tolist()


#: What happens in the middle of a stream, in the delete: after two inserts and one search.
BROKEN = {
    "timeout": ("import time; time.sleep(60)", Status.TIMEOUT, "the time that was left"),
    "crash": ("import ctypes; ctypes.string_at(0)", Status.CRASHED, "SIGSEGV"),
    "exception": ("raise KeyError('lost')", Status.CRASHED, "KeyError: 'lost'"),
    "memory": ("import time; self.hog = np.ones(2**28); time.sleep(60)", Status.OUT_OF_MEMORY, "outgrew"),
    "words": ("import os, time\n    os.closerange(3, 64)\n    time.sleep(60)", Status.RULE_BROKEN, "hung up"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_was_measured_before_the_end_is_kept(tmp_path: Path, name: str) -> None:
    body, status, detail = BROKEN[name]
    limits = stream().limits.but(run_seconds=3.0, memory_bytes=2**29)
    broken = STREAM.replace("def delete(self, ids):", f"def delete(self, ids):\n    {body}")
    (bundle,) = run(tmp_path, broken, changed(stream(), limits=limits))
    assert bundle.outcome.status is status, bundle.outcome
    assert bundle.outcome.detail.startswith("in step 4 of 9: ")
    assert detail in bundle.outcome.detail
    done = [(step.kind, step.points) for step in bundle.steps if step.operation >= 0]
    assert done == [("insert", 120), ("search", 40), ("insert", 80)]
    assert np.isfinite(bundle.seconds).sum() == 1
    assert (len(bundle.answers), len(bundle.scores)) == (1, 1)
    verify_steps(bundle)
    again = read(write(bundle, tmp_path / "results"))
    assert again.steps == bundle.steps
    verify_steps(again)


def test_the_time_of_one_operation_is_that_of_all_its_blocks(tmp_path: Path, small_blocks: None) -> None:
    slow = STREAM.replace(
        "    for place, one in enumerate(ids):",
        "    import time; time.sleep(0.7)\n    for place, one in enumerate(ids):",
        1,
    )
    limits = stream().limits.but(operation_seconds=1.6)
    (bundle,) = run(tmp_path, slow, changed(stream(), limits=limits))
    assert bundle.outcome.status is Status.TIMEOUT
    assert [(s.kind, s.points) for s in bundle.steps if s.operation >= 0] == [("insert", 33)] * 2
    verify_steps(bundle)


def test_two_builds_and_two_query_configs(tmp_path: Path) -> None:
    steps = (Insert(range(50), range(50)), Search(40, 10))
    track = changed(stream(), workload=lambda dataset, k: Workload(steps, 50))
    bundles = run(tmp_path, STREAM, track, builds=2, query={"default": [{"effort": 1}, {"effort": 2}]})
    assert [bundle.outcome.status for bundle in bundles] == [Status.OK] * 2
    for bundle in bundles:
        assert [step.build for step in bundle.steps] == [0] * 5 + [1] * 5
        assert len(bundle.answers) == 1
        verify_steps(bundle)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "BLOCK_ROWS", 33)
        (bundle,) = run(tmp_path_factory.mktemp("good"), STREAM, stream())
    return bundle


def at(number: int, **changes: object) -> Callable[[tuple[Step, ...]], tuple[Step, ...]]:
    return lambda steps: (*steps[:number], dataclasses.replace(steps[number], **changes), *steps[number + 1 :])


FORGERIES: dict[str, tuple[Callable[[tuple[Step, ...]], tuple[Step, ...]], str]] = {
    "a block is missing": (lambda steps: steps[:4] + steps[5:], "the workload has"),
    "the last call is missing": (lambda steps: steps[:-1], "calls of build 0 are missing"),
    "a call too many": (lambda steps: (*steps, dataclasses.replace(steps[-1], began=99.0)), "the workload has nothing"),
    "two in another order": (lambda steps: (*steps[:8], *steps[7:6:-1], *steps[9:]), "time that cannot be"),
    "fewer points": (at(3, points=32), "the workload has"),
    "more points": (at(3, points=34), "call 4 of build 0|call 6 of build 0|the workload has"),
    "no points": (at(3, points=0), "the workload has"),
    "another kind": (at(3, kind="delete"), "is delete of 33"),
    "another place": (at(3, operation=2), "at place 2"),
    "another run": (at(3, run=1), "run 1"),
    "no time": (at(3, seconds=0.0), "time that cannot be"),
    "an earlier time": (at(5, began=0.0), "time that cannot be"),
    "no place in time": (at(5, began=float("nan")), "time that cannot be"),
    "another time of a search": (at(7, seconds=1e-6), "is not that of its call"),
    "part of a search": (at(7, points=39), "the workload has search of 40"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_calls_are_named(good: Bundle, name: str) -> None:
    verify_steps(good)
    forge, words = FORGERIES[name]
    assert good.steps[7].kind == "search"
    with pytest.raises(ResultError, match=words):
        verify_steps(dataclasses.replace(good, steps=forge(good.steps)))


def test_a_search_without_a_call_is_named(good: Bundle) -> None:
    unmeasured = np.where(np.arange(4) == 3, np.nan, good.seconds)
    with pytest.raises(ResultError, match="gave no answers"):
        verify_steps(dataclasses.replace(good, seconds=unmeasured))
    early = dataclasses.replace(good, steps=good.steps[:-1], outcome=Outcome(Status.CRASHED))
    with pytest.raises(ResultError, match="is not that of its call"):
        verify_steps(early)


def test_a_file_of_the_old_layout_still_reads() -> None:
    old = read(Path(__file__).parents[1] / "results" / "old" / "version-1.h5")
    assert [(step.kind, step.operation, step.seconds) for step in old.steps] == [
        ("create", -1, 0.5), ("build", 0, 3.0), ("set", -1, 0.01),
    ]  # fmt: skip
    assert all(np.isnan(step.began) and step.points == step.memory_bytes == 0 for step in old.steps)
    assert old.answers[0].shape == (20, 10)
    verify_steps(old)


def test_control_batches_are_calls_too(place, tmp_path: Path) -> None:
    from tests.support import write_entry

    assert place.run(write_entry(tmp_path / "mine"), "--runs", "2") == 0
    bundle = place.bundle()
    assert isinstance(bundle.control, Control)
    kinds = [(step.kind, step.operation, step.run) for step in bundle.steps]
    assert kinds == [
        ("create", -1, -1), ("build", 0, -1), ("set", -1, -1),
        ("search", 1, 0), ("search", 1, 1), ("control", 1, -1),
    ]  # fmt: skip
    assert [step.points for step in bundle.steps] == [0, 300, 0, 40, 40, 40]
    verify_steps(bundle)
    with pytest.raises(ResultError, match="calls of build 0 are missing"):
        verify_steps(dataclasses.replace(bundle, steps=bundle.steps[:-1]))
