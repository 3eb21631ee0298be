"""`verify` of what was made of results: tables and plots, by the real commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ann_bench.cli import main
from tests.support import Bench, bench, write_entry


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANN_BENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("ANN_BENCH_SANDBOX", "process")
        made = bench(tmp_path_factory.mktemp("place"))
        assert made.run(write_entry(made.folder / "mine"), "--runs", "2") == 0
    return made


def test_tables_and_plots_follow(place: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = ["--results", str(place.results)]
    table, plots = tmp_path / "t.csv", place.folder / "plots"
    assert main(["export", *results, "--output", str(table)]) == 0
    drawn = [word for path in sorted(plots.glob("*.[sp][vn]g")) for word in ("--plot", str(path))]
    assert len(drawn) == 4
    capsys.readouterr()
    assert main(["verify", *results, "--table", str(table), *drawn]) == 0
    shown = capsys.readouterr().out
    assert shown.count("follows from these results") == 3 and "1 rows" in shown

    recall = str(place.bundle().identity["runs"])
    lines = table.read_text(encoding="utf-8").splitlines()
    cells = lines[1].split(",")
    place_of_runs = lines[0].split(",").index("runs") - len(
        lines[0].split(",")
    )  # from the end: no commas in texts there
    assert cells[place_of_runs] == recall
    cells[place_of_runs] = "3"
    table.write_text("\n".join([lines[0], ",".join(cells)]) + "\n", encoding="utf-8")
    assert main(["verify", *results, "--table", str(table), "--json"]) == 1
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert problem["file"] == str(table)
    assert problem["problem"].startswith("row 1 (mine ") and "column runs: found 3, expected 2" in problem["problem"]


def test_a_row_of_a_result_that_does_not_verify_is_named(
    place: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "t.json"
    assert main(["export", "--results", str(place.results), "--format", "json", "--output", str(table)]) == 0
    copy = tmp_path / "results" / place.bundle().identity.key
    copy.parent.mkdir()
    (path,) = place.results.rglob("*.h5")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    copy.with_suffix(".h5").write_bytes(data)
    assert main(["verify", "--results", str(tmp_path / "results"), "--table", str(table)]) == 1
    assert "which is no verified result here" in capsys.readouterr().err
