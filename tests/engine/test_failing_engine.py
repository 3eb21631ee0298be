"""An engine that fails during a build: a second one on a small RAM disk, which may become full, and may be ended."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ann_bench.engine.base import local_base
from ann_bench.engine.client import DISK_FULL, connect
from ann_bench.engine.labels import Namespace
from ann_bench.errors import EngineError
from tests.engine.conftest import Corner, entry

pytestmark = [pytest.mark.docker, pytest.mark.slow]

#: Room for the base and the common image, and not for much more.
SIZE_MB = 900


@pytest.fixture
def second(
    engine: Any, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Corner, subprocess.Popen[bytes]]]:
    """An engine of its own with a small disk, which has the base image."""
    if os.getuid() != 0 or not shutil.which("dockerd"):
        pytest.skip("needs root and dockerd, to start an engine with a small disk")
    folder = tmp_path_factory.mktemp("e")
    disk = folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "none", str(disk)], check=False)
    if mounted.returncode:
        pytest.skip("no RAM disk can be mounted here")
    daemon = None
    try:
        places = [f"--data-root={disk}", f"--exec-root={folder}/x", f"--pidfile={folder}/pid", f"-Hunix://{folder}/s"]
        with (folder / "log").open("wb") as log:
            daemon = subprocess.Popen(
                ["dockerd", "--iptables=false", "--bridge=none", *places], stdout=log, stderr=subprocess.STDOUT
            )
        base = local_base(engine, engine.api.images())
        assert base is not None
        monkeypatch.setenv("DOCKER_HOST", f"unix://{folder}/s")
        client = _when_ready()
        client.images.load(engine.images.get(base.id).save())
        monkeypatch.setenv("ANN_BENCH_BASE_IMAGE", base.id)
        yield Corner(client, Namespace("ann-bench-test"), folder / "logs"), daemon
        client.close()
    finally:
        if daemon is not None:
            daemon.terminate()
            daemon.wait(timeout=60)
        for place in (folder / "x" / "netns" / "default", disk):
            for _ in range(50):
                if subprocess.run(["umount", str(place)], check=False, capture_output=True).returncode == 0:
                    break
                if not place.is_mount():
                    break
                time.sleep(0.2)
        assert str(folder) not in Path("/proc/self/mounts").read_text(encoding="utf-8")


@pytest.fixture
def small(second: tuple[Corner, Any]) -> Corner:
    return second[0]


def _when_ready() -> Any:
    for _ in range(300):
        try:
            return connect()
        except EngineError:
            time.sleep(0.1)
    raise AssertionError("the second engine did not start")


def test_a_full_disk_during_a_build(small: Corner, tmp_path: Path) -> None:
    """One line that says what to do; what was written is gone, so that the next build has room."""
    fills = "ARG ANN_BENCH_COMMON\nFROM ${ANN_BENCH_COMMON}\nRUN head -c 100M /dev/urandom > /a\n"
    bad = entry(tmp_path / "fills", dockerfile=f"{fills}RUN head -c 2G /dev/zero > /b\n")
    good = entry(tmp_path / "fits")
    assert small.build(good) == {}
    before = small.listed()
    free = _free(small)
    failures = small.build(bad)
    assert failures == {"fills": f"{DISK_FULL}; log: {small.logs}/filtered-fills.log"}
    assert small.listed() == before
    assert _free(small) > free - 20e6

    (good.folder / "wrapper.py").write_text("class Index: pass\n")
    assert small.build(good) == {}

    # Too full even to take what it is given.
    filler = small.logs.parent / "disk" / "filler"
    with filler.open("wb") as file:
        file.truncate()
        _fill(file)
    (good.folder / "wrapper.py").write_text("class Index: ...\n" * 100_000)
    assert DISK_FULL in small.build(good)["fits"]
    filler.unlink()
    assert small.build(good) == {}


def _fill(file: Any) -> None:
    block = bytes(1 << 16)
    try:
        while True:
            file.write(block)
            file.flush()
    except OSError:
        pass


def _free(corner: Corner) -> float:
    return float(shutil.disk_usage(corner.logs.parent / "disk").free)


# The SDK drops a socket that it could not connect, without closing it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_engine_that_ends_during_a_build(second: tuple[Corner, Any], tmp_path: Path) -> None:
    corner, daemon = second
    text = "ARG ANN_BENCH_COMMON\nFROM ${ANN_BENCH_COMMON}\nRUN echo now; sleep 600\n"
    one = entry(tmp_path / "orphan", dockerfile=text)
    log = corner.logs / "filtered-orphan.log"

    def end_it() -> None:
        while not (log.is_file() and "\nnow\n" in log.read_text()):
            time.sleep(0.1)
        daemon.terminate()

    thread = threading.Thread(target=end_it, daemon=True)
    thread.start()
    failures = corner.build(one)
    thread.join()
    (line,) = failures["orphan"].splitlines()
    assert "exit code" in line or "the container engine" in line
    assert line.endswith(f"log: {log}") or "the container engine" in line
    gc.collect()
