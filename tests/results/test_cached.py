"""Figures that are kept: the same as those derived, and never those of other bytes."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from ann_bench.results import cached
from ann_bench.results.cached import cached_figures
from ann_bench.results.figures import Figures, canonical, figures
from ann_bench.results.store import Damaged, Store
from tests.results import made


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "results")
    for number in range(3):
        store.write(made.bundle(0.9, 1000.0 + number, query={"ef": number}, seed=number))
    return store


def shown(found: list[Figures | Damaged]) -> list[str]:
    """NaN equals NaN in texts."""
    return sorted(repr(dataclasses.astuple(one)) if isinstance(one, Figures) else one.reason for one in found)


def read(store: Store, folder: Path) -> list[Figures | Damaged]:
    return [one for _, one in cached_figures(store, folder)]


def test_the_second_reading_gives_the_same(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = [figures(bundle) for bundle in store.scan() if not isinstance(bundle, Damaged)]
    assert shown(read(store, tmp_path / "kept")) == shown(fresh)
    monkeypatch.setattr(cached, "read", None)  # nothing is left to read
    again = read(store, tmp_path / "kept")
    assert shown(again) == shown(fresh)
    assert canonical(dict(again[0].identity.fields)) in {canonical(dict(one.identity.fields)) for one in fresh}
    assert {one.identity.key for one in again} == {one.identity.key for one in fresh}


def test_what_has_changed_is_read_again(store: Store, tmp_path: Path) -> None:
    read(store, tmp_path / "kept")
    victim = store.paths()[0]
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.write_bytes(data)
    os.utime(victim, (1, 1))
    found = read(store, tmp_path / "kept")
    (damaged,) = [one for one in found if isinstance(one, Damaged)]
    assert "was changed after it was written" in damaged.reason
    assert len(found) == 3


def test_new_code_derives_anew(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read(store, tmp_path / "kept")
    monkeypatch.setattr(cached, "_code", lambda: "another")
    monkeypatch.setattr(cached, "figures", lambda bundle: dataclasses.replace(figures(bundle), recall=0.125))
    assert {one.recall for one in read(store, tmp_path / "kept")} == {0.125}


@pytest.mark.parametrize("content", [b"no database at all", b""])
def test_a_broken_copy_does_no_harm(store: Store, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "figures.sqlite").write_bytes(content)
    assert len(read(store, tmp_path / "kept")) == 3


def test_a_folder_that_cannot_be_written_does_no_harm(store: Store, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file in the way")
    assert len(read(store, tmp_path / "kept")) == 3


def test_many_are_read_by_several_processes(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = shown(read(store, tmp_path / "kept"))
    monkeypatch.setattr(cached, "FEW", 1)
    (store.folder / "bad.h5").write_bytes(b"no bundle")
    found = shown(read(store, tmp_path / "other"))
    assert len(found) == 4
    assert set(expected) < set(found)
