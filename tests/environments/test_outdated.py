"""`ann-bench outdated`, asking an index of this test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ann_bench.cli import main
from tests.entries.support import shipped
from tests.environments.index import Index, wheel


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ANN_BENCH_HOME", str(tmp_path))
    return tmp_path


def test_newer_versions(home: Path, index: Index, capsys: pytest.CaptureFixture[str]) -> None:
    wheel(index.folder, "new-lib", "1.0")
    wheel(index.folder, "new-lib", "2.0rc1")
    shipped(home, "old", requires=["tiny_lib<2", "new-lib"], pins=["Tiny_Lib==1.0", "new-lib==1.0"])
    shipped(home, "also", requires=["tiny-lib"], pins=["tiny-lib==1.0", "tiny-lib==9; python_version < '3'"])
    shipped(home, "new", requires=["tiny-lib"], pins=["tiny-lib==2.0"])
    shipped(home, "gone", pins=["gone-lib==1.0"])
    assert main(["outdated"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "package   pinned  newest  requires          entries",
        "tiny-lib  1.0     2.0     not filtered/old  filtered/also, filtered/old",
        "4 pinned, 1 with a newer version",
        "no version for this Python: gone-lib (filtered/gone)",
    ]
    assert main(["outdated", "--track", "filtered", "--algorithm", "new", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {
            "package": "tiny-lib",
            "pinned": "2.0",
            "newest": "2.0",
            "outdated": False,
            "entries": ["filtered/new"],
            "held_back": [],
        }
    ]


def test_nothing_is_pinned(home: Path, index: Index, capsys: pytest.CaptureFixture[str]) -> None:
    shipped(home, "plain")
    assert main(["outdated"]) == 0
    assert capsys.readouterr().out == "0 pinned, 0 with a newer version\n"
    assert not index.asked.is_set()


def test_wrong_usage(home: Path, index: Index, capsys: pytest.CaptureFixture[str]) -> None:
    shipped(home, "plain")
    assert main(["outdated", "--algorithm", "plane"]) == 2
    assert "did you mean 'plain'?" in capsys.readouterr().err


def test_an_index_that_cannot_be_reached(
    home: Path, index: Index, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    shipped(home, "old", pins=["tiny-lib==1.0"])
    assert main(["outdated"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: tiny-lib: the index of pip cannot be asked (")
    assert "Connection refused" in line
