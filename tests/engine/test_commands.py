"""`install` and `clean` where there is no engine, and with names that are not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ann_bench.cli import main
from tests.entries.support import shipped


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    monkeypatch.setenv("ANN_BENCH_HOME", str(tmp_path / "home"))


def test_clean_without_an_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The folders of runs that have ended are removed all the same."""
    folder = tmp_path / "ann-bench-1-x"
    (folder / "scratch").mkdir(parents=True)
    monkeypatch.setattr("ann_bench.sandbox.folders.abandoned", lambda: [folder])
    assert main(["clean", "--dry-run"]) == 0
    assert f"would remove folder {folder}" in capsys.readouterr().out
    assert folder.is_dir()
    assert main(["clean"]) == 0
    shown = capsys.readouterr()
    assert f"removed folder {folder}" in shown.out
    assert "only folders were looked at: no container engine" in shown.err
    assert not folder.exists()
    assert main(["clean", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["engine"], said["images"], said["containers"]) == (False, [], [])


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_install_without_an_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shipped(tmp_path / "home", "one")
    assert main(["install"]) == 1
    assert "no container engine" in one_line(capsys)


def test_install_of_what_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install"]) == 2
    assert "there is no entry" in one_line(capsys)
    shipped(tmp_path / "home", "some-index")
    for words, says in (
        (["--algorithm", "some-inde"], "did you mean 'some-index'?"),
        (["--track", "filterd"], "did you mean 'filtered'?"),
        (["--entry", str(tmp_path)], "no entry"),
        (["--track", "filtered", "--algorithm", "nobody"], "unknown algorithm"),
    ):
        assert main(["install", *words]) == 2
        assert says in one_line(capsys)


def test_a_broken_config_hinders_nobody_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shipped(tmp_path / "home", "good")
    shipped(tmp_path / "home", "broken", "class: [")
    assert main(["install", "--algorithm", "good"]) == 1
    assert "no container engine" in one_line(capsys)
    assert main(["install"]) == 2
