"""What an audit in containers says of the entries that end a run by themselves: the table in README.md, row by row."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ann_bench.cli import main
from tests.hostile.test_hostile import ATTACKS, HERE, NAMED, hostile, nothing_left
from tests.support import json_of, tiny_dataset

#: The probe `runs` names them, by their query config (counted from 1) and the first word of what it says.
RUNS = {
    "allocates": (2, "out-of-memory"),
    "fills-disk": (2, "out-of-memory"),
    "forks": (2, "out-of-memory"),
    "ignores-signals": (1, "timeout"),
    "sends-2gb": (1, "rule-broken"),
    "sends-broken-json": (1, "rule-broken"),
    "speaks-out-of-turn": (1, "rule-broken"),
    "speaks-in-constructor": (1, "rule-broken"),
    "forges-its-end": (1, "crashed"),
    "answers-late": (2, "rule-broken"),
}

#: Others that an audit catches; tests/audit tries them without containers, since they harm nobody.
PROBED = ("caches-answers", "knows-the-data", "works-in-background")


@pytest.mark.docker
@pytest.mark.parametrize("name", RUNS)
@pytest.mark.usefixtures("own_cache")
def test_an_audit_names_what_ends_a_run(
    tmp_path: Path, engine: Any, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config, word = RUNS[name]
    manifest = tiny_dataset(tmp_path / "data")
    monkeypatch.chdir(tmp_path)  # logs of images go to a results folder there
    words = ["audit", str(hostile(name, tmp_path)), "--dataset", str(manifest), "--only", "runs", "--json"]
    limits = ["--sandbox", "docker", "--cpus", "1", "--memory", "256m", "--timeout", "4s", "--config", str(config)]
    assert main([*words, *limits]) == 1
    (report,) = json_of(capsys.readouterr().out)
    (probe,) = report["probes"]
    assert (probe["probe"], probe["verdict"]) == ("runs", "fail")
    assert probe["text"].startswith(word), probe
    nothing_left(engine)


def test_every_row_of_the_table_is_tried() -> None:
    """Each hostile entry stands in one row of "What an audit says": named and tried here, probed, or walled off."""
    text = (HERE / "README.md").read_text("utf-8").partition("## What an audit says")[2].partition("| cheat in")[0]
    found: dict[str, Any] = {}
    for line in text.splitlines():
        if line.startswith("| `"):
            names, wall, verdict = line.strip("| ").split(" | ")
            for name in re.findall(r"`([a-z0-9-]+)`", re.sub(r"\(.*?\)", "", names)):
                found[name] = wall, verdict
    assert sorted(found) == ATTACKS
    for name, (wall, verdict) in found.items():
        if name in RUNS:
            assert "`runs`" in wall + verdict
            assert RUNS[name][1] in verdict
        elif name in PROBED:
            assert "fail" in verdict
        else:
            assert name not in NAMED
            assert "blocked" in verdict or "recall 0" in verdict
