"""An index that one worker saves, and another loads in place of a build."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from ann_bench.entries.discovery import entry_at
from ann_bench.judge.driver import Driver
from ann_bench.judge.failure import EntryFailure
from ann_bench.results.model import Status
from ann_bench.sandbox import WorkerSpec, find_sandbox
from ann_bench.workload import Limits
from tests.support import write_entry

pytestmark = pytest.mark.usefixtures("nothing_left")

SAVES = """
def save(self, folder):
    np.save(folder / "base.npy", self.base)

def load(self, folder):
    self.base = np.load(folder / "base.npy")
    return True

def stats(self):
    return {"rows": len(self.base)}
"""
LIMITS = Limits(1, 2**29, 60.0, 60.0)


@pytest.fixture
def worker(tmp_path, monkeypatch):
    """Starts workers of an entry, each with its object made; all of them are ended."""
    drivers = []

    class Data:
        metric, dim, dtype = "euclidean", 4, "float32"

    def start(body):
        entry = entry_at(write_entry(tmp_path / f"entry-{len(drivers)}", body), "filtered")
        sandbox = find_sandbox("process")
        driver = Driver(sandbox.open(WorkerSpec(entry, LIMITS, sandbox.cpus()[:1])), Data(), LIMITS)
        drivers.append(driver)
        driver.start(entry, {})
        return driver

    yield start
    for driver in drivers:
        driver.close()


def test_what_one_worker_saves_another_loads(worker, tmp_path) -> None:
    one = worker(SAVES + "\ndef set_query_arguments(self):\n    self.base = np.ones((3, 4))\n")
    one.set_query_arguments({})
    folder = one.session.answers / "saved"
    folder.mkdir()
    assert one.save(str(folder)) is True
    other = worker(SAVES)
    shutil.copytree(folder, other.session.questions / "saved")
    assert other.load(str(other.session.questions / "saved")) is True
    assert other.stats() == {"rows": 3}
    assert np.load(folder / "base.npy").shape == (3, 4)


def test_an_entry_that_cannot(worker) -> None:
    driver = worker("")
    folder = driver.session.answers / "saved"
    folder.mkdir()
    assert driver.save(str(folder)) is False
    assert driver.load(str(folder)) is False
    assert list(folder.iterdir()) == []


def test_an_entry_that_fails_to(worker) -> None:
    driver = worker("def save(self, folder):\n    raise OSError('no room')")
    folder = driver.session.answers / "saved"
    folder.mkdir()
    with pytest.raises(EntryFailure, match=r"save\(\): OSError: no room") as caught:
        driver.save(str(folder))
    assert caught.value.status is Status.CRASHED
    assert not caught.value.over
