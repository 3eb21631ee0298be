"""The reference pages say what the code does, and bundles hold what their page says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

from ann_bench.cli.schema import PAGES, command
from ann_bench.results.bundle import write
from ann_bench.results.schema import GROUPS, MANIFEST
from tests.judge.ranges import range_bench, range_entry
from tests.results.made import asks, bundle, control

DOCS = Path(__file__).resolve().parents[2] / "docs" / "reference"


@pytest.mark.parametrize("page", PAGES)
def test_pages_are_those_of_the_code(page: str) -> None:
    printed = CliRunner().invoke(command, [page]).output
    again = f"ann-bench schema {page} > docs/reference/{page}.md"
    assert (DOCS / f"{page}.md").read_text(encoding="utf-8") == printed, f"make it again: {again}"


@pytest.mark.parametrize("page", ["manifest", "config"])
def test_every_key_is_explained(page: str) -> None:
    schema = json.loads(CliRunner().invoke(command, [page, "--json"]).output)
    for one in (schema, *schema.get("$defs", {}).values()):
        for name, key in one.get("properties", {}).items():
            assert key.get("description") or "$ref" in key, name


def test_a_bundle_has_no_json_schema() -> None:
    result = CliRunner().invoke(command, ["bundle", "--json"])
    assert "HDF5" in str(result.exception)


def described(path: Path) -> set[str]:
    """The arrays of a file, each of which fits what is said of it."""
    found = set()
    with h5py.File(path, "r") as file:
        for group, places in GROUPS.items():
            known = {one.name: one for one in places}
            for name, item in (file.get(group, {}) if group else file).items():
                if isinstance(item, h5py.Dataset):
                    assert item.dtype.name in known[name].dtypes, name
                    assert len(item.shape) == len(known[name].shape), name
                    found.add(f"{group}/{name}")
        assert set(json.loads(file["manifest"][()].tobytes())) == set(MANIFEST)
        assert {name for name, item in file.items() if isinstance(item, h5py.Group)} <= set(GROUPS)
    return found


def test_all_that_lies_in_a_bundle_is_described(tmp_path: Path) -> None:
    nearest = bundle(queries=30)
    nearest = replace(nearest, control=control(nearest, np.full((1, 5), 9)), asks=asks(nearest, rounds=2))
    place = range_bench(tmp_path / "range")
    assert place.run(range_entry(tmp_path / "entry"), "--runs", "1") == 0
    files = [write(nearest, tmp_path), *place.results.rglob("*.h5")]
    assert len(files) == 2
    found = set.union(*map(described, files))
    assert found == {f"{group}/{one.name}" for group, places in GROUPS.items() for one in places}
