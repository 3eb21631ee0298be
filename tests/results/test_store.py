"""A folder of results."""

from __future__ import annotations

import logging
import os
import shutil
import time
from pathlib import Path

import pytest

from ann_bench.errors import ResultError, StorageError, UsageError
from ann_bench.results.bundle import SEAL_BYTES
from ann_bench.results.store import Store
from tests.results import made


def test_has_get_write(tmp_path: Path) -> None:
    store = Store(tmp_path / "new" / "results")
    bundle = made.bundle()
    assert not store.has(bundle.identity)
    with pytest.raises(ResultError):
        store.get(bundle.identity)
    path = store.write(bundle)
    assert path == store.path(bundle.identity)
    assert store.has(bundle.identity)
    assert store.get(bundle.identity).identity == bundle.identity
    assert not store.has(made.identity(query={"nprobe": 5}))


def test_load_names_every_damaged_file_and_returns_the_rest(tmp_path: Path) -> None:
    store = Store(tmp_path)
    good = store.write(made.bundle())
    flipped = store.write(made.bundle(query={"nprobe": 8}))
    content = bytearray(flipped.read_bytes())
    content[len(content) // 2] ^= 1
    flipped.write_bytes(content)
    cut = store.write(made.bundle(query={"nprobe": 16}))
    cut.write_bytes(cut.read_bytes()[:-SEAL_BYTES])
    copy = tmp_path / "copy.h5"
    shutil.copy(good, copy)
    (tmp_path / "other.hdf5").write_bytes(b"\x89HDF\r\n\x1a\n")
    (tmp_path / "README.md").write_text("not a result")
    bundles, damaged = store.load()
    assert [b.identity.key for b in bundles] == [good.stem]
    reasons = {d.path.name: d.reason for d in damaged}
    assert set(reasons) == {flipped.name, cut.name, "copy.h5", "other.hdf5"}
    assert "was changed" in reasons[flipped.name]
    assert "has no seal" in reasons[cut.name]
    assert "under another name" in reasons["copy.h5"]
    assert all(str(d.path) in d.reason and "\n" not in d.reason for d in damaged)


def test_a_damaged_result_does_not_count_as_there(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = Store(tmp_path)
    path = store.write(made.bundle())
    path.write_bytes(path.read_bytes()[:-1])
    with caplog.at_level(logging.WARNING):
        assert not store.has(made.bundle().identity)
    assert path.name in caplog.text


def test_scan_leaves_the_ids_out(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(made.bundle())
    (found,) = store.scan()
    assert found.answers == ()
    assert len(found.scores) == 1
    assert store.load()[0][0].answers


@pytest.mark.parametrize("name", ["absent", "."])
def test_no_results(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="ann-bench run --track") as caught:
        Store(tmp_path / name).load()
    assert caught.value.exit_code == 2


def test_check_writable(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    store.check_writable()
    assert list(store.folder.iterdir()) == []
    (tmp_path / "file").write_text("x")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", "/dev/null/results", "/proc/results"):
        with pytest.raises(StorageError, match="cannot be written") as caught:
            Store(folder).check_writable()
        assert caught.value.exit_code == 1


def test_stale_files_of_killed_runs(tmp_path: Path) -> None:
    store = Store(tmp_path)
    folder = store.write(made.bundle()).parent
    old, young, other = folder / ".a.h5.1-2.part", folder / ".b.h5.3-4.part", folder / ".keep"
    for path in (old, young, other):
        path.write_bytes(b"half")
    for path in (old, other):
        os.utime(path, (time.time() - 2 * 86400,) * 2)
    assert len(store.load()[0]) == 1
    assert store.load()[1] == []
    assert old.exists()
    store.write(made.bundle(query={"nprobe": 5}))
    assert (old.exists(), young.exists(), other.exists()) == (False, True, True)
    os.utime(young, (time.time() - 2 * 86400,) * 2)
    store.check_writable()
    assert not young.exists()
