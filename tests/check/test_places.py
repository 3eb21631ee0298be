"""The kit where entries run: in a container, and with entries that are programs."""

from __future__ import annotations

import pytest

from ann_bench.check.kit import Options, examine
from ann_bench.entries.discovery import entry_at
from ann_bench.progress import silent
from ann_bench.sandbox import find_sandbox
from ann_bench.tracks import find_track
from tests.check.support import checked, entry_of, failed

pytestmark = pytest.mark.usefixtures("nothing_left")

SAVES = """
def save(self, folder):
    (folder / "deeper").mkdir()
    np.save(folder / "deeper" / "base.npy", np.vstack([block[0] for block in self.blocks]))

def load(self, folder):
    self.fit(np.load(folder / "deeper" / "base.npy"))
    return True
"""


def test_an_index_that_is_saved_and_loaded(tmp_path) -> None:
    report = checked(entry_of(tmp_path, "dense", SAVES), "dense", "save-load")
    assert [(result.check, result.outcome) for result in report.results] == [
        ("ordinary", "passed"),
        ("save-load", "passed"),
    ]


@pytest.mark.docker
def test_in_containers(tmp_path, engine) -> None:
    entry = entry_at(entry_of(tmp_path, "dense", SAVES), "dense")
    sandbox = find_sandbox("docker")
    sandbox.prepare([entry], tmp_path / "logs", silent)
    only = ("few-rows", "repeats", "save-load")
    report = examine(entry, find_track("dense"), sandbox, Options(3, only, recall=False))
    assert failed(report) == {}
    assert [result.outcome for result in report.results] == ["passed"] * 4


def test_a_program_that_ends_at_once(tmp_path) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "config.yaml").write_text(
        'command: [sh, -c, "exit 3"]\ntracks: [dense]\nopen_source: true\n'
        "description: ends at once\nquery:\n  default: [{}]\n",
        encoding="utf-8",
    )
    report = checked(folder, "dense")
    assert "exit code 3 during its start" in failed(report)["ordinary"]
    shown = next(result.snippet for result in report.results if result.check == "ordinary")
    assert f"ann-bench check {folder} --track dense --only ordinary" in shown
