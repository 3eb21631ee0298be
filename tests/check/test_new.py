"""`ann-bench new`: for every track an entry that works as it stands."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from ann_bench.check.kit import Options, examine
from ann_bench.cli import main
from ann_bench.entries.discovery import entry_at
from ann_bench.entries.scaffold import Wanted
from ann_bench.sandbox import find_sandbox
from ann_bench.tracks import find_track, list_tracks
from tests.check.support import failed

TRACKS = [track.name for track in list_tracks()]


@pytest.mark.slow
@pytest.mark.parametrize("track", TRACKS)
def test_what_it_writes_passes(tmp_path, track: str) -> None:
    assert main(["new", track, "my-index.2", "--out", str(tmp_path)]) == 0
    entry = entry_at(tmp_path / "my-index.2", track)
    report = examine(entry, find_track(track), find_sandbox("process"), Options(examples=3, recall=False))
    assert failed(report) == {}
    assert report.passed


@pytest.mark.slow
def test_it_runs_as_it_stands(tmp_path) -> None:
    assert main(["new", "filtered-streaming", "mine", "--out", str(tmp_path)]) == 0
    entry = entry_at(tmp_path / "mine", "filtered-streaming")
    report = examine(entry, find_track("filtered-streaming"), find_sandbox("process"), Options(1, only=["config"]))
    assert [result.check for result in report.results] == ["config", "ordinary"]
    report = examine(entry, find_track("filtered-streaming"), find_sandbox("process"), Options(1))
    assert [recall for _, recall, _ in report.recall.rows] == [1.0]


@pytest.mark.parametrize("track", TRACKS)
def test_it_is_well_written(tmp_path, track: str) -> None:
    assert main(["new", track, "my-index", "--out", str(tmp_path)]) == 0
    if importlib.util.find_spec("ruff") is None:
        pytest.skip("ruff is not installed")
    for words in (["check", "--select", "E,F,W,UP,B,A,SIM"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *words, "--isolated", "--line-length", "120", str(tmp_path)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout


def test_nothing_is_written_over(tmp_path, capsys) -> None:
    folder = tmp_path / "my-index"
    folder.mkdir()
    assert main(["new", "dense", "my-index", "--out", str(tmp_path)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dense", "../mine"], "an entry's name is letters"),
        (["dense", ".hidden"], "an entry's name is letters"),
        (["filterd", "mine"], "did you mean 'filtered'?"),
        (["dense"], "Missing argument"),
    ],
)
def test_wrong_usage(tmp_path, capsys, arguments: list[str], said: str) -> None:
    assert main(["new", *arguments, "--out", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written(tmp_path, capsys) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert main(["new", "dense", "mine", "--out", str(tmp_path / "file")]) == 1
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "made"), [("my-index", "MyIndex"), ("a.b_c", "ABC"), ("2nd", "Index2nd"), ("faiss-IVF", "FaissIVF")]
)
def test_the_name_of_the_class(name: str, made: str) -> None:
    assert Wanted(name, "dense").class_name == made
