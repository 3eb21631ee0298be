"""Virtual environments made by the real pip: whole or not there, shared by equal needs, one download for each file."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ann_bench.cli import main
from ann_bench.entries.discovery import entry_at
from ann_bench.entries.entry import Entry
from ann_bench.environments.make import install
from ann_bench.environments.place import RECORD, environments_root, find, folders, key_of, needs_of
from tests.entries.support import write_entry
from tests.environments.index import Index, wheel


def entry(folder: Path, **changes: Any) -> Entry:
    return entry_at(write_entry(folder, **{"requires": ["tiny-lib"], "pins": ["tiny-lib==1.0"], **changes}), "filtered")


def version_in(made: Entry) -> str:
    """What an entry's environment says when it is asked, not what is written about it."""
    environment = find(made)
    assert environment is not None
    words = [str(environment.python), "-c", "import tiny_lib, numpy; print(tiny_lib.VERSION, numpy.__version__)"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def test_each_gets_what_it_pins_and_equal_needs_share(wheels: Path, tmp_path: Path) -> None:
    """Conflicting versions live side by side; what this Python has needs no environment."""
    one, same = entry(tmp_path / "one"), entry(tmp_path / "same", description="the same needs")
    other = entry(tmp_path / "other", pins=["tiny-lib==2.0"])
    here = entry(tmp_path / "here", requires=["packaging"], pins=[])
    entries = [one, here, other, same]
    outcomes = install(entries, jobs=2, logs=tmp_path / "logs")
    assert [outcome.entry for outcome in outcomes] == entries
    assert [(outcome.built, outcome.here, outcome.failure) for outcome in outcomes] == [
        (True, False, None),
        (False, True, None),
        (True, False, None),
        (True, False, None),
    ]
    assert outcomes[0].environment == outcomes[3].environment
    assert (version_in(one), version_in(other)) == ("1.0 99.0", "2.0 99.0")
    assert len(folders()) == 2
    assert outcomes[0].environment is not None
    packages = outcomes[0].environment.packages()
    assert {name: packages[name] for name in ("numpy", "scipy", "tiny-lib")} == {
        "numpy": "99.0",
        "scipy": "99.0",
        "tiny-lib": "1.0",
    }
    log = (tmp_path / "logs" / "filtered-one.venv.log").read_text()
    assert "Successfully installed" in log
    assert "tiny-lib==1.0" in log

    again = install(entries, jobs=2, logs=tmp_path / "none")
    assert [outcome.built for outcome in again] == [False] * 4
    assert not (tmp_path / "none").exists()
    shutil.rmtree(outcomes[2].environment.folder)  # type: ignore[union-attr]
    assert find(other) is None

    fresh = install([one], jobs=1, logs=tmp_path / "logs", force=True)[0]
    assert fresh.built
    assert folders() == [fresh.environment.folder]  # type: ignore[union-attr]


def test_what_cannot_be_installed_is_named_and_the_others_go_on(
    wheels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel(wheels, "broken-lib", "1.0", {"broken_lib.py": ""}, requires=("nowhere-to-be-found>=7",))
    bad = entry(tmp_path / "bad", requires=["broken-lib"], pins=["broken-lib==1.0"])
    absent = entry(tmp_path / "absent", pins=["tiny-lib==3.0"])
    good = entry(tmp_path / "good")
    words = ["install", "--sandbox", "process", "--track", "filtered", "--logs", str(tmp_path / "logs")]
    words += [word for one in (bad, absent, good) for word in ("--entry", str(one.folder))]
    assert main(words) == 1
    shown = capsys.readouterr()
    assert f"filtered/good    built          {find(good).folder}" in shown.out  # type: ignore[union-attr]
    assert "1 built, 0 there already, 2 failed" in shown.out
    log = tmp_path / "logs" / "filtered-bad.venv.log"
    assert (
        "failed: filtered/bad: `pip wheel`: ERROR: No matching distribution found for nowhere-to-be-found" in shown.err
    )
    assert f"; log: {log}\n" in shown.err
    assert "    ERROR: Could not find a version that satisfies the requirement nowhere-to-be-found>=7" in shown.err
    assert "failed: filtered/absent: `pip wheel`: ERROR: No matching distribution found for tiny-lib==3.0" in shown.err
    assert len(folders()) == 1
    assert main([*words, "--json"]) == 1
    rows = {row["algorithm"]: row for row in json.loads(capsys.readouterr().out)}
    assert (rows["good"]["state"], rows["good"]["packages"]["tiny-lib"]) == ("there already", "1.0")
    assert rows["bad"]["state"] == "failed"
    assert rows["bad"]["log"] == str(log)


def test_a_numpy_that_does_not_import_is_no_environment(wheels: Path, tmp_path: Path) -> None:
    wheel(wheels, "numpy", "100.0", {"numpy/__init__.py": "raise ImportError('not on this CPU')\n"})
    (outcome,) = install([entry(tmp_path / "one")], jobs=1, logs=tmp_path / "logs")
    assert outcome.failure is not None
    assert "does not run in it: ImportError: not on this CPU" in outcome.failure
    assert folders() == []


def test_one_download_for_each_file(index: Index, only_here: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Entries of different needs that share libraries, two at a time."""
    only_here.setenv("ANN_BENCH_CACHE", str(tmp_path / "a cache, 100 % + #"))
    wheel(index.folder, "other-lib", "1.0", requires=("shared-lib",))
    wheel(index.folder, "shared-lib", "1.0")
    one = entry(tmp_path / "one")
    two = entry(tmp_path / "two", requires=["tiny-lib", "other-lib"], pins=["tiny-lib==1.0", "other-lib==1.0"])
    three = entry(tmp_path / "three", requires=["shared-lib", "tiny-lib"], pins=["tiny-lib==1.0"])
    outcomes = install([one, two, three], jobs=3, logs=tmp_path / "logs")
    assert [outcome.failure for outcome in outcomes] == [None] * 3
    assert len(folders()) == 3
    assert sorted(index.fetched) == [
        f"{name}-py3-none-any.whl"
        for name in ("numpy-99.0", "other_lib-1.0", "scipy-99.0", "shared_lib-1.0", "tiny_lib-1.0")
    ]
    assert set(index.fetched.values()) == {1}


def test_what_the_store_has_needs_no_index(index: Index, only_here: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Not on the day of the first build: later, without a network."""
    wheel(index.folder, "Plus.Lib", "1.0+cpu.1")
    one = entry(tmp_path / "one", pins=["tiny-lib==1.0", "plus_lib==1.0+cpu.1"])
    fetched = index.fetched
    assert install([one], jobs=1, logs=tmp_path / "logs")[0].built
    before = dict(fetched)
    only_here.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    only_here.setenv("PIP_RETRIES", "0")
    (outcome,) = install([one], jobs=1, logs=tmp_path / "logs", force=True)
    assert (outcome.built, outcome.failure) == (True, None)
    assert fetched == before
    other = entry(tmp_path / "other", pins=["tiny-lib==2.0"])
    (outcome,) = install([other], jobs=1, logs=tmp_path / "logs")
    assert "No matching distribution found for tiny-lib==2.0" in str(outcome.failure)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ended_half_way(index: Index, tmp_path: Path, number: int, code: int) -> None:
    """pip waits for an index that does not answer; Ctrl-C ends both, and nothing is left."""
    index.hangs = True
    one = entry(tmp_path / "one")
    words = [sys.executable, "-m", "ann_bench", "install", "--sandbox", "process", "--entry", str(one.folder)]
    process = subprocess.Popen([*words, "--logs", str(tmp_path / "logs")], stderr=subprocess.PIPE, text=True)
    try:
        assert index.asked.wait(60), "pip never asked"
        assert len(folders()) == 1
        process.send_signal(number)
        _, said = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == code
    assert "Traceback" not in said
    assert folders() == []


def test_a_library_goes_before_numpy(wheels: Path, tmp_path: Path) -> None:
    """Where the newest of both do not go together, numpy gives way; and never below what the worker needs."""
    wheel(wheels, "old-lib", "1.0")
    wheel(wheels, "old-lib", "2.0", requires=("numpy<50",))
    wheel(wheels, "numpy", "49.0", {"numpy/__init__.py": ""})
    one = entry(tmp_path / "one", requires=["old-lib"], pins=[])
    (outcome,) = install([one], jobs=1, logs=tmp_path / "logs")
    assert outcome.environment is not None
    assert outcome.environment.versions(["old-lib", "numpy"]) == {"old-lib": "2.0", "numpy": "49.0"}
    wheel(wheels, "numpy", "1.20", {"numpy/__init__.py": ""})
    (outcome,) = install([entry(tmp_path / "two", pins=["numpy==1.20"])], jobs=1, logs=tmp_path / "logs")
    assert "numpy>=1.25 is not met by what pip has installed (1.20)" in str(outcome.failure)


def test_what_is_half_made_is_not_taken(wheels: Path, tmp_path: Path) -> None:
    one = entry(tmp_path / "one")
    (made,) = install([one], jobs=1, logs=tmp_path / "logs")
    environment = made.environment
    assert environment is not None
    (environment.folder / RECORD).rename(environment.folder / "elsewhere")
    assert find(one) is None
    (environment.folder / RECORD).write_text("{")
    assert find(one) is None
    (environment.folder / "elsewhere").rename(environment.folder / RECORD)
    assert find(one) == environment
    environment.python.unlink()
    environment.python.symlink_to(tmp_path / "a Python that is gone")
    assert find(one) is None

    # A maker that was killed has left this; nobody has the first process id but init, which lives.
    killed, living = (environments_root() / f"{'0' * 16}-{pid}-x" for pid in (2**22 + 1, os.getpid()))
    for folder in (killed, living):
        (folder / "bin").mkdir(parents=True)
    install([], jobs=1, logs=tmp_path / "logs")
    assert (killed.exists(), living.exists()) == (False, True)


def test_what_an_environment_depends_on(tmp_path: Path) -> None:
    one = entry(tmp_path / "one")
    assert needs_of(one) == ["tiny-lib==1.0", "numpy>=1.25", "scipy>=1.11"]
    assert needs_of(entry(tmp_path / "numpy", pins=["numpy==1.26"])) == ["numpy==1.26", "tiny-lib", "scipy>=1.11"]
    others = [
        entry(tmp_path / "pins", pins=["tiny-lib==1.1"]),
        entry(tmp_path / "requires", requires=["tiny-lib", "more"]),
    ]
    assert len({key_of(each) for each in (one, *others)}) == 3
    same = entry(tmp_path / "same", requires=["tiny-lib", "old; python_version < '3'"], description="other words")
    assert key_of(same) == key_of(one)


def test_clean_removes_environments(
    wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """But none that something runs on, and then not what pip has kept for them either."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    monkeypatch.setattr("ann_bench.sandbox.folders.abandoned", list)
    (made,) = install([entry(tmp_path / "one")], jobs=1, logs=tmp_path / "logs")
    assert made.environment is not None
    folder = made.environment.folder
    assert main(["clean", "--dry-run"]) == 0
    assert f"would remove environment {folder}" in capsys.readouterr().out
    runs = subprocess.Popen([str(made.environment.python), "-c", "import time; time.sleep(60)"])
    try:
        assert main(["clean"]) == 0
        assert f"left environment {folder}: process {runs.pid} runs on it" in capsys.readouterr().out
        assert folder.is_dir()
    finally:
        runs.kill()
        runs.wait()
    assert main(["clean", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["environments"] == [str(folder)]
    assert folders() == []


def test_a_base_image_is_no_matter_of_environments(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", "--sandbox", "process", "--make-base"]) == 2
    assert "--make-base makes an image" in capsys.readouterr().err
