"""The process sandbox: a worker as a process tree of this machine, watched by a keeper.

The embedded default where there is no container engine. It bounds CPUs, memory and time, and no process of the
entry outlives it; it does not hide files or the network, so its results say `sandbox: process`.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import site
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from ann_bench.entries.entry import Entry, installed, installed_here, missing, required
from ann_bench.environments.place import find
from ann_bench.errors import StorageError
from ann_bench.progress import Progress
from ann_bench.sandbox import machine
from ann_bench.sandbox.base import Environment, Exit, InForce, Reading, SandboxLost, WorkerSpec
from ann_bench.sandbox.environment import worker_environment
from ann_bench.sandbox.folders import ram_folder, scratch_folder
from ann_bench.sandbox.program import program_lacks, search_path
from ann_bench.sandbox.remedy import how_to_make
from ann_bench.wire import Channel, WireClosed, WireTimeout
from ann_bench.workload import Limits

START_SECONDS = 120.0

#: The keeper answers at once; a machine that is busy beyond measure may need this long.
ANSWER_SECONDS = 20.0
STRAY_SECONDS = 5.0

#: What the worker itself needs.
_WORKER = ("numpy", "scipy")
_KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")


class ProcessSandbox:
    """Runs workers as ordinary processes."""

    name = "process"
    makes = False

    def cpus(self) -> list[int]:
        """Those that this process may use."""
        return machine.cpus()

    def fit(self, limits: Limits) -> Limits:
        """These limits, cut to the CPUs and the memory that this process may use."""
        cpus, memory = min(limits.cpus, len(self.cpus())), min(limits.memory_bytes, machine.memory())
        return limits.but(cpus=cpus, memory_bytes=memory)

    def prepare(self, entries: Sequence[Entry], logs: Path, progress: Progress) -> None:
        """Nothing is made: an entry runs on what is installed, here or in an environment of its own."""

    def environment(self, entry: Entry) -> Environment:
        """The packages of this Python where it meets what the entry requires, else of the entry's own environment."""
        needs = missing(entry)
        if not needs:
            return Environment({**installed(entry), **installed_here(*_WORKER)}, missing=program_lacks(entry))
        own = find(entry)
        if own is None:
            lacks = f"{', '.join(needs)} is not installed; try: {how_to_make([entry], self.name)}"
            return Environment({**installed(entry), **installed_here(*_WORKER)}, missing=lacks)
        details = {"environment": own.key, "packages": own.packages()}
        packages = own.versions([*required(entry), *_WORKER])
        return Environment(packages, details=details, missing=program_lacks(entry, own.python))

    def open(self, spec: WorkerSpec) -> ProcessSession:
        """Start a worker."""
        if not (needs := missing(spec.entry)):
            return ProcessSession(spec)
        own = find(spec.entry)
        if own is None:
            again = how_to_make([spec.entry], self.name)
            raise StorageError(f"{spec.entry.name}: its environment with {', '.join(needs)} is gone; try: {again}")
        return ProcessSession(spec, own.python)


