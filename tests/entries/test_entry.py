"""One entry: its configs for a data set, its requirements, its hash."""

from __future__ import annotations

import os
from importlib import metadata

import pytest

from ann_bench.entries.discovery import entry_at
from ann_bench.entries.entry import entry_hash, installed, missing, plan_configs, required
from ann_bench.errors import UsageError
from tests.entries.support import write_entry


def entry(tmp_path, **changes):
    return entry_at(write_entry(tmp_path / "mine", **changes), "filtered")


def test_plan_configs(tmp_path):
    it = entry(tmp_path, build={"default": {"n": 1}, "big": {"n": 9}})
    assert plan_configs(it, "big") == ({"n": 9}, [{"probe": 1}, {"probe": 2}])
    assert plan_configs(it, "small") == ({"n": 1}, [{"probe": 1}, {"probe": 2}])


@pytest.mark.parametrize(("key", "value"), [("build", {"big": {}}), ("query", {"big": [{}], "wide-*": [{}]})])
def test_nothing_for_a_data_set(tmp_path, key, value):
    it = entry(tmp_path, **{key: value})
    with pytest.raises(UsageError, match=f"'{key}' has nothing for the data set 'small', only for big.*add `default`"):
        plan_configs(it, "small")
    plan_configs(it, "big")


def test_requirements(tmp_path):
    numpy = metadata.version("numpy")
    needs = ["numpy", "NumPy>=99", "no-such-package>=2", "no-such-either; python_version < '3'"]
    it = entry(tmp_path, requires=needs)
    assert installed(it) == {"numpy": numpy, "NumPy": numpy}
    assert missing(it) == ["NumPy>=99", "no-such-package>=2"]
    assert required(it) == ["numpy", "NumPy", "no-such-package"]


def test_nothing_missing(tmp_path):
    it = entry(tmp_path, requires=["numpy>=1"])
    assert missing(it) == []


def test_nothing_required(tmp_path):
    it = entry(tmp_path)
    assert (installed(it), missing(it), required(it)) == ({}, [], [])


def test_the_hash_changes_with_every_byte_and_name(tmp_path):
    it = entry(tmp_path)
    seen = {entry_hash(it)}

    def changed():
        digest = entry_hash(it)
        fresh = digest not in seen
        seen.add(digest)
        return fresh

    (it.folder / "wrapper.py").write_text("class Index:  ...\n")
    assert changed()
    (it.folder / "sub").mkdir()
    (it.folder / "sub" / "data.bin").write_bytes(b"")
    assert changed()
    (it.folder / "sub" / "data.bin").rename(it.folder / "sub" / "data2.bin")
    assert changed()
    (it.folder / "sub" / "data2.bin").write_bytes(b"\0")
    assert changed()
    (it.folder / "sub" / "config.yaml").write_text("only the one in the folder itself is the entry's")
    assert changed()
    (it.folder / "impl.pyc").write_bytes(b"Python imports it where there is no impl.py")
    assert changed()


def test_the_hash_does_not_change_with_what_does_not_run(tmp_path):
    it = entry(tmp_path)
    before = entry_hash(it)
    (it.folder / "README.md").write_text("about it")
    (it.folder / ".notes").write_text("x")
    for hidden in ("__pycache__", ".git"):
        (it.folder / hidden).mkdir()
        (it.folder / hidden / "file.pyc").write_text("x")
    os.utime(it.folder / "wrapper.py", (0, 0))
    assert entry_hash(it) == before
    assert len(before) == 64


def hash_of(folder, **changes):
    return entry_hash(entry_at(write_entry(folder / "mine", **changes), "filtered"))


@pytest.mark.parametrize(
    "changes",
    [
        {"query": {"default": [{"probe": 1}, {"probe": 2}, {"probe": 4}]}},
        {"build": {"default": {"lists": 8}, "big": {"lists": 64}}},
        {"description": "another index", "open_source": False, "tracks": ["filtered", "sparse"]},
    ],
)
def test_the_hash_leaves_out_what_is_no_part_of_the_code(tmp_path, changes):
    assert hash_of(tmp_path / "other", **changes) == hash_of(tmp_path)


@pytest.mark.parametrize("changes", [{"class": "wrapper.Other"}, {"requires": ["numpy"]}])
def test_the_hash_changes_with_what_is_run(tmp_path, changes):
    assert hash_of(tmp_path / "other", **changes) != hash_of(tmp_path)


def test_moving_bytes_between_files_changes_the_hash(tmp_path):
    it = entry(tmp_path)
    (it.folder / "a").write_bytes(b"xb")
    (it.folder / "b").write_bytes(b"y")
    before = entry_hash(it)
    (it.folder / "a").write_bytes(b"x")
    (it.folder / "b").write_bytes(b"by")
    assert entry_hash(it) != before


def test_links_must_stay_inside(tmp_path):
    it = entry(tmp_path)
    (it.folder / "again.py").symlink_to(it.folder / "wrapper.py")
    before = entry_hash(it)
    (it.folder / "wrapper.py").write_text("class Index: pass\n")
    assert entry_hash(it) != before
    (tmp_path / "outside.py").touch()
    (it.folder / "out.py").symlink_to(tmp_path / "outside.py")
    with pytest.raises(UsageError, match=r"out\.py: a symbolic link out of the entry's folder"):
        entry_hash(it)


def test_links_to_folders_and_to_nothing(tmp_path):
    it = entry(tmp_path)
    link = it.folder / "loop"
    link.symlink_to(it.folder)
    with pytest.raises(UsageError, match="loop: a symbolic link to a folder"):
        entry_hash(it)
    link.unlink()
    link.symlink_to(it.folder / "nowhere")
    with pytest.raises(UsageError, match="loop: cannot be read"):
        entry_hash(it)
    link.unlink()
    link.symlink_to(link)
    with pytest.raises(UsageError, match="loop: cannot be read"):
        entry_hash(it)


def test_only_plain_files(tmp_path):
    it = entry(tmp_path)
    os.mkfifo(it.folder / "pipe")
    with pytest.raises(UsageError, match="pipe: no plain file"):
        entry_hash(it)
