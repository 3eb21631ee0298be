"""The keeper of the process sandbox: a small process between the judge and one worker.

Started by path with an isolated interpreter, it imports nothing of the project. It adopts every orphan of the
worker (on Linux), samples the memory of the whole process tree, ends the tree when it outgrows its limit or
when the judge asks or dies, keeps the start and the end of what the tree prints, and removes its folders.

    judge -> keeper (stdin)      {"argv", "cpus", "memory_bytes", "environment", "cwd", "remove"}
                                 then "reading", "log", "kill", "close SECONDS"; end of file: the judge is gone
    keeper -> judge (stdout)     one JSON object at the start, for each "reading" and "log", at the worker's end, last
"""

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
import sys
import time
from typing import Any

LEAST_PAUSE = 0.02
MOST_PAUSE = 0.25
GROWTH = 10e9  # bytes a second: no tree is thought to grow faster; one that has room is looked at less often
LOG_PART = 32 * 1024
EXACT_EVERY_SECONDS = 0.2
ORPHAN_GRACE_SECONDS = 0.3
END_SECONDS = 5.0
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

LINUX = sys.platform == "linux"
PAGE = resource.getpagesize()
FILES = resource.getrlimit(resource.RLIMIT_NOFILE)


def children_linux(pid: int) -> list[int]:
    """The direct children of a process, as the kernel lists them for each of its threads."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += [int(child) for child in file.read().split()]
    return found


def descendants() -> list[int]:
    """Every process below this one."""
    if not LINUX:
        import psutil

        return [child.pid for child in psutil.Process().children(recursive=True)]
    found: list[int] = []
    front = [os.getpid()]
    while front:
        front = [child for pid in front for child in children_linux(pid) if child not in found]
        found += front
    return found


class Memory:
    """The memory of one process, read again and again through a file that stays open."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.file = -1
        self.shared = 0  # bytes of shared memory that no file on a disk backs, as of the last look

    def read(self) -> tuple[int, int]:
        """Resident bytes, and the part of them that no file on a disk backs."""
        if not LINUX:
            import psutil

            try:
                rss = int(psutil.Process(self.pid).memory_info().rss)
            except psutil.Error:
                return 0, 0
            return rss, rss
        try:
            if self.file < 0:
                self.file = os.open(f"/proc/{self.pid}/statm", os.O_RDONLY)
            _, resident, shared, *_ = os.pread(self.file, 128, 0).split()
        except (OSError, ValueError):
            return 0, 0
        return int(resident) * PAGE, (int(resident) - int(shared)) * PAGE + self.shared

    def exact(self) -> tuple[int, int]:
        """The same, with each shared page counted as its part of a page."""
        sizes: dict[str, int] = {}
        try:
            with open(f"/proc/{self.pid}/smaps_rollup") as file:
                for line in file:
                    name, _, rest = line.partition(":")
                    if name.startswith("Pss"):
                        sizes[name] = int(rest.split()[0]) * 1024
        except (OSError, ValueError):
            return self.read()
        return sizes.get("Pss", 0), sizes.get("Pss_Anon", 0) + sizes.get("Pss_Shmem", 0)

    def close(self) -> None:
        """The process is gone."""
        if self.file >= 0:
            os.close(self.file)


def shared_anonymous(pid: int) -> int:
    """Bytes of shared memory that no file on a disk backs (tmpfs, shared anonymous maps)."""
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith("RssShmem:"):
                return int(line.split()[1]) * 1024
    return 0


def high_water(pid: int) -> int:
    """The largest resident size that the kernel has seen of a process."""
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def cpu(pid: int) -> float:
    """CPU seconds of a process and of its children that have ended and were waited for."""
    if not LINUX:
        import psutil

        try:
            return float(sum(psutil.Process(pid).cpu_times()[:4]))
        except psutil.Error:
            return 0.0
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(t) for t in fields[11:15]) / os.sysconf("SC_CLK_TCK")