class ProcessSession:
    """One worker and its keeper; the worker runs on this Python, or on the one of an environment."""

    def __init__(self, spec: WorkerSpec, python: Path | None = None) -> None:
        self._python = python
        self._scratch = scratch_folder()
        try:
            self._exchange = ram_folder()
        except StorageError:
            shutil.rmtree(self._scratch, ignore_errors=True)
            raise
        self._channel: Channel | None = None
        self._connection: socket.socket | None = None
        self._messages: list[dict[str, Any]] = []
        self._pending = b""
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._code = _root() if python is None else _link_to_code(self._exchange)
            self._listener.bind(str(self._exchange / "wire"))
            self._listener.listen(1)
            self._keeper = subprocess.Popen(
                [sys.executable, "-I", "-c", _KEEP, str(_root())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            self._remove()
            raise StorageError(
                f"{self._exchange}: no worker can be started there ({error.strerror or error})"
            ) from error
        self._tell(json.dumps(self._order(spec)))
        try:
            self._worker = int(self._hear("started")["pid"])
        except SandboxLost:
            self._keeper.kill()
            self._shut()
            raise StorageError("the keeper of the process sandbox does not start; is this Python whole?") from None
        self._in_force = InForce(
            _pinned(self._worker, spec.limits.cpus), spec.limits.memory_bytes, details={"by": "keeper"}
        )

    def _order(self, spec: WorkerSpec) -> dict[str, Any]:
        """What the keeper is to do."""
        program, folder, wire = spec.entry.config.command, str(spec.entry.folder), str(self._exchange / "wire")
        return {
            "argv": program or [str(self._python or sys.executable), "-c", _BOOT, str(self._code), wire],
            "cpus": list(spec.cpus),
            "memory_bytes": spec.limits.memory_bytes,
            "environment": {**_kept(self._python), **worker_environment(str(self._scratch), spec.limits.cpus, wire)},
            "cwd": folder if program else str(self._scratch),
            "remove": [str(self._scratch), str(self._exchange)],
        }

    @property
    def questions(self) -> Path:
        """The shared folder."""
        return self._exchange

    @property
    def answers(self) -> Path:
        """The shared folder too: a process could reach the one as well as the other."""
        return self._exchange

    @property
    def channel(self) -> Channel:
        """The wire; the first use waits for the worker to call."""
        if self._channel is None:
            self._channel = self._accept()
        return self._channel

    def inside(self, path: str) -> str:
        """The same path: nothing is mounted elsewhere."""
        return path

    def in_force(self) -> InForce:
        """The CPUs that the worker was pinned to when it started, and what the keeper ends it for."""
        return self._in_force

    def reading(self) -> Reading:
        """What has been used so far, as the keeper sees it."""
        self._tell("reading")
        reading = self._hear("reading")
        return Reading(**{name: value for name, value in reading.items() if name != "event"})

    def processes(self) -> list[int]:
        """The children of the keeper, which adopts orphans, and theirs."""
        try:
            return [child.pid for child in psutil.Process(self._keeper.pid).children(recursive=True)]
        except psutil.Error:
            return []

    def log(self) -> str:
        """What has been printed so far."""
        self._tell("log")
        return str(self._hear("log")["log"])

    def pause(self) -> None:
        """Stop the whole tree; it is stopped when this returns."""
        self._tell("pause")
        with contextlib.suppress(SandboxLost):
            self._hear("paused")

    def resume(self) -> None:
        """Let the whole tree go on."""
        self._tell("resume")

    def kill(self) -> None:
        """End the whole tree."""
        self._tell("kill")

    def close(self, grace: float = 2.0) -> Exit:
        """Wait, kill what is left, remove the folders; where the keeper is silent, do its work."""
        if self._channel is not None:
            self._channel.close()
        self._tell(f"close {grace}")
        try:
            end = self._hear("closed", grace + ANSWER_SECONDS)
        except SandboxLost:
            self._keeper.kill()
            _end_strays(self._worker, self._scratch)
            return _LOST
        finally:
            self._shut()
        del end["event"]
        return Exit(**{**end, "reading": Reading(**end["reading"])})

    def _shut(self) -> None:
        """Close every pipe and socket, and remove the folders."""
        for pipe in (self._keeper.stdin, self._keeper.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self._keeper.wait()
        self._remove()

    def _remove(self) -> None:
        self._listener.close()
        for folder in (self._exchange, self._scratch):
            shutil.rmtree(folder, ignore_errors=True)

    def _accept(self) -> Channel:
        if any(message["event"] == "exit" for message in self._messages):
            raise WireClosed("the process ended before it called")
        wake = self._output().fileno()
        ready, _, _ = select.select([self._listener, wake], [], [], START_SECONDS)
        if self._listener not in ready:
            raise WireClosed("the process ended before it called") if ready else WireTimeout
        self._connection, _ = self._listener.accept()
        return Channel(self._connection, wake)

    def _output(self) -> Any:
        return self._keeper.stdout

    def _tell(self, line: str) -> None:
        pipe = self._keeper.stdin
        if pipe is None or pipe.closed:
            return
        with contextlib.suppress(BrokenPipeError):
            pipe.write(line.encode() + b"\n")
            pipe.flush()

    def _hear(self, what: str, seconds: float | None = None) -> dict[str, Any]:
        """The keeper's next message of this kind; SandboxLost where it does not come in time."""
        until = time.monotonic() + (ANSWER_SECONDS if seconds is None else seconds)
        while True:
            for message in self._messages:
                if message["event"] == what:
                    self._messages.remove(message)
                    return message
            ready, _, _ = select.select([self._output()], [], [], max(0.0, until - time.monotonic()))
            data = os.read(self._output().fileno(), 65536) if ready else b""
            if not data:
                raise SandboxLost
            *lines, self._pending = (self._pending + data).split(b"\n")
            for message in map(json.loads, lines):
                self._messages.append(message)
                if message["event"] == "exit" and self._connection is not None:
                    # a child of the worker may hold the socket open: whoever reads from it is to see its end
                    with contextlib.suppress(OSError):
                        self._connection.shutdown(socket.SHUT_RDWR)


#: How it ends where the keeper was silenced: nothing is known of it.
_LOST = Exit(
    code=None,
    signal=int(signal.SIGKILL),
    out_of_memory=False,
    killed=True,
    left_behind=0,
    log="the keeper of the process sandbox was silenced or ended",
    reading=Reading(0.0, 0, 0, 0, 0),
)


def _end_strays(worker: int, scratch: Path) -> None:
    """End what a keeper that is gone has left: the worker's session, and whatever has its scratch folder as home."""
    until = time.monotonic() + STRAY_SECONDS
    while time.monotonic() < until:
        strays = [process for process in psutil.process_iter() if _is_stray(process, worker, scratch)]
        if not strays:
            return
        for process in strays:
            with contextlib.suppress(psutil.Error):
                process.kill()
        time.sleep(0.02)


def _is_stray(process: psutil.Process, worker: int, scratch: Path) -> bool:
    try:
        if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
            return False
        return os.getsid(process.pid) == worker or process.environ().get("HOME") == str(scratch)
    except (psutil.Error, OSError):
        return False


_KEEP = "import sys; sys.path.append(sys.argv[1]); from ann_bench.keeper import main; main()"
_BOOT = (
    "import sys; root, address = sys.argv[1:]; sys.argv = ['ann-bench-worker']; sys.path.append(root); "
    "from ann_bench.worker import main; main(address)"
)


def _pinned(pid: int, wanted: int) -> int:
    """The number of CPUs that a process may use, where this system says so; what was wanted, where it has ended."""
    with contextlib.suppress(OSError, AttributeError):
        return len(os.sched_getaffinity(pid))
    return wanted


def _root() -> Path:
    return Path(__file__).resolve().parents[2]


def _link_to_code(folder: Path) -> Path:
    """A folder with this project and nothing else: what lies beside it here is not for an environment's Python."""
    code = folder / "code"
    code.mkdir()
    (code / "ann_bench").symlink_to(_root() / "ann_bench")
    return code


def _kept(python: Path | None) -> dict[str, str]:
    """What a worker of this machine needs beside what every worker gets: where programs and packages are."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "PATH": search_path(python), "PYTHONUSERBASE": site.getuserbase()}
