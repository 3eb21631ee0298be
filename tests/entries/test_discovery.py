"""Entries are found in `algorithms/` and by their path; a wrong one is named with the way out."""

from __future__ import annotations

import os

import pytest

from ann_bench.entries.discovery import choose, discover, entries_at, entry_at, resolve
from ann_bench.errors import UsageError
from tests.entries.support import shipped, write_entry


def names(entries):
    return [entry.name for entry in entries]


@pytest.fixture
def home(tmp_path):
    shipped(tmp_path, "ivf")
    shipped(tmp_path, "exact")
    return tmp_path


def test_all_entries_by_name(home):
    shipped(home, ".hidden")
    shipped(home, "_draft")
    (home / "algorithms" / "filtered" / "notes").mkdir()
    (home / "algorithms" / "filtered" / "README.md").touch()
    write_entry(home / "algorithms" / "sparse" / "other", tracks=["sparse"])
    found = discover("filtered", home)
    assert names(found) == ["exact", "ivf"]
    assert (found[0].track, found[0].source) == ("filtered", "algorithms")
    assert found[0].config_file.is_file()


def test_no_folder_no_entries(tmp_path):
    assert discover("filtered", tmp_path) == []
    assert choose("filtered", tmp_path) == []


def test_one_broken_config_hinders_only_who_asks_for_it(home):
    shipped(home, "broken", text="class: wrapper.Index\nqurey: 3\n")
    with pytest.raises(UsageError, match=r"broken/config.yaml:2: unknown key 'qurey'; did you mean 'query'\?"):
        discover("filtered", home)
    with pytest.raises(UsageError, match="broken"):
        choose("filtered", home)
    with pytest.raises(UsageError, match="broken"):
        choose("filtered", home, names=["broken"])
    assert names(choose("filtered", home, names=["ivf"])) == ["ivf"]


def test_unknown_names(home):
    with pytest.raises(UsageError, match="unknown algorithm 'ivff': did you mean 'ivf'"):
        choose("filtered", home, names=["ivff"])
    with pytest.raises(UsageError, match="unknown algorithm 'zzz': valid: exact, ivf"):
        choose("filtered", home, names=["zzz"])
    (home / "algorithms" / "filtered" / "notes").mkdir()
    with pytest.raises(UsageError, match=r"notes: no entry, there is no config\.yaml in it"):
        choose("filtered", home, names=["notes"])
    with pytest.raises(UsageError, match="unknown algorithm"):
        choose("filtered", home, names=["../../algorithms"])


def test_an_entry_by_its_path(home, tmp_path):
    folder = write_entry(tmp_path / "elsewhere" / "mine")
    for path in (folder, folder / "config.yaml"):
        entry = entry_at(path, "filtered")
        assert (entry.name, entry.folder, entry.source) == ("mine", folder.resolve(), "path")
    assert names(choose("filtered", home, paths=[folder])) == ["mine"]
    assert names(choose("filtered", home, names=["ivf", "mine"], paths=[folder])) == ["ivf", "mine"]


def test_an_entry_by_a_relative_path(tmp_path, monkeypatch):
    monkeypatch.chdir(write_entry(tmp_path / "mine"))
    assert entry_at(type(tmp_path)("."), "filtered").name == "mine"
    assert entry_at(type(tmp_path)("config.yaml"), "filtered").name == "mine"


def test_two_entries_of_one_name(home, tmp_path):
    one, other = write_entry(tmp_path / "a" / "ivf"), write_entry(tmp_path / "b" / "ivf")
    with pytest.raises(UsageError, match="two entries are called 'ivf'") as caught:
        choose("filtered", home, paths=[one])
    assert str(one) in str(caught.value)
    assert str(home / "algorithms" / "filtered" / "ivf") in str(caught.value)
    with pytest.raises(UsageError, match="two entries are called 'ivf'"):
        choose("filtered", tmp_path / "no-home", paths=[one, other])


def test_one_entry_named_twice_is_one_entry(home):
    folder = home / "algorithms" / "filtered" / "ivf"
    assert names(choose("filtered", home, names=["ivf"], paths=[folder, folder / "config.yaml"])) == ["ivf"]


def test_the_wrong_track(home, tmp_path):
    folder = write_entry(tmp_path / "mine", tracks=["sparse", "ood"])
    with pytest.raises(UsageError, match="the entry is for sparse, ood, not for the track 'filtered'"):
        entry_at(folder, "filtered")
    shipped(home, "odd", tracks=["sparse"])
    with pytest.raises(UsageError, match="the entry is for sparse"):
        discover("filtered", home)


def test_what_is_no_entry(tmp_path):
    with pytest.raises(UsageError, match=r"no entry, there is no config\.yaml in it"):
        entry_at(tmp_path, "filtered")
    with pytest.raises(UsageError, match="rename the folder"):
        entry_at(write_entry(tmp_path / "my index"), "filtered")
    with pytest.raises(UsageError, match=r"class 'other\.Index' needs a file other\.py"):
        entry_at(write_entry(tmp_path / "mine", **{"class": "other.Index"}), "filtered")


def test_the_class_may_lie_in_a_package(tmp_path):
    folder = write_entry(tmp_path / "mine", **{"class": "deep.inner.Index"})
    (folder / "deep").mkdir()
    (folder / "deep" / "__init__.py").touch()
    assert entry_at(folder, "filtered").config.module == "deep"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_config_that_cannot_be_read(home):
    (home / "algorithms" / "filtered" / "ivf" / "config.yaml").chmod(0)
    with pytest.raises(UsageError, match="cannot be read"):
        discover("filtered", home)


def places(entries):
    return [(entry.name, entry.track, entry.source) for entry in entries]


def test_a_word_is_a_place_or_a_name(home, tmp_path, monkeypatch):
    folder = write_entry(tmp_path / "elsewhere" / "mine", tracks=["filtered", "ood"])
    both = [("mine", "filtered", "path"), ("mine", "ood", "path")]
    assert places(resolve(str(folder), home)) == places(entries_at(folder)) == both
    assert places(resolve(folder / "config.yaml", home, "ood")) == both[1:]
    assert places(resolve("ivf", home)) == [("ivf", "filtered", "algorithms")]
    assert places(resolve("ivf", home, "filtered")) == [("ivf", "filtered", "algorithms")]
    with pytest.raises(UsageError, match="unknown algorithm 'ivff': did you mean 'ivf'"):
        resolve("ivff", home)
    with pytest.raises(UsageError, match="unknown algorithm 'ivf'"):
        resolve("ivf", home, "sparse")
    with pytest.raises(UsageError, match=r"nowhere/ivf: no entry, there is no config\.yaml in it"):
        resolve("nowhere/ivf", home)
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert places(resolve("mine", home)) == both


def test_a_name_serves_every_track_that_it_names(home):
    shipped(home, "wide", tracks=["filtered", "ood"])
    assert places(resolve("wide", home)) == [("wide", "filtered", "algorithms"), ("wide", "ood", "algorithms")]
    assert places(resolve("wide", home, "ood")) == [("wide", "ood", "algorithms")]


def test_an_adapter_that_is_none(tmp_path):
    folder = write_entry(tmp_path / "mine", **{"class": "ann_bench.adapters.nothing.Class"})
    with pytest.raises(UsageError, match=r"unknown adapter in .*config\.yaml 'nothing'"):
        entry_at(folder, "filtered")
