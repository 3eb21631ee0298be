"""The commands as they are typed: help with examples, JSON for machines, one line for what is wrong."""

from __future__ import annotations

import errno
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ann_bench.cli import commands, main
from ann_bench.datasets.formats import read_truth
from ann_bench.tracks import list_tracks
from tests.support import Bench, bench, tiny_dataset, write_entry

ROOT = Path(__file__).resolve().parents[2]
COMMANDS: list[str] = commands.list_commands(None)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def calm_logging():
    """The commands set the log up for their own terminal; the next test starts from scratch."""
    yield
    logger = logging.getLogger("ann_bench")
    logger.handlers = []
    logger.propagate = True


def test_there_are_these_commands() -> None:
    promised = ["run", "data", "truth", "new", "check", "install", "doctor", "plot", "export", "leaderboard", "verify"]
    assert set(promised) <= set(COMMANDS)


@pytest.mark.parametrize("words", [[], *([name] for name in COMMANDS), ["data", "list"], ["data", "prepare"]])
def test_every_help_has_an_example(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"ann-bench {' '.join(words)}".rstrip() in text.partition("Example")[2]


def test_run_py_is_run() -> None:
    script = [sys.executable, str(ROOT / "run.py"), "--help"]
    ended = subprocess.run(script, capture_output=True, text=True, check=False, cwd="/")
    assert ended.returncode == 0
    assert "--track" in ended.stdout


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_an_environment_without_the_requirements_is_one_line(missing: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules[{missing!r}] = None\n")
    script = [sys.executable, str(ROOT / "run.py"), "--list"]
    places = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = subprocess.run(script, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": places}, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert missing in done.stderr and "pip install" in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("words", [["rnu"], ["run", "--trakc", "x"], ["run"], ["data", "lst"], ["verify", "extra"]])
def test_wrong_words_are_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert "--help" in shown.err


def test_data_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "list", "--json"]) == 0
    known = {(row["name"], track) for row in json.loads(capsys.readouterr().out) for track in row["tracks"]}
    assert {("yfcc-10M", "filtered")} | {("debian-20k", track.name) for track in list_tracks()} <= known
    assert main(["data", "list"]) == 0
    assert "debian-20k" in capsys.readouterr().out


def test_data_prepare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = tiny_dataset(tmp_path)
    assert main(["data", "prepare", str(manifest)]) == 0
    assert "300 x 8 uint8, euclidean, 6 tags; 40 queries: ready" in capsys.readouterr().out
    assert main(["data", "prepare", str(manifest), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["hashes"]["base"]) == 64


def test_truth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest, output = tiny_dataset(tmp_path), tmp_path / "tiny.gt"
    words = ["truth", "--track", "filtered", "--dataset", str(manifest), "--k", "3", "--output", str(output), "--json"]
    assert main(words) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["queries"], row["k"], row["without_answer"]) == (40, 3, 0)
    ids, distances = read_truth(output)
    assert ids.shape == (40, 3)
    assert (np.diff(distances, axis=1) >= 0).all()


def test_a_truth_file_that_is_wrong_stops_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from ann_bench.datasets.formats import write_truth

    write_truth(tmp_path / "wrong.gt", np.zeros((40, 10), np.int32), np.zeros((40, 10), np.float32))
    queries = {"vectors": {"file": "queries.u8bin"}, "tags": {"file": "queries.tags.spmat"}}
    manifest = tiny_dataset(tmp_path, queries={"public": {**queries, "truth": {"file": "wrong.gt"}}})
    assert main(["truth", "--track", "filtered", "--dataset", str(manifest)]) == 1
    shown = capsys.readouterr().err
    assert "wrong.gt" in shown
    assert len(shown.splitlines()) == 1


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = f"{sys.executable} -m ann_bench data list | head -c 1"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, cwd=ROOT)
    assert ended.stderr == ""


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_full_disk_anywhere_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    def full(*arguments, **options):
        raise OSError(number, "No room", str(tmp_path))

    monkeypatch.setattr("ann_bench.datasets.registry.list_manifests", full)
    assert main(["data", "list"]) == 1
    assert capsys.readouterr().err.splitlines() == [f"error: {tmp_path}: No room; make room and run it again"]


def test_an_error_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug must be seen with its traceback."""

    def bug(*arguments, **options):
        raise ZeroDivisionError

    monkeypatch.setattr("ann_bench.datasets.registry.list_manifests", bug)
    with pytest.raises(ZeroDivisionError):
        main(["data", "list"])


def test_ctrl_c_is_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("ann_bench.datasets.registry.list_manifests", interrupted)
    assert main(["data", "list"]) == 130
    assert capsys.readouterr().err.strip().startswith("interrupted; results that were finished are kept")


@pytest.fixture
def place(tmp_path: Path) -> Bench:
    made = bench(tmp_path)
    made.run(write_entry(tmp_path / "good"))
    made.run(write_entry(tmp_path / "bad", "def query(self, queries, k, tags=None):\n    raise ValueError('no')"))
    return made


def test_json_of_a_failed_run_is_json(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert place.run(place.folder / "bad", "--json") == 1

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    summary = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert summary["ok"] is False
    assert summary["results"][0]["status"] == "crashed"
    assert "ValueError: no" in summary["results"][0]["detail"]


def test_what_was_run_is_exported(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["export", "--results", str(place.results), "--format", "json"]) == 0
    rows = {row["algorithm"]: row for row in json.loads(capsys.readouterr().out)}
    assert (rows["good"]["status"], rows["good"]["recall"]) == ("ok", 1.0)
    assert (rows["bad"]["status"], rows["bad"]["qps"]) == ("crashed", None)
