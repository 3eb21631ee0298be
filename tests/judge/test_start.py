"""How long an entry may take until its object is there."""

from __future__ import annotations

import pytest

from ann_bench.entries.discovery import entry_at
from ann_bench.errors import AnnBenchError
from ann_bench.judge.driver import Driver
from ann_bench.judge.failure import EntryFailure
from ann_bench.results.model import Status
from ann_bench.sandbox import WorkerSpec, find_sandbox
from ann_bench.workload import Limits
from tests.support import write_entry

pytestmark = pytest.mark.usefixtures("nothing_left")

COMPILES = """
def __init__(self, *common, **build):
    import time
    time.sleep(1.5)
    super().__init__(*common, **build)
"""
LIMITS = Limits(1, 2**29, 60.0, 60.0)


class Data:
    metric, dim, dtype = "euclidean", 4, "float32"


@pytest.mark.parametrize("asked", [None, 60])
def test_the_constructor_has_the_time_that_the_entry_asks_for(asked, tmp_path, monkeypatch) -> None:
    entry = entry_at(write_entry(tmp_path / "entry", COMPILES, start_seconds=asked), "filtered")
    sandbox = find_sandbox("process")
    driver = Driver(sandbox.open(WorkerSpec(entry, LIMITS, sandbox.cpus()[:1])), Data(), LIMITS)
    try:
        driver.greet()
        monkeypatch.setattr("ann_bench.judge.driver.START_SECONDS", 0.5)
        if asked:
            assert driver.create(entry, {}).seconds >= 1.5
        else:
            with pytest.raises(EntryFailure, match="its import and constructor") as caught:
                driver.create(entry, {})
            assert caught.value.status is Status.TIMEOUT
    finally:
        driver.close()


@pytest.mark.parametrize("seconds", [0, 601, 1.5, "long"])
def test_what_may_be_asked_for(seconds, tmp_path) -> None:
    with pytest.raises(AnnBenchError, match="start_seconds"):
        entry_at(write_entry(tmp_path / "entry", start_seconds=seconds), "filtered")
