"""`ann-bench truth`: the answers of a stream, file by file, and a memory that is kept."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import random as random_csr

from ann_bench.cli import main
from ann_bench.datasets.formats import read_truth, write_spmat, write_xbin
from tests.support import QUERIES, tiny_dataset

RUNBOOK = """
tiny:
  max_pts: 200
  1: {operation: insert, start: 0, end: 120}
  2: {operation: search}
  3: {operation: delete, start: 0, end: 118}
  4: {operation: search}
  5: {operation: replace, tags_start: 118, tags_end: 119, ids_start: 250, ids_end: 251}
  6: {operation: search}
"""
#: The rows under each id that is live in each search.
LIVE = {2: {id_: id_ for id_ in range(120)}, 4: {118: 118, 119: 119}, 6: {118: 250, 119: 119}}


@pytest.fixture
def stream(tmp_path: Path) -> list[str]:
    """The words that ask for the truth of a tiny stream."""
    folder = tmp_path / "data"
    changes: dict[str, Any] = {
        "tracks": ["streaming"],
        "base": {"vectors": {"file": "base.u8bin"}},
        "queries": {"public": {"vectors": {"file": "queries.u8bin"}}},
        "runbook": {"file": "book.yaml"},
    }
    manifest = tiny_dataset(folder, **changes)
    (folder / "book.yaml").write_text(RUNBOOK, encoding="utf-8")
    return ["truth", "--track", "streaming", "--dataset", str(manifest), "--k", "3"]


def test_a_stream_writes_a_file_for_each_search(stream: list[str], tmp_path: Path) -> None:
    output = tmp_path / "answers"
    assert main([*stream, "--output", str(output)]) == 0
    assert sorted(path.name for path in output.iterdir()) == [f"step{step}.gt" for step in LIVE]
    base, queries = (
        np.fromfile(tmp_path / "data" / f"{name}.u8bin", np.uint8)[8:].reshape(-1, 8).astype(np.int64)
        for name in ("base", "queries")
    )
    for step, live in LIVE.items():
        ids, distances = read_truth(output / f"step{step}.gt")
        assert ids.shape == (QUERIES, 3)
        names = np.array(sorted(live))
        away = ((queries[:, None] - base[[live[name] for name in names]]) ** 2).sum(axis=2)
        best = np.argsort(away, axis=1, kind="stable")[:, :3]
        count = best.shape[1]
        np.testing.assert_array_equal(ids[:, :count], names[best])
        np.testing.assert_array_equal(distances[:, :count], np.take_along_axis(away, best, axis=1))
        assert (ids[:, count:] == -1).all()


def test_the_summary_of_a_stream(stream: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(stream) == 0
    lacking = 2 * QUERIES  # two live points are fewer than three
    expected = (
        f"tiny, public: 3 searches of {QUERIES} queries, exact top 3; {lacking} have fewer than 3 answers, 0 none"
    )
    assert capsys.readouterr().out.strip() == expected
    assert main([*stream, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["search"], row["step"], row["fewer_than_k"]) for row in rows] == [(0, 2, 0), (1, 4, 40), (2, 6, 40)]


def test_the_answers_of_a_stream_do_not_go_into_a_file(
    stream: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("mine")
    assert main([*stream, "--output", str(tmp_path / "taken")]) == 2
    assert "3 searches go into a folder" in capsys.readouterr().err
    assert (tmp_path / "taken").read_text() == "mine"


#: Runs the command, and prints the most anonymous memory that it had above what it began with, in MiB.
WATCHED = """
import sys, threading, time
import faiss, numba, numkong, scipy.sparse
from ann_bench.cli import main

def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) >> 10 for line in status if line.startswith("RssAnon"))

def watch():
    while True:
        seen.append(anonymous())
        time.sleep(0.002)

before, seen = anonymous(), []
threading.Thread(target=watch, daemon=True).start()
code = main(sys.argv[1:])
print(max(seen) - before)
sys.exit(code)
"""
ROWS, MANY, LONG = 2_000, 3_000, 300


def heavy(folder: Path, kind: str) -> Path:
    """Many queries with long lists of answers: the lists are what memory has to hold."""
    rng = np.random.default_rng(3)
    folder.mkdir()
    if kind == "sparse":
        for name, rows in (("base", ROWS), ("queries", MANY)):
            write_spmat(folder / f"{name}.spmat", random_csr(rows, 50, 0.2, "csr", np.float32, rng))
    else:
        for name, rows in (("base", ROWS), ("queries", MANY)):
            write_xbin(folder / f"{name}.fbin", rng.standard_normal((rows, 8), dtype=np.float32))
    suffix, track = ("spmat", "sparse") if kind == "sparse" else ("fbin", kind)
    changes: dict[str, Any] = {
        "tracks": [track],
        "metric": "ip" if kind == "sparse" else "euclidean",
        "base": {"vectors": {"file": f"base.{suffix}"}},
        "queries": {"public": {"vectors": {"file": f"queries.{suffix}"}}},
    }
    if kind == "streaming":
        changes["runbook"] = {"file": "book.yaml"}
        steps = ["1: {operation: insert, start: 0, end: 1000}", "2: {operation: search}"]
        steps += ["3: {operation: insert, start: 1000, end: 2000}", "4: {operation: delete, start: 0, end: 500}"]
        steps += ["5: {operation: search}"]
        body = "\n  ".join([f"max_pts: {ROWS}", *steps])
        (folder / "book.yaml").write_text(f"tiny:\n  {body}\n", encoding="utf-8")
    return tiny_dataset(folder, **changes)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "sparse", "streaming"])
def test_memory_is_kept(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest, peaks = heavy(tmp_path / "data", kind), {}
    for limit in (200, 800):
        monkeypatch.setenv("ANN_BENCH_CACHE", str(tmp_path / f"cache-{limit}"))
        words = ["truth", "--track", kind, "--dataset", str(manifest), "--k", str(LONG), "--memory", f"{limit}m"]
        ended = subprocess.run(
            [sys.executable, "-c", WATCHED, *words], capture_output=True, text=True, check=False, timeout=300
        )
        assert ended.returncode == 0, ended.stderr
        peaks[limit] = int(ended.stdout.splitlines()[-1])
    assert peaks[200] <= 200
    assert peaks[800] <= 800
    assert peaks[200] < peaks[800]  # so it was the limit that kept it
