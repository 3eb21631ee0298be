"""The keeper's loop."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import time
from typing import Any

from ann_bench.keeper.log import Log
from ann_bench.keeper.tree import LEAST_PAUSE, LINUX, Tree, descendants

ORPHAN_GRACE_SECONDS = 0.3
END_SECONDS = 5.0
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FILES = resource.getrlimit(resource.RLIMIT_NOFILE)
PR_SET_PDEATHSIG = 1

#: The id of a worker that was never started, and its exit code, which is that of a shell.
NOBODY, NOT_EXECUTED = -1, 126


class Keeper:
    """The loop."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec
        self.tree = Tree(spec["memory_bytes"])
        self.status: int | None = None
        self.peak_of_worker = 0
        self.out_of_memory = False
        self.killed = False
        self.left_behind = 0
        self.deadline: float | None = None
        self.commands = b""
        read_end, write_end = os.pipe()
        self.log = Log(read_end)
        self.ended = wake_at_the_end_of_children()
        try:
            self.worker = start(spec, write_end)
        except OSError as error:  # what a shell would say of a program that it cannot execute
            os.write(write_end, f"{spec['argv'][0]}: cannot be executed ({error.strerror})\n".encode())
            self.worker, self.status = NOBODY, NOT_EXECUTED << 8
        os.close(write_end)
        say({"event": "started", "pid": self.worker})
        if self.status is not None:
            say({"event": "exit"})

    def run(self) -> None:
        """Watch until told to close, or until the judge is gone."""
        log_open = True
        while True:
            watched = [0, self.ended, self.log.fd] if log_open else [0, self.ended]
            pause = self.tree.pause() if self.deadline is None else LEAST_PAUSE
            ready, _, _ = select.select(watched, [], [], pause)
            if self.ended in ready:
                os.read(self.ended, 4096)
            if self.log.fd in ready:
                log_open = self.log.drain()
            if 0 in ready and not self.obey():
                return
            self.reap()
            if self.status is None and self.tree.sample() > self.spec["memory_bytes"]:
                self.out_of_memory = True
                self.end_tree()
            if self.deadline is not None and (self.status is not None or time.monotonic() > self.deadline):
                return

    def obey(self) -> bool:
        """Carry out what the judge says; False when it is gone."""
        data = os.read(0, 4096)
        if not data:
            return False
        *lines, self.commands = (self.commands + data).split(b"\n")
        for line in lines:
            word, _, argument = line.decode().partition(" ")
            if word == "reading":
                self.reap()
                say({"event": "reading", **self.tree.reading()})
            elif word == "log":
                self.log.drain(1024)
                say({"event": "log", "log": self.log.text()})
            elif word == "pause":
                self.stop_tree()
                say({"event": "paused"})
            elif word == "resume":
                signal_all(descendants(), signal.SIGCONT)
            elif word == "kill":
                self.killed = self.killed or self.status is None
                self.end_tree()
            elif word == "close":
                self.deadline = time.monotonic() + float(argument)
        return True

    def reap(self) -> None:
        """Wait for every child that has ended, the worker and adopted orphans alike."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.tree.reaped_cpu += usage.ru_utime + usage.ru_stime
            if pid == self.worker:
                self.status = status
                self.peak_of_worker = usage.ru_maxrss * (1024 if LINUX else 1)
                say({"event": "exit"})

    def count_left_behind(self) -> int:
        """Processes that outlive the worker by more than a moment (helpers of Python's own end within it)."""
        until = time.monotonic() + ORPHAN_GRACE_SECONDS
        while descendants() and time.monotonic() < until:
            time.sleep(0.01)
            self.reap()
        return len(descendants())

    def stop_tree(self) -> None:
        """Stop every process, again until there are no new ones."""
        until = time.monotonic() + END_SECONDS
        stopped: list[int] = []
        while (pids := descendants()) != stopped and time.monotonic() < until:
            signal_all(pids, signal.SIGSTOP)
            stopped = pids

    def end_tree(self) -> None:
        """Stop everything first, so that nothing can fork while it is being ended, then end it."""
        until = time.monotonic() + END_SECONDS
        self.stop_tree()
        while (pids := descendants()) and time.monotonic() < until:
            signal_all(pids, signal.SIGKILL)
            time.sleep(0.005)
            self.reap()

    def finish(self) -> None:
        """End what is left, remove the folders, say how it went."""
        if self.status is None:
            self.killed = True
        elif not self.killed:
            self.left_behind = self.count_left_behind()
        self.end_tree()
        self.log.drain(1024)
        for folder in self.spec["remove"]:
            shutil.rmtree(folder, ignore_errors=True)
        status = self.status if self.status is not None else 0
        reading = self.tree.reading()
        reading["peak_memory_bytes"] = max(reading["peak_memory_bytes"], self.peak_of_worker)
        say(
            {
                "event": "closed",
                "code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
                "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
                "out_of_memory": self.out_of_memory,
                "killed": self.killed,
                "left_behind": self.left_behind,
                "log": self.log.text(),
                "reading": reading,
            }
        )


def wake_at_the_end_of_children() -> int:
    """A file that becomes readable when a child ends."""
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    return read_end


def signal_all(pids: list[int], number: signal.Signals) -> None:
    """Signal these processes; some may be gone."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def say(message: dict[str, Any]) -> None:
    """Tell the judge, if it still listens."""
    data = json.dumps(message).encode() + b"\n"
    with contextlib.suppress(BrokenPipeError):
        while data:
            data = data[os.write(1, data) :]


def start(spec: dict[str, Any], log: int) -> int:
    """Start the worker in a session of its own, on its CPUs, first in line when the kernel needs memory."""

    def before() -> None:
        for number in IGNORED:
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_NOFILE, FILES)
        if LINUX:
            os.sched_setaffinity(0, spec["cpus"])
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
                file.write("1000")

    process = subprocess.Popen(
        spec["argv"],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env=spec["environment"],
        cwd=spec["cwd"],
        preexec_fn=before,
    )
    process.returncode = 0  # reaped by wait4 above, never by subprocess
    return process.pid
