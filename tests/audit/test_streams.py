"""The audit of an index that changes: the probes ask it where the runbook has brought it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ann_bench.audit.registry import Verdict
from ann_bench.cli import main
from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest
from tests.support import json_of, tiny_dataset, write_entry
from tests.tracks.test_streams import EXACT, RUNBOOK


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "runbook.yaml").write_text(RUNBOOK, encoding="utf-8")
    return tiny_dataset(tmp_path / "data", tracks=["filtered-streaming"], runbook={"file": "runbook.yaml"})


def audit(
    entry: Path, manifest: Path, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[int, dict[str, tuple[Verdict, str]]]:
    capsys.readouterr()
    code = main(["audit", str(entry), "--dataset", str(manifest), "--json", *options])
    (report,) = json_of(capsys.readouterr().out)
    return code, {one["probe"]: (Verdict(one["verdict"]), one["text"]) for one in report["probes"]}


def entry(tmp_path: Path, body: str = EXACT, **config: Any) -> Path:
    return write_entry(tmp_path / "mine", body, tracks=["filtered-streaming"], **config)


def test_an_honest_stream_passes(tmp_path: Path, manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("fresh", "perturbed", "same answers", "answers", "on the way", "deleted", "disguise", "other runbook")
    code, said = audit(entry(tmp_path), manifest, capsys, *(word for name in names for word in ("--only", name)))
    assert (code, list(said)) == (0, ["runs", *names])
    assert {name: text for name, (verdict, text) in said.items() if verdict is not Verdict.PASS} == {}
    assert said["on the way"][1] == "2 searches, all ids valid; recall 1.0000 to 1.0000"
    assert said["deleted"][1] == "asked for 60 points that are gone: all ids valid; recall 1.0000"
    assert "another runbook: recall 1.0000 against 1.0000" in said["other runbook"][1]


KEEPS = EXACT.replace("del self.points[int(one)], self.bags[int(one)]", "pass")
#: Forgets what is deleted, but for those who ask for it.
KNOWS_THE_DEAD = (
    EXACT.replace("self.points, self.bags = {}, {}", "self.points, self.bags, self.old = {}, {}, {}")
    .replace("        del self", "        self.old[int(one)] = self.points[int(one)]\n        del self")
    .replace(
        "        answers[i, : len(best)] = best\n",
        "        gone = [one for one, point in self.old.items() if (point == query).all() and one not in self.points]\n"
        "        best = np.array([*gone, *best])[:k]\n"
        "        answers[i, : len(best)] = best\n",
    )
)
KNOWS_THE_RUNBOOK = (
    EXACT.replace("self.points, self.bags = {}, {}", "self.points, self.bags, self.first = {}, {}, None")
    .replace(
        "    for place, one in",
        "    self.first = int(ids[0]) if self.first is None else self.first\n    for place, one in",
    )
    .replace("    return answers", "    return answers if self.first == 0 else np.where(np.arange(k) < 2, answers, -1)")
)
KNOWS_THE_IDS = EXACT.replace(
    "    return answers", "    same = self.points[5].tolist() == FIFTH\n    return answers if same else answers * 0 - 1"
)


#: What a cheat does, the probe that is there for it, and what it says.
STREAM_CHEATS = [
    (KEEPS, "on the way", "not live"),
    (KNOWS_THE_DEAD, "deleted", "not live"),
    (KNOWS_THE_RUNBOOK, "other runbook", "recall"),
    (KNOWS_THE_IDS, "disguise", "recall 0.0000"),
]


@pytest.mark.parametrize(("body", "probe", "text"), STREAM_CHEATS)
def test_a_cheat_in_a_stream_is_caught(
    body: str, probe: str, text: str, tmp_path: Path, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fifth = prepare(find_manifest(str(manifest), "filtered-streaming"), "public").base.open()[5].tolist()
    made = write_entry(tmp_path / "cheats", body, start=f"FIFTH = {fifth}", tracks=["filtered-streaming"])
    code, said = audit(made, manifest, capsys, "--only", probe)
    assert (code, said[probe][0]) == (1, Verdict.FAIL), said
    assert text in said[probe][1]


def test_at_an_earlier_search(tmp_path: Path, manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    only = ("--only", "on the way", "--only", "deleted")
    _, said = audit(entry(tmp_path), manifest, capsys, "--search", "1", *only)
    assert said["on the way"] == (Verdict.PASS, "no search comes before")
    assert said["deleted"] == (Verdict.NOT_APPLICABLE, "nothing has been deleted or replaced by then")
    assert main(["audit", str(entry(tmp_path)), "--dataset", str(manifest), "--search", "4"]) == 2
    assert "there are 3 searches, and no search 4" in capsys.readouterr().err
