"""`ann-bench check` as a command: exit codes, JSON, scripts that show what was found."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ann_bench.check.checks import CHECKS
from ann_bench.cli import main
from tests.check.support import entry_of
from tests.check.test_faults import FAULTS, STARTS, TWO

DOCS = Path(__file__).resolve().parents[2] / "docs" / "check.md"
SHOWN = {
    "few-rows": r"0 +0 +0",
    "twins": r"\[ *(\d+) +\1\b",
    "tags": r"\[",
    "replace": r"\[",
    "delete-all": "IndexError",
    "range": r"\(array",
    "repeats": r"\[",
    "save-load": "True",
    "dtypes": "",
}


@pytest.fixture
def run(tmp_path, capsys):
    def call(entry: Path, *words: str) -> tuple[int, list]:
        code = main(["check", str(entry), "--json", "--no-recall", "--examples", "5", *words])
        return code, json.loads(capsys.readouterr().out)

    return call


def test_an_entry_that_passes(tmp_path, run) -> None:
    code, (report,) = run(entry_of(tmp_path, "filtered"), "--only", "tags", "--only", "few-rows")
    assert code == 0
    assert report["passed"]
    assert [(one["check"], one["outcome"]) for one in report["checks"]] == [
        ("ordinary", "passed"),
        ("few-rows", "passed"),
        ("tags", "passed"),
    ]
    assert report["recall"]["note"] == "not estimated"


@pytest.mark.parametrize("name", SHOWN)
def test_a_finding_is_a_script_that_shows_it(tmp_path, run, name: str) -> None:
    track, body, _ = FAULTS[name]
    query = TWO if name == "arguments" else "[{queries: 9}]"
    entry = entry_of(tmp_path, track, body, start=STARTS.get(name, ""), query=query)
    code, (report,) = run(entry, "--only", name, "--snippets", str(tmp_path / "scripts"))
    assert code == 1
    (path,) = (tmp_path / "scripts").iterdir()
    assert path.read_text(encoding="utf-8") == next(one["snippet"] for one in report["checks"] if one["snippet"])
    ended = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert re.search(SHOWN[name], ended.stdout + ended.stderr)
    if name == "dtypes":
        assert ended.returncode < 0, "the entry aborts"
    elif name != "delete-all":
        assert ended.returncode == 0, ended.stderr


def test_the_case_is_small(tmp_path, run) -> None:
    track, body, _ = FAULTS["few-rows"]
    _, (report,) = run(entry_of(tmp_path, track, body), "--only", "few-rows")
    (script,) = (one["snippet"] for one in report["checks"] if one["snippet"])
    base = re.search(r"base = np\.array\(\[(.*?)\n\]", script, re.DOTALL)
    assert base is not None
    assert base[1].strip().count("\n") == 0, "one row is enough"


def test_a_table_for_people(tmp_path, capsys) -> None:
    track, body, _ = FAULTS["twins"]
    assert main(["check", str(entry_of(tmp_path, track, body)), "--only", "twins", "--examples", "5"]) == 1
    shown = capsys.readouterr().out
    assert re.search(r"twins +failed +search 1: query \d was answered", shown)
    assert "from bad import Bad" in shown
    assert "1 passed, 1 failed" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--only", "twin"], "did you mean 'twins'?"),
        (["--track", "dens"], "did you mean 'dense'?"),
        (["--track", "sparse"], "not for the track 'sparse'"),
        (["--sandbox", "prozess"], "unknown sandbox 'prozess'"),
    ],
)
def test_wrong_usage(tmp_path, capsys, words: list[str], said: str) -> None:
    assert main(["check", str(entry_of(tmp_path, "dense")), *words]) == 2
    assert said in capsys.readouterr().err


def test_no_entry(tmp_path, capsys) -> None:
    assert main(["check", str(tmp_path / "nothing")]) == 2
    assert "no entry" in capsys.readouterr().err


def test_requirements_that_are_not_there(tmp_path, run) -> None:
    entry = entry_of(tmp_path, "dense")
    config = entry / "config.yaml"
    config.write_text(config.read_text().replace("requires: []", "requires: [no-such-package-9]"), encoding="utf-8")
    code, (report,) = run(entry)
    assert code == 1
    assert [one["check"] for one in report["checks"]] == ["installed"]
    assert "no-such-package-9 is not installed" in report["checks"][0]["detail"]


def test_too_many_query_configs(tmp_path, run) -> None:
    many = "[" + ", ".join(f"{{queries: {n}}}" for n in range(1, 12)) + "]"
    code, (report,) = run(entry_of(tmp_path, "dense", query=many), "--only", "config")
    assert code == 1
    assert "11 query configs" in report["checks"][0]["detail"]


def test_every_rule_is_documented() -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE) == [check.name for check in CHECKS]
    assert all(check.rule.endswith(".") for check in CHECKS)
