"""A bench in a folder of its own, and a look at what a run leaves behind."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ann_bench.sandbox.folders import PREFIX
from tests.support import Bench, bench, processes_with, temporary_folders


@pytest.fixture(params=["process", pytest.param("docker", marks=pytest.mark.docker)])
def sandbox(request: pytest.FixtureRequest) -> str:
    """Every kind of sandbox in turn."""
    if request.param == "docker":
        request.getfixturevalue("engine")
    return str(request.param)


@pytest.fixture
def nothing_left(tmp_path: Path):
    """No temporary folder and no process outlives a run."""
    yield
    assert not temporary_folders()
    ours = f"{PREFIX}{os.getpid()}-"  # a worker has the path of its socket on its command line
    for _ in range(20):
        left = processes_with(str(tmp_path)) + processes_with(ours)
        if not left:
            return
        time.sleep(0.05)
    pytest.fail(f"left behind: {left}")


@pytest.fixture
def place(tmp_path: Path) -> Bench:
    return bench(tmp_path)
