"""pip as it is, but with wheels of this test only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.environments.index import Index, served, stand_ins, wheel

_SETTINGS = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_TRUSTED_HOST")


@pytest.fixture
def only_here(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No index, no configuration file of this machine."""
    for name in _SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return monkeypatch


@pytest.fixture
def wheels(only_here: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder in which pip finds `tiny-lib` 1.0 and 2.0, and what stands in for numpy and scipy."""
    folder = stand_ins(tmp_path / "wheels")
    for version in ("1.0", "2.0"):
        wheel(folder, "tiny-lib", version)
    only_here.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def index(wheels: Path, only_here: pytest.MonkeyPatch) -> Iterator[Index]:
    """The same wheels, served over HTTP as an index does."""
    with served(wheels) as (found, address):
        for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS"):
            only_here.delenv(name)
        only_here.setenv("PIP_INDEX_URL", address)
        yield found
