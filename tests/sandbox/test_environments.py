"""The process sandbox runs an entry on an environment of its own where this Python does not meet what it requires."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ann_bench.cli import main
from ann_bench.entries.discovery import entry_at
from ann_bench.environments.make import install
from ann_bench.environments.place import find
from ann_bench.errors import StorageError
from ann_bench.results.model import Status
from ann_bench.sandbox import WorkerSpec, find_sandbox
from ann_bench.workload import Limits
from tests.environments.index import wheel
from tests.support import Bench, bench, write_entry

#: The oldest versions that the worker is written for, as far as there are wheels for this Python.
OLDEST = ["numpy==1.25.0", "scipy==1.11.1"] if sys.version_info < (3, 12) else ["numpy==1.26.0", "scipy==1.11.2"]
START = "import tiny_lib, numpy, scipy\n"
BODY = """
def stats(self):
    return {"tiny": tiny_lib.VERSION, "numpy": numpy.__version__, "scipy": scipy.__version__}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """An entry that needs what this Python lacks, and the cache that has its environment: real numpy and scipy."""
    place = tmp_path_factory.mktemp("environments")
    folder = write_entry(
        place / "mine", BODY, start=START, requires=["tiny-lib"], pins=["tiny-lib==1.0", *OLDEST], tracks=["filtered"]
    )
    wheel(place / "wheels", "tiny-lib", "1.0")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANN_BENCH_CACHE", str(place / "cache"))
        patch.setenv("PIP_FIND_LINKS", str(place / "wheels"))
        (outcome,) = install([entry_at(folder, "filtered")], jobs=1, logs=place / "logs")
        assert outcome.failure is None
    yield folder, place / "cache"
    shutil.rmtree(place / "cache")


@pytest.fixture
def place(made: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("ANN_BENCH_CACHE", str(made[1]))
    return bench(tmp_path)


def test_it_runs_with_its_own_packages(made: tuple[Path, Path], place: Bench) -> None:
    """The worker too runs on them: it is what reads the rows and hands over the answers."""
    assert place.run(made[0], "--sandbox", "process") == 0
    bundle = place.bundle()
    assert bundle.outcome.status is Status.OK
    versions = dict(pin.split("==") for pin in OLDEST)
    packages = bundle.identity["packages"]
    assert {name: packages[name] for name in ("tiny-lib", *versions)} == {"tiny-lib": "1.0", **versions}
    environment = find(entry_at(made[0], "filtered"))
    assert environment is not None
    assert bundle.provenance["environment"]["environment"] == environment.key
    assert bundle.provenance["environment"]["packages"].keys() == {"tiny-lib", "numpy", "scipy"}


def test_nothing_beside_the_project_is_lent_to_it(made: tuple[Path, Path], place: Bench) -> None:
    """What lies beside this project, or is installed here, is not there for an environment's Python."""
    start = START + "import importlib.util\nfor name in ('pydantic', 'tests', 'benchmarks'):\n"
    start += "    assert importlib.util.find_spec(name) is None, name\n"
    folder = write_entry(place.folder / "alone", start=start, requires=["tiny-lib"], pins=["tiny-lib==1.0", *OLDEST])
    assert place.run(folder, "--sandbox", "process") == 0


def test_without_it_the_command_that_makes_it(
    made: tuple[Path, Path], place: Bench, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANN_BENCH_CACHE", str(own_cache))
    entry = entry_at(made[0], "filtered")
    sandbox = find_sandbox("process")
    command = f"ann-bench install --sandbox process --track filtered --entry {made[0]}"
    assert sandbox.environment(entry).missing == f"tiny-lib is not installed; try: {command}"
    with pytest.raises(StorageError, match="its environment with tiny-lib is gone; try: ann-bench install"):
        sandbox.open(WorkerSpec(entry, Limits(cpus=1, memory_bytes=2**30), [0]))


def test_a_program_finds_the_python_of_the_environment(made: tuple[Path, Path], place: Bench) -> None:
    """`python` on the PATH of an entry's program is the one that has what it requires."""
    environment = find(entry_at(made[0], "filtered"))
    assert environment is not None
    program = "import os, sys, tiny_lib; sys.exit(f'{tiny_lib.VERSION} on {os.path.dirname(sys.executable)}')\n"
    folder = write_entry(
        place.folder / "program",
        requires=["tiny-lib"],
        pins=["tiny-lib==1.0", *OLDEST],
        command=["python", "server.py"],
        **{"class": None},
    )
    (folder / "server.py").write_text(program, encoding="utf-8")
    assert place.run(folder, "--sandbox", "process") == 1
    assert f"1.0 on {environment.python.parent}" in place.bundle().outcome.log


def test_where_this_python_will_do_no_environment_is_asked_for(place: Bench) -> None:
    folder = write_entry(place.folder / "plain", requires=["numpy"])
    assert find_sandbox("process").environment(entry_at(folder, "filtered")).details == {}
    assert main(["install", "--sandbox", "process", "--track", "filtered", "--entry", str(folder)]) == 0
