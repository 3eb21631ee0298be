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
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from ann_bench.errors import StorageError
from ann_bench.sandbox import keeper
from ann_bench.sandbox.base import Exit, Reading, WorkerSpec
from ann_bench.wire import Channel, WireClosed, WireTimeout
from ann_bench.workload import Limits

START_SECONDS = 120.0

#: Temporary folders are called this, then the process id of the judge, then something random.
PREFIX = "ann-bench-"

#: A machine's memory is rounded down to this: it differs by a few pages from one boot to the next, and a limit
#: that moves would make every result of yesterday another configuration.
MEMORY_STEP = 256 * 1024**2

_THREADS = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "NUMBA", "VECLIB_MAXIMUM", "RAYON")
_KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")


class ProcessSandbox:
    """Runs workers as ordinary processes."""

    name = "process"

    def fit(self, limits: Limits) -> Limits:
        """These limits, cut to the CPUs and the memory that this process may use."""
        return limits.but(cpus=min(limits.cpus, len(_cpus())), memory_bytes=min(limits.memory_bytes, _memory()))

    def open(self, spec: WorkerSpec) -> ProcessSession:
        """Start a worker."""
        return ProcessSession(spec)


class ProcessSession:
    """One worker and its keeper."""

    def __init__(self, spec: WorkerSpec) -> None:
        ram = Path("/dev/shm")  # noqa: S108  a folder of our own is made in it
        _sweep((ram, Path(tempfile.gettempdir())))
        self._scratch = _folder(None)
        try:
            self._exchange = _folder(ram if os.access(ram, os.W_OK) else None)
        except StorageError:
            shutil.rmtree(self._scratch, ignore_errors=True)
            raise
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        address = self._exchange / "wire"
        self._listener.bind(str(address))
        self._listener.listen(1)
        self._channel: Channel | None = None
        self._connection: socket.socket | None = None
        self._ended = False
        self._pending = b""
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", keeper.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        order = {
            "argv": [sys.executable, "-c", _BOOT, str(_root()), str(address)],
            "cpus": _cpus()[: spec.limits.cpus],
            "memory_bytes": spec.limits.memory_bytes,
            "environment": _environment(self._scratch, spec.limits.cpus),
            "cwd": str(self._scratch),
            "remove": [str(self._scratch), str(self._exchange)],
        }
        self._tell(json.dumps(order))

    @property
    def exchange(self) -> Path:
        """The shared folder."""
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

    def reading(self) -> Reading:
        """What has been used so far, as the keeper sees it."""
        self._tell("reading")
        reading = self._hear("reading")
        del reading["event"]
        return Reading(**reading)

    def log(self) -> str:
        """What has been printed so far."""
        self._tell("log")
        return str(self._hear("log")["log"])

    def kill(self) -> None:
        """End the whole tree."""
        self._tell("kill")

    def close(self, grace: float = 2.0) -> Exit:
        """Wait, kill what is left, remove the folders."""
        if self._channel is not None:
            self._channel.close()
        self._listener.close()
        self._tell(f"close {grace}")
        try:
            end = self._hear("closed")
            del end["event"]
            return Exit(**{**end, "reading": Reading(**end["reading"])})
        finally:
            for pipe in (self._keeper.stdin, self._keeper.stdout):
                if pipe is not None:
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()
            self._keeper.wait()
            for folder in (self._exchange, self._scratch):
                shutil.rmtree(folder, ignore_errors=True)

    def _accept(self) -> Channel:
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

    def _hear(self, what: str) -> dict[str, Any]:
        """The keeper's next `reading`, `log` or `closed`; remembers an `exit` that comes before it."""
        until = time.monotonic() + START_SECONDS
        while True:
            while b"\n" not in self._pending:
                ready, _, _ = select.select([self._output()], [], [], max(0.0, until - time.monotonic()))
                data = os.read(self._output().fileno(), 65536) if ready else b""
                if not data:
                    return _lost(what)
                self._pending += data
            line, _, self._pending = self._pending.partition(b"\n")
            message: dict[str, Any] = json.loads(line)
            if message["event"] == what:
                return message
            if message.get("event") == "exit" and self._connection is not None and not self._ended:
                self._ended = True
                with contextlib.suppress(OSError):
                    self._connection.shutdown(socket.SHUT_RDWR)


def _lost(what: str) -> dict[str, Any]:
    """What to report when the keeper itself was killed, by a hand or by the kernel."""
    reading = {
        "cpu_seconds": 0.0,
        "memory_bytes": 0,
        "peak_memory_bytes": 0,
        "peak_anonymous_bytes": 0,
        "processes": 0,
    }
    if what == "reading":
        return {"event": "reading", **reading}
    return {
        "event": "closed",
        "code": None,
        "signal": int(signal.SIGKILL),
        "out_of_memory": False,
        "killed": False,
        "left_behind": 0,
        "log": "the keeper of the process sandbox was killed",
        "reading": reading,
    }


_BOOT = (
    "import sys; root, address = sys.argv[1:]; sys.argv = ['ann-bench-worker']; sys.path.append(root); "
    "from ann_bench.worker import main; main(address)"
)


def _root() -> Path:
    return Path(__file__).resolve().parents[2]


def _folder(parent: Path | None) -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent))
    except OSError as error:
        where = parent or tempfile.gettempdir()
        raise StorageError(f"{where}: no temporary folder can be made ({error.strerror}); free some space") from error


def _sweep(parents: Sequence[Path]) -> None:
    """Remove folders whose judge is gone: somebody killed it and its keeper at once."""
    for folder in (folder for parent in parents for folder in parent.glob(f"{PREFIX}*")):
        number = folder.name.removeprefix(PREFIX).partition("-")[0]
        if number.isdigit() and not psutil.pid_exists(int(number)):
            shutil.rmtree(folder, ignore_errors=True)


def _cpus() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _memory() -> int:
    """Bytes of memory of this machine, or of the container that this process is in."""
    total = int(psutil.virtual_memory().total)
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            total = min(total, int(Path(name).read_text(encoding="ascii")))
    return total // MEMORY_STEP * MEMORY_STEP


def _environment(scratch: Path, threads: int) -> dict[str, str]:
    """A small, known environment: nothing of the judge's leaks into a measurement."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    bounds = {f"{name}_NUM_THREADS": str(threads) for name in _THREADS if name != "VECLIB_MAXIMUM"}
    return {
        **kept,
        **bounds,
        "VECLIB_MAXIMUM_THREADS": str(threads),
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "PYTHONUSERBASE": site.getuserbase(),
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
