"""Results of many days: steps are found, dated, and what changed is named."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import numpy as np
import pytest

from ann_bench.cli import main
from ann_bench.results.store import Store
from tests.results import made

START = datetime.datetime(2026, 9, 1, 3, tzinfo=datetime.timezone.utc)


def nights(folder: Path, speeds: list[float], **fields) -> None:
    """One folder for each night."""
    for day, qps in enumerate(speeds):
        date = START + datetime.timedelta(days=day)
        version = "1.9" if day < 12 else "1.10"
        bundle = made.bundle(
            0.93, qps, date=date.isoformat(), seed=day, queries=60, packages={"faiss-cpu": version}, **fields
        )
        Store(folder / f"{date:%Y-%m-%d}").write(bundle)


def test_a_step_is_dated_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    nights(tmp_path, [q * (1 if day < 12 else 0.8) for day, q in enumerate(9000 * rng.lognormal(0, 0.01, 20))])
    assert main(["compare", "--history", str(tmp_path)]) == 1
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("2026-09-13T03:00:00  faiss-ivf")
    assert "qps" in first and "(worse, x 0." in first and "faiss-cpu 1.9 -> 1.10" in first
    assert last == "1 steps in 1 series"
    assert main(["compare", "--history", str(tmp_path), "--json"]) == 1
    (step,) = json.loads(capsys.readouterr().out)["steps"]
    assert step["last_before"].startswith("2026-09-12") and step["worse"] and step["is_last"]


def test_better_is_no_failure(tmp_path: Path) -> None:
    nights(tmp_path, [9000.0] * 8 + [11000.0] * 8)
    assert main(["compare", "--history", str(tmp_path)]) == 0


def test_nothing_happened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nights(tmp_path, list(9000 * np.random.default_rng(3).lognormal(0, 0.02, 15)))
    nights(tmp_path, [5000.0, 1.0], algorithm="young")
    assert main(["compare", "--history", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "0 steps in 2 series; 1 have too few results for any\n"


def test_another_machine_on_the_way_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nights(tmp_path, [9000.0] * 3)
    Store(tmp_path / "other").write(made.bundle(machine="Another CPU"))
    assert main(["compare", "--history", str(tmp_path)]) == 2
    assert "`machine.cpu_model` differs" in capsys.readouterr().err
