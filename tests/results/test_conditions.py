"""Results of unlike conditions are not put together, and the field that differs is named."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from ann_bench.cli import main
from ann_bench.errors import UsageError
from ann_bench.results.conditions import CONDITIONS, first_difference, must_agree, scan_folders
from ann_bench.results.model import Bundle
from ann_bench.results.store import Store
from tests.results import made


def two_folders(tmp_path: Path, other: Bundle) -> list[Path]:
    Store(tmp_path / "a").write(made.bundle(algorithm="one"))
    Store(tmp_path / "b").write(other)
    return [tmp_path / "a", tmp_path / "b"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"machine": "Another CPU"}, "machine.cpu_model"),
        ({"limits": {"cpus": 2, "memory_bytes": made.GIB}}, "limits.memory_bytes"),
        ({"data_hash": {"base": "c", "queries": "q"}}, "data_hash.base"),
        ({"sandbox": "docker"}, "sandbox"),
        ({"cpus": 1}, "cpus"),
        ({"workload": [{"op": "build"}]}, "workload"),
        ({"metric": "ip"}, "metric"),
    ],
)
@pytest.mark.parametrize("command", ["export", "plot"])
def test_the_field_is_named(
    tmp_path: Path, changes: dict[str, Any], field: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = two_folders(tmp_path, made.bundle(algorithm="two", **changes))
    output = tmp_path / "made"
    assert main([command, "--results", str(a), "--results", str(b), "--output", str(output)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"`{field}` differs" in line and str(a) in line and str(b) in line and "measure both" in line
    assert not output.exists()


def test_another_machine_of_the_same_model_is_told_apart() -> None:
    one = made.bundle()
    other = dataclasses.replace(one, provenance={**one.provenance, "machine": {"cores": 64}})
    with pytest.raises(UsageError, match=r"a and b cannot be put together: `machine.cores` differs: 2 and 64"):
        must_agree(one, other, ("a", "b"))
    must_agree(one, dataclasses.replace(one, provenance={}), ("a", "b"))  # older files say nothing of it


@pytest.mark.parametrize("algorithm", ["one", "two"])  # the same measurement from two machines, and another one
@pytest.mark.parametrize("command", ["export", "plot", "leaderboard"])
def test_machines_of_one_model_are_told_apart_by_commands(
    tmp_path: Path, command: str, algorithm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    one = made.bundle(algorithm=algorithm)
    a, b = two_folders(tmp_path, dataclasses.replace(one, provenance={**one.provenance, "machine": {"cores": 64}}))
    output = [] if command == "leaderboard" else ["--output", str(tmp_path / "made")]
    code = main([command, "--results", str(a), "--results", str(b), *output])
    (line,) = capsys.readouterr().err.splitlines()
    assert "`machine.cores` differs: 2 and 64" in line and str(a) in line and str(b) in line
    assert code == (0 if command == "leaderboard" else 2) and ("stand together" in line) == (code == 0)


def test_equal_conditions_come_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = two_folders(tmp_path, made.bundle(algorithm="two", entry_hash="x", packages={"p": "1"}))
    assert main(["export", "--results", str(a), "--results", str(b)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert main(["plot", "--results", str(a), "--results", str(b), "--output", str(tmp_path / "p")]) == 0
    assert (tmp_path / "p" / "filtered-debian-20k.svg").is_file()


def test_other_places_are_no_rivals(tmp_path: Path) -> None:
    folders = two_folders(tmp_path, made.bundle(dataset="another", machine="Another CPU", cpus=9))
    assert len(list(scan_folders(folders))) == 2


def test_one_folder_may_hold_what_it_likes(tmp_path: Path) -> None:
    folders = two_folders(tmp_path, made.bundle(cpus=9))
    Store(folders[1]).write(made.bundle(cpus=1))
    assert len(list(scan_folders(folders[1:]))) == 2
    with pytest.raises(UsageError, match="`cpus` differs"):
        list(scan_folders(folders))
    assert len(list(scan_folders(folders, lambda bundle: bundle.identity["cpus"] == 1))) == 1


@pytest.mark.parametrize("name", CONDITIONS)
def test_every_condition_counts(name: str) -> None:
    found = first_difference({name: 1}, {name: 2})
    assert found is not None and found.field == name
    assert first_difference({name: {"a": 1}}, {name: {"a": 1}}) is None
