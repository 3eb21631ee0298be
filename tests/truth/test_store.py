from __future__ import annotations

import dataclasses
import logging
import multiprocessing
import shutil
from pathlib import Path

import numpy as np
import pytest

from ann_bench.arrays import ArrayRef, CsrRef
from ann_bench.errors import StorageError, UsageError
from ann_bench.truth import compute
from ann_bench.truth.model import Live, Problem
from ann_bench.truth.store import key_of, truth_for
from tests.truth.helpers import naive, save, save_bags


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("ANN_BENCH_CACHE", str(folder))
    return folder


@pytest.fixture
def problem(tmp_path):
    rng = np.random.default_rng(1)
    base, queries = rng.integers(0, 9, (60, 4)), rng.integers(0, 9, (12, 4))
    bags = [[number % 3, number % 2 + 3] for number in range(60)]
    return Problem(
        "euclidean",
        5,
        save(tmp_path, base.astype(np.uint8)),
        save(tmp_path, queries.astype(np.uint8)),
        save_bags(tmp_path, bags, 5),
        save_bags(tmp_path, bags[:12], 5),
        Live(np.arange(50), np.arange(50)),
    )


def files(cache: Path) -> list[Path]:
    return sorted(path for path in (cache / "truth").iterdir() if path.suffix not in (".lock",))


def refuse(*args, **options):
    raise AssertionError("computed again")


def test_computed_once(problem, cache, monkeypatch):
    first = truth_for(problem)
    ids, distances = naive(problem)
    np.testing.assert_array_equal(first.ids, ids)
    np.testing.assert_array_equal(first.distances, distances)
    assert first.key == key_of(problem)
    assert [path.name for path in files(cache)] == [f"{first.key}.truth"]
    monkeypatch.setattr(compute, "exact", refuse)
    again = truth_for(problem, cache)
    np.testing.assert_array_equal(again.ids, first.ids)
    np.testing.assert_array_equal(again.distances, first.distances)
    assert (again.key, again.ids.dtype, again.distances.dtype) == (first.key, np.int32, np.float64)


def changed(ref: ArrayRef, folder: Path) -> ArrayRef:
    array = np.array(ref.open())
    array.flat[-1] += 1
    return save(folder, array)


def changed_tags(ref: CsrRef, folder: Path) -> CsrRef:
    indices = np.array(ref.indices.open())
    indices[-1] = (indices[-1] + 1) % 5
    return dataclasses.replace(ref, indices=save(folder, indices))


def test_every_input_is_in_the_key(problem, tmp_path):
    live = problem.live
    others = [
        {"metric": "ip"},
        {"k": 6},
        {"radius": 1.0},
        {"base": changed(problem.base, tmp_path)},
        {"base": problem.base.head(59)},
        {"base": dataclasses.replace(problem.base, dtype="int8")},
        {"queries": changed(problem.queries, tmp_path)},
        {"tags": changed_tags(problem.tags, tmp_path)},
        {"query_tags": changed_tags(problem.query_tags, tmp_path)},
        {"tags": None, "query_tags": None},
        {"live": None},
        {"live": Live(live.ids[:-1], live.rows[:-1])},
        {"live": Live(live.ids + 1, live.rows)},
        {"live": Live(live.ids, live.rows[::-1])},
        {"live": Live(live.rows[::-1], live.ids)},
    ]
    keys = [key_of(problem), *(key_of(dataclasses.replace(problem, **other)) for other in others)]
    assert len(set(keys)) == len(keys)


def test_the_same_content_elsewhere_has_the_same_key(problem, tmp_path):
    moved = tmp_path / "elsewhere"
    shutil.copy(problem.base.path, moved)
    behind = tmp_path / "behind"
    behind.write_bytes(b"header.." + Path(problem.queries.path).read_bytes())
    same = dataclasses.replace(
        problem,
        base=problem.base.at(str(moved)),
        queries=dataclasses.replace(problem.queries, path=str(behind), offset=8),
    )
    assert key_of(same) == key_of(problem)


def test_tags_that_nobody_asks_for_are_not_in_the_key(problem):
    free = dataclasses.replace(problem, query_tags=None)
    assert key_of(free) == key_of(dataclasses.replace(free, tags=None))


@pytest.mark.parametrize("damage", ["flip", "short", "long", "empty", "other"])
def test_a_damaged_file_is_computed_anew(problem, cache, caplog, damage):
    good = truth_for(problem)
    right = np.array(good.ids)  # its own arrays are the file that is spoilt here
    path = cache / "truth" / f"{good.key}.truth"
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 1
    elif damage == "short":
        del content[-5:]
    elif damage == "long":
        content += b"x"
    elif damage == "empty":
        content.clear()
    else:  # whole, but the answer to another question
        other = truth_for(dataclasses.replace(problem, metric="ip"))
        content = bytearray((cache / "truth" / f"{other.key}.truth").read_bytes())
    path.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        again = truth_for(problem)
    assert "damaged" in caplog.text
    np.testing.assert_array_equal(again.ids, right)
    caplog.clear()
    truth_for(problem)
    assert not caplog.records


def test_bad_questions_leave_nothing(problem, cache):
    with pytest.raises(UsageError, match="k must be"):
        truth_for(dataclasses.replace(problem, k=0))
    assert not (cache / "truth").exists()


def test_a_failure_leaves_no_answers_under_their_name(problem, cache, monkeypatch):
    def fail(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(compute, "exact", fail)
    with pytest.raises(KeyboardInterrupt):
        truth_for(problem)
    assert not [path for path in files(cache) if path.suffix == ".truth"]
    monkeypatch.undo()
    monkeypatch.setenv("ANN_BENCH_CACHE", str(cache))
    truth = truth_for(problem)
    assert [path.name for path in files(cache)] == [f"{truth.key}.truth"]


def test_a_cache_that_cannot_be_written(problem, tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(StorageError, match="cannot be written") as caught:
        truth_for(problem, tmp_path / "file")
    assert "\n" not in str(caught.value)


def ask(problem: Problem, cache: Path, start, answers) -> None:
    start.wait(60)
    answers.put(truth_for(problem, cache).ids.tobytes())


def test_many_processes_at_once(problem, cache):
    context = multiprocessing.get_context("spawn")
    start, answers = context.Barrier(4), context.Queue()
    workers = [context.Process(target=ask, args=(problem, cache, start, answers)) for _ in range(4)]
    for worker in workers:
        worker.start()
    found = {answers.get(timeout=60) for _ in workers}
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert found == {naive(problem)[0].astype(np.int32).tobytes()}
    assert [path.suffix for path in files(cache)] == [".truth"]
