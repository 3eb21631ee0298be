"""What a tree of processes uses: memory and CPU time, read from the kernel (elsewhere than on Linux, by psutil)."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import time
from typing import Any

LEAST_PAUSE = 0.02
MOST_PAUSE = 0.25
GROWTH = 10e9  # bytes a second: no tree is thought to grow faster; one that has room is looked at less often
EXACT_EVERY_SECONDS = 0.2

LINUX = sys.platform == "linux"
PAGE = resource.getpagesize()


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
        self.now = self.peak = self.peak_anonymous = self.peak_files = self.most = 0
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
        self.peak_files = max(self.peak_files, resident - anonymous)
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
            "peak_file_bytes": self.peak_files,
            "processes": self.most,
        }
