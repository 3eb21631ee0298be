"""The process sandbox by itself: limits, readings, the end of everything."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ann_bench.entries.discovery import entry_at
from ann_bench.errors import UsageError
from ann_bench.sandbox import WorkerSpec, find_sandbox
from ann_bench.sandbox.machine import MEMORY_STEP
from ann_bench.wire import WireClosed
from ann_bench.workload import Limits
from tests.support import temporary_folders, write_entry

LIMITS = Limits(cpus=1, memory_bytes=2**30)
CPUS = [min(os.sched_getaffinity(0))]


@pytest.fixture
def session(tmp_path: Path):
    opened = find_sandbox("process").open(
        WorkerSpec(entry_at(write_entry(tmp_path / "mine"), "filtered"), LIMITS, CPUS)
    )
    yield opened


def test_limits_are_cut_to_the_machine() -> None:
    fitted = find_sandbox("process").fit(Limits(cpus=10_000, memory_bytes=2**60))
    assert fitted.cpus == len(os.sched_getaffinity(0))
    assert fitted.memory_bytes < 2**50
    assert fitted.memory_bytes % MEMORY_STEP == 0
    assert find_sandbox("process").fit(LIMITS) == LIMITS


def test_there_is_no_other_sandbox_yet() -> None:
    with pytest.raises(UsageError, match="did you mean 'process'"):
        find_sandbox("proces")


def test_the_worker_calls_and_quits(session) -> None:
    assert session.channel.receive(60)["type"] == "hello"
    reading = session.reading()
    assert reading.memory_bytes > 10 * 2**20
    assert reading.cpu_seconds > 0
    assert reading.processes == 1
    session.channel.send({"type": "quit", "seq": 1})
    end = session.close()
    assert (end.code, end.signal, end.killed, end.out_of_memory, end.left_behind) == (0, None, False, False, 0)
    assert end.reading.peak_memory_bytes >= reading.memory_bytes
    assert not session.questions.exists()


def test_killing_is_quick(session) -> None:
    session.channel.receive(60)
    start = time.monotonic()
    session.kill()
    end = session.close(60)
    assert time.monotonic() - start < 10
    assert (end.signal, end.killed) == (9, True)


def test_a_worker_whose_judge_hangs_up_ends(session) -> None:
    session.channel.receive(60)
    end = session.close(30)
    assert (end.code, end.killed) == (0, False)


def test_closing_a_worker_that_does_not_end_kills_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ann_bench.sandbox.process._BOOT", "import time; time.sleep(600)")
    start = time.monotonic()
    end = (
        find_sandbox("process")
        .open(WorkerSpec(entry_at(write_entry(tmp_path / "mine"), "filtered"), LIMITS, CPUS))
        .close(0.1)
    )
    assert (end.killed, end.signal) == (True, 9)
    assert time.monotonic() - start < 30


def test_a_worker_that_cannot_start_is_gone_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ann_bench.sandbox.process._BOOT", "print('no'); raise SystemExit(7)")
    session = find_sandbox("process").open(
        WorkerSpec(entry_at(write_entry(tmp_path / "mine"), "filtered"), LIMITS, CPUS)
    )
    with pytest.raises(WireClosed):
        session.channel.receive(60)
    end = session.close()
    assert end.code == 7
    assert end.log == "no\n"


def test_the_log_keeps_its_start_and_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "print('first'); [print('x' * 99) for _ in range(50_000)]; print('last')"
    monkeypatch.setattr("ann_bench.sandbox.process._BOOT", script)
    end = (
        find_sandbox("process")
        .open(WorkerSpec(entry_at(write_entry(tmp_path / "mine"), "filtered"), LIMITS, CPUS))
        .close(30)
    )
    assert end.log.startswith("first\n")
    assert end.log.endswith("last\n")
    assert "bytes left out" in end.log
    assert len(end.log) < 80_000


def test_a_judge_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    folder = write_entry(tmp_path / "mine")
    script = f"""
import time
from pathlib import Path
from ann_bench.entries.discovery import entry_at
from ann_bench.sandbox import WorkerSpec, find_sandbox
from ann_bench.workload import Limits
session = find_sandbox("process").open(WorkerSpec(entry_at(Path({str(folder)!r}), "filtered"), Limits(1, 2**30), [0]))
session.channel.receive(60)
print(session.questions, flush=True)
time.sleep(600)
"""
    judge = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert judge.stdout is not None
    exchange = judge.stdout.readline().strip()
    assert Path(exchange).is_dir()
    assert len(temporary_folders(judge.pid)) == 2
    judge.kill()
    judge.communicate()
    until = time.monotonic() + 10
    while temporary_folders(judge.pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not temporary_folders(judge.pid)


def test_a_keeper_that_is_killed_takes_the_worker_with_it(session) -> None:
    session.channel.receive(60)
    session._keeper.kill()
    with pytest.raises(WireClosed):
        session.channel.receive(10)
    end = session.close()
    assert end.signal == 9
    assert not session.questions.exists()