class Tree:
    """What the worker's processes use."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.processes: dict[int, Memory] = {}
        self.reaped_cpu = self.lost_cpu = self.last_cpu = 0.0
        self.now = self.peak = self.peak_anonymous = self.most = 0
        self.anonymous = 0
        self.refresh_next = 0.0
        self.exact_next = 0.0

    def sample(self) -> int:
        """Look once; returns the bytes that count against the limit: those that no file on a disk backs.

        Pages that processes share are counted once for each at first. Where that would make a new peak, or break
        the limit, they are counted once in all, which costs more.
        """
        if time.monotonic() >= self.refresh_next:
            self.refresh()
            self.refresh_next = time.monotonic() + MOST_PAUSE * 0.8
        sizes = [process.read() for process in self.processes.values()]
        resident, anonymous = sum(size for size, _ in sizes), sum(own for _, own in sizes)
        if len(sizes) > 1 and anonymous > min(self.peak_anonymous, self.limit):
            if anonymous <= self.limit and time.monotonic() < self.exact_next:
                self.anonymous = anonymous
                return anonymous
            self.exact_next = time.monotonic() + EXACT_EVERY_SECONDS
            exact = [process.exact() for process in self.processes.values()]
            resident, anonymous = sum(size for size, _ in exact), sum(own for _, own in exact)
        self.now, self.anonymous = resident, anonymous
        self.peak = max(self.peak, self.now)
        self.peak_anonymous = max(self.peak_anonymous, anonymous)
        return anonymous

    def pause(self) -> float:
        """Seconds until the next look: every look takes a moment from the entry."""
        return min(MOST_PAUSE, max(LEAST_PAUSE, (self.limit - self.anonymous) / GROWTH))

    def refresh(self) -> None:
        """Look for new processes, and at what is dearer to read."""
        pids = descendants()
        for pid in set(self.processes) - set(pids):
            self.processes.pop(pid).close()
        for pid in pids:
            process = self.processes.get(pid) or self.processes.setdefault(pid, Memory(pid))
            process.shared = shared_anonymous(pid) if LINUX else 0
        self.most = max(self.most, len(pids))
        if self.most > 1:
            self.cpu_seconds()  # a child may be gone before anybody asks

    def cpu_seconds(self) -> float:
        """CPU seconds so far; a process that ends without anybody waiting for it takes none of them away."""
        known = self.reaped_cpu + sum(cpu(pid) for pid in self.processes)
        self.lost_cpu = max(self.lost_cpu, self.last_cpu - known)
        self.last_cpu = known + self.lost_cpu
        return self.last_cpu

    def reading(self) -> dict[str, Any]:
        """All the figures, fresh."""
        self.refresh()
        self.sample()
        self.peak = max(self.peak, *map(high_water, self.processes), 0)
        return {
            "cpu_seconds": self.cpu_seconds(),
            "memory_bytes": self.now,
            "peak_memory_bytes": self.peak,
            "peak_anonymous_bytes": self.peak_anonymous,
            "processes": self.most,
        }


class Log:
    """The start and the end of what the tree printed."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.head = b""
        self.tail = b""
        self.total = 0
        os.set_blocking(fd, False)

    def drain(self, most: int = 64) -> bool:
        """Read what is there; False at the end of the file."""
        for _ in range(most):
            try:
                data = os.read(self.fd, 65536)
            except BlockingIOError:
                return True
            if not data:
                return False
            self.total += len(data)
            room = LOG_PART - len(self.head)
            self.head += data[:room]
            self.tail = (self.tail + data[room:])[-LOG_PART:] if room < len(data) else self.tail
        return True

    def text(self) -> str:
        """Head and tail, with a line between them that says how much was left out."""
        left_out = self.total - len(self.head) - len(self.tail)
        gap = f"\n... {left_out:,} bytes left out ...\n".encode() if left_out > 0 else b""
        return (self.head + gap + self.tail).decode(errors="replace")


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
        self.worker = start(spec, write_end)
        os.close(write_end)
        say({"event": "started", "pid": self.worker})

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

    def end_tree(self) -> None:
        """Stop everything first, so that nothing can fork while it is being ended, then end it."""
        until = time.monotonic() + END_SECONDS
        stopped: list[int] = []
        while (pids := descendants()) != stopped and time.monotonic() < until:
            signal_all(pids, signal.SIGSTOP)
            stopped = pids
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


def main() -> None:
    """Read the order, keep one worker."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)  # the judge decides; its end ends us
    if LINUX:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES[1], FILES[1]))  # one file for each process of the tree
    order = b""
    while not order.endswith(b"\n"):
        data = os.read(0, 1)
        if not data:
            return
        order += data
    keeper = Keeper(json.loads(order))
    try:
        keeper.run()
    finally:
        keeper.finish()


if __name__ == "__main__":
    main()
