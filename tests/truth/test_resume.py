"""What an interrupted run has finished is not computed again, and only what is sound is believed."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ann_bench.errors import StorageError, UsageError
from ann_bench.truth import compute, store
from ann_bench.truth.kept import Part
from ann_bench.truth.lives import whole
from ann_bench.truth.model import Problem
from ann_bench.truth.problems import Searches
from ann_bench.truth.store import truths_for
from tests.truth.helpers import naive, save

QUERIES, BLOCK = 13, 3


@pytest.fixture(autouse=True)
def small_blocks(tmp_path, monkeypatch):
    monkeypatch.setenv("ANN_BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(compute, "_QUERIES", (BLOCK, BLOCK))


@pytest.fixture
def searches(tmp_path):
    return made(tmp_path)


def made(folder: Path, seed: int = 1) -> Searches:
    """Three searches over a growing set, by two ways of asking."""
    rng = np.random.default_rng(seed)
    base, queries = (save(folder, rng.integers(0, 9, (n, 4)).astype(np.uint8)) for n in (40, QUERIES))
    kinds = [Problem("euclidean", k, base, queries) for k in (3, 5)]
    return Searches(kinds, (0, 1, 0), (whole(20), whole(30), whole(40)))


def right(searches: Searches) -> list[tuple[np.ndarray, np.ndarray]]:
    return [naive(problem) for problem in searches]


def same(truths, wanted) -> None:
    for truth, (ids, distances) in zip(truths, wanted, strict=True):
        np.testing.assert_array_equal(truth.ids, ids)
        np.testing.assert_array_equal(truth.distances, distances)


def parts(tmp_path: Path) -> list[Path]:
    return sorted(path for path in (tmp_path / "cache" / "truth").iterdir() if ".part" in path.name)


def counting(monkeypatch) -> list[int]:
    """The numbers of queries of each scan from now on."""
    found: list[int] = []
    real = compute.exact

    def counted(problem, *args):
        found.append(problem.queries.shape[0])
        return real(problem, *args)

    monkeypatch.setattr(compute, "exact", counted)
    return found


def stop_after(monkeypatch, blocks: int, error: type[BaseException] = KeyboardInterrupt) -> None:
    real = Part.write
    done = 0

    def write(self, *args):
        nonlocal done
        if done == blocks:
            raise error
        done += 1
        real(self, *args)

    monkeypatch.setattr(Part, "write", write)


def interrupted(self) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("blocks", range(11))
def test_interrupted_at_any_block(searches, tmp_path, monkeypatch, blocks):
    wanted = right(searches)
    with monkeypatch.context() as patch:
        stop_after(patch, blocks)
        if blocks == 10:  # all are done; only the end of the file is not
            patch.setattr(Part, "finish", interrupted)
        with pytest.raises(KeyboardInterrupt):
            truths_for(searches)
        assert len(parts(tmp_path)) == (2 if blocks else 1)
    told: list[tuple[str, int]] = []
    scans = counting(monkeypatch)
    truths = truths_for(searches, progress=lambda task, done, total: told.append((task, done)))
    same(truths, wanted)
    lengths = [2, 3, 2, 3, 3]
    lives = [2, 2, 2, 2, 2, 1, 1, 1, 1, 1]  # lifetimes of each block's searches
    assert sum(scans) == sum(n * lives[i] for i, n in enumerate([*lengths, *lengths]) if i >= blocks)
    progress = [done for task, done in told if task == "exact answers"]
    assert progress == sorted(progress)
    assert progress[-1] == 2 * QUERIES
    assert parts(tmp_path) == []


@pytest.mark.parametrize("damage", ["data", "note", "cut note", "header", "length", "no notes"])
def test_a_damaged_part(searches, tmp_path, monkeypatch, damage):
    wanted = right(searches)
    with monkeypatch.context() as patch:
        stop_after(patch, 7)
        with pytest.raises(KeyboardInterrupt):
            truths_for(searches)
    part, notes = parts(tmp_path)
    content = bytearray(part.read_bytes())
    if damage == "data":
        for place in range(250, len(content), 40):
            content[place] ^= 1
        part.write_bytes(content)
    elif damage == "note":
        notes.write_text(notes.read_text().replace('"sha256": "', '"sha256": "0'))
    elif damage == "cut note":
        notes.write_bytes(notes.read_bytes()[:-20])
    elif damage == "header":
        content[10] ^= 1
        part.write_bytes(content)
    elif damage == "length":
        part.write_bytes(content[:-1])
    else:
        notes.unlink()
    scans = counting(monkeypatch)
    same(truths_for(searches), wanted)
    assert len(scans) == (4 if damage == "cut note" else 15)  # 5 blocks of two lifetimes, 5 of one


def test_blocks_of_another_size_are_taken_up(searches, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stop_after(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            truths_for(searches)
    monkeypatch.setattr(compute, "_QUERIES", (100, 100))
    scans = counting(monkeypatch)
    same(truths_for(searches), right(searches))
    assert scans == [6, 6, QUERIES]


def test_the_part_of_other_data_is_not_used(searches, tmp_path, monkeypatch):
    other = made(tmp_path, seed=2)
    with monkeypatch.context() as patch:
        stop_after(patch, 9)
        with pytest.raises(KeyboardInterrupt):
            truths_for(other)
    for path in parts(tmp_path):  # even under the very name of these
        key = store._outline(searches, store.silent).key
        path.rename(path.with_name(key + "".join(path.suffixes)))
    same(truths_for(searches), right(searches))


def test_a_disk_that_is_full(searches, tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    wanted = right(searches)
    truths_for(made(tmp_path, seed=3))  # fingerprints are kept already
    store._outline(searches, store.silent)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (700, before[1]))
        with pytest.raises(StorageError, match="cannot be written") as caught:
            truths_for(searches)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert "\n" not in str(caught.value)
    same(truths_for(searches), wanted)


def test_too_little_memory_says_the_least(searches, tmp_path):
    with pytest.raises(UsageError, match=r"give at least \d+m") as caught:
        truths_for(searches, memory_bytes=1 << 20)
    assert "\n" not in str(caught.value)
    least = int(str(caught.value).split("at least ")[1].split("m")[0])
    same(truths_for(searches, memory_bytes=least << 20), right(searches))


KILLED = """
import sys, time
from pathlib import Path
from ann_bench.truth import compute, kept
from tests.truth.test_resume import made
from ann_bench.truth.store import truths_for
compute._QUERIES = (1, 1)
real = kept.Part.write
def slow(self, *args):
    real(self, *args)
    time.sleep(0.05)
kept.Part.write = slow
truths_for(made(Path(sys.argv[1])))
"""


def test_killed(searches, tmp_path, monkeypatch):
    root = Path(__file__).resolve().parents[2]
    place = tmp_path / "again"
    place.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(root)}
    worker = subprocess.Popen([sys.executable, "-c", KILLED, str(place)], cwd=root, env=environment)
    folder = tmp_path / "cache" / "truth"
    deadline = time.monotonic() + 60
    while not any(len(notes.read_bytes().splitlines()) > 3 for notes in folder.glob("*.done")):
        assert time.monotonic() < deadline
        assert worker.poll() is None
        time.sleep(0.005)
    worker.kill()
    worker.wait()
    done = [json.loads(line)["block"] for line in parts(tmp_path)[1].read_text().splitlines()]
    scans = counting(monkeypatch)
    same(truths_for(searches), right(searches))
    finished = sum((last - first) * (2 if kind == 0 else 1) for kind, first, last in done)
    assert sum(scans) == 3 * QUERIES - finished
    assert parts(tmp_path) == []


def test_read_only(searches):
    (first, *_) = truths_for(searches)
    with pytest.raises(ValueError, match="read-only"):
        first.ids[0, 0] = 1
