"""`export` and `plot` as they are typed."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from ann_bench.cli import main
from ann_bench.results.store import Store
from tests.report import scenes
from tests.results import made


@pytest.fixture
def results(tmp_path: Path) -> Path:
    store = Store(tmp_path / "results")
    for bundle in scenes.four():
        store.write(bundle)
    return store.folder


def damage(results: Path) -> Path:
    path = Store(results).path(scenes.single()[0].identity)
    path.write_bytes(path.read_bytes()[:-3])
    return path


def test_export(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--results", str(results)]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 19
    assert {row["status"] for row in rows} == {"ok", "invalid-answer", "not-installed"}
    output = tmp_path / "out" / "r.json"
    assert main(["export", "--results", str(results), "--format", "json", "--output", str(output)]) == 0
    assert len(json.loads(output.read_text())) == 19
    assert capsys.readouterr().out == ""
    assert main(["export", "--results", str(results), "--format", "parquet"]) == 2
    assert "--output" in capsys.readouterr().err


def test_export_leaves_out_what_a_newer_result_stands_for(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = scenes.four()[0].identity["query"]
    Store(results).write(made.bundle(0.1, 77, date="2020-01-01T00:00:00+00:00", query=query, entry_hash="older"))
    assert main(["export", "--results", str(results)]) == 0
    said = capsys.readouterr()
    assert len(list(csv.DictReader(io.StringIO(said.out)))) == 19
    assert said.err == "1 older result left out; --all writes them too\n"
    output = tmp_path / "r.csv"
    assert main(["export", "--results", str(results), "--all", "--output", str(output)]) == 0
    assert len(list(csv.DictReader(io.StringIO(output.read_text())))) == 20
    assert capsys.readouterr().err == f"20 results written to {output}\n"


def test_plot(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "plots"
    assert main(["plot", "--results", str(results), "--output", str(folder)]) == 0
    assert capsys.readouterr().out.split() == [str(folder / f"filtered-debian-20k.{form}") for form in ("png", "svg")]
    arguments = ["plot", "--results", str(results), "--output", str(folder), "--format", "pdf", "--json"]
    assert main([*arguments, "--track", "filtered", "--dataset", "debian-20k"]) == 0
    assert json.loads(capsys.readouterr().out)["written"] == [str(folder / "filtered-debian-20k.pdf")]


def test_damaged_files_are_named_and_the_rest_is_used(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = damage(results)
    assert main(["export", "--results", str(results)]) == 1
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 19
    assert bad.name in said.err
    assert said.err.splitlines()[-1].startswith("error: 1 damaged file left out")
    assert main(["plot", "--results", str(results), "--output", str(tmp_path / "p"), "--json"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out) == {
        "written": [str(tmp_path / "p" / f"filtered-debian-20k.{form}") for form in ("png", "svg")],
        "damaged": [str(bad)],
    }
    assert bad.name in said.err


@pytest.mark.parametrize("command", ["export", "plot"])
def test_no_results(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--results", str(tmp_path / "none")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "ann-bench run" in line


def test_nothing_to_draw(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "p"
    assert main(["plot", "--results", str(results), "--track", "ood", "--output", str(output)]) == 2
    assert "no result in" in capsys.readouterr().err
    Store(tmp_path / "bad").write(made.failed())
    assert main(["plot", "--results", str(tmp_path / "bad"), "--output", str(output)]) == 2
    assert "none of 1 results" in capsys.readouterr().err
    assert not output.exists()


def test_result_files_are_not_touched(results: Path, tmp_path: Path) -> None:
    def state() -> dict[Path, tuple[int, bytes]]:
        return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in results.rglob("*") if path.is_file()}

    before = state()
    main(["plot", "--results", str(results), "--output", str(tmp_path / "p")])
    main(["export", "--results", str(results), "--output", str(tmp_path / "r.csv")])
    assert state() == before


@pytest.mark.parametrize("command", ["export", "plot"])
def test_help_has_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert f"Example: ann-bench {command}" in capsys.readouterr().out
