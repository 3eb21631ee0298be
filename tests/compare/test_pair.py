"""Two entries measured in turn, by the real command."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from ann_bench.cli import main
from ann_bench.results.model import Status
from ann_bench.results.store import Store
from tests.support import Bench, bench, write_entry

#: Waits for each batch, so that one entry is slower than the other by far more than any noise.
SLOW = """
def query(self, queries, k, tags=None):
    import time
    time.sleep(0.3)
    return self.exact(queries, k, tags)
"""


@pytest.fixture
def place(tmp_path: Path) -> Bench:
    return bench(tmp_path)


def compare(place: Bench, *words: str, runs: int = 6, builds: int = 1) -> int:
    repeats = ["--runs", str(runs), "--builds", str(builds), "--memory", "1g", "--results", str(place.folder / "pair")]
    return main(["compare", *words, "--dataset", str(place.manifest), "--recall", "1", *repeats])


def test_a_slower_entry_is_found(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    quick, slow = write_entry(place.folder / "v1" / "mine"), write_entry(place.folder / "v2" / "mine", SLOW)
    assert compare(place, str(quick), str(slow), "--json") == 1
    (only,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert (only["a"]["algorithm"], only["b"]["algorithm"]) == ("mine-a", "mine")  # images go by these names
    assert only["verdict"] == "slower" and only["paired"] and only["ratio"]["high"] < 0.9
    assert compare(place, str(slow), str(quick), "--format", "markdown") == 0
    assert "**faster**" in capsys.readouterr().out


def test_the_measurements_are_kept_and_verify(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    entry = write_entry(place.folder / "mine", query={"default": [{"effort": 1}, {"effort": 2}]})
    assert compare(place, str(entry), str(entry), runs=3, builds=2) in (0, 1)
    folders = [place.folder / "pair" / side for side in ("a", "b")]
    bundles = [bundle for folder in folders for bundle in Store(folder).load()[0]]
    assert len(bundles) == 4
    assert len({bundle.provenance["pair"] for bundle in bundles}) == 1
    assert {bundle.seconds.shape for bundle in bundles} == {(2, 3, 1)}
    turns = [{(build, run): at for build, run, at in one.provenance["turns"]["began"]} for one in bundles]
    for build in range(2):  # in turn: all of one run lie between the runs before and after
        for run in range(2):
            assert max(one[build, run] for one in turns) < min(one[build, run + 1] for one in turns)
    assert main(["verify", *[word for folder in folders for word in ("--results", str(folder))]]) == 0
    capsys.readouterr()
    assert main(["compare", *map(str, folders), "--recall", "1", "--json"]) in (0, 1)
    (only,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert only["paired"] and only["verdict"] in ("cannot tell", "faster", "slower")


def test_an_entry_that_fails_is_said(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    good = write_entry(place.folder / "good")
    bad = write_entry(place.folder / "bad", "def query(self, queries, k, tags=None):\n    raise ValueError('no')")
    assert compare(place, str(good), str(bad), runs=1, builds=1) == 1
    assert "bad" in (said := capsys.readouterr().err.splitlines()[-1]) and "is crashed" in said
    (kept,), _ = Store(place.folder / "pair" / "a").load()
    assert kept.outcome.status is Status.OK
    (kept,), _ = Store(place.folder / "pair" / "b").load()
    assert kept.outcome.status is Status.CRASHED


def test_a_git_revision(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    entry = write_entry(place.folder / "repository" / "mine", SLOW)

    def git(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *who, "-C", str(entry.parent), *words], check=True, capture_output=True)

    git("init", "-b", "main")
    git("add", ".")
    git("commit", "-m", "slow")
    write_entry(entry)
    assert compare(place, f"{entry}@main", str(entry), "--json", runs=5) == 0
    (only,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert only["verdict"] == "faster" and only["a"]["label"].endswith("@main")
    assert main(["compare", f"{entry}@nothing", str(entry)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "git has no such folder there" in line
