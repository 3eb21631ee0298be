"""Raises its own limits: CPUs, memory, processes, priority; then uses all CPUs that it can."""

from __future__ import annotations

import contextlib
import os
import resource
import time
from pathlib import Path
from typing import Any

from kit import Attempts, Exact, inside_only, libc

MUCH = str(2**40)
FILES = {
    "memory.limit_in_bytes": MUCH, "memory.memsw.limit_in_bytes": MUCH, "memory.max": "max", "memory.high": "max",
    "memory.oom_control": "1", "memory.swap.max": "max", "cpuset.cpus": "0-1", "cpu.cfs_quota_us": "-1",
    "cpu.max": "max", "pids.max": "max", "cgroup.procs": "0", "tasks": "0", "release_agent": "",
    "notify_on_release": "1", "cpu.shares": "100000", "cpu.weight": "10000",
}  # fmt: skip
#: Of these it writes back what stands in them: were it let, nothing would change.
KERNEL = (
    "/proc/sys/kernel/core_pattern", "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/pid_max",
    "/proc/sys/kernel/sched_rt_runtime_us", "/sys/kernel/uevent_helper", "/proc/sys/net/ipv4/ip_forward",
    "/proc/sys/fs/file-max", "/proc/sys/kernel/hostname", "/sys/power/state",
)  # fmt: skip
RESOURCES = ("RLIMIT_CORE", "RLIMIT_NICE", "RLIMIT_RTPRIO", "RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE")
SECONDS = 0.6


class Entry(Exact):
    def fit(self, base: Any, tags: Any = None, learn: Any = None) -> None:
        inside_only()
        super().fit(base, tags, learn)
        self.attempts = Attempts()
        self.groups = 0
        make = self.attempts.make
        for root in ("/sys/fs/cgroup", "/proc/1/root/sys/fs/cgroup"):
            for path in sorted(Path(root).rglob("*")):
                if path.name in FILES:
                    self.groups += 1
                    make(f"write {path}", path.write_text, FILES[path.name])
            make(f"a group of its own in {root}", (Path(root) / "memory" / "hostile").mkdir)
        for path in KERNEL:
            make(f"write {path}", write_back, Path(path))
        make("be spared by the kernel", Path("/proc/self/oom_score_adj").write_text, "-1000")
        make("the keys of the console", Path("/proc/sysrq-trigger").write_text, "h")
        make("nice", os.nice, -10)
        make("real time", os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(50))
        make("first in line for the disk", libc, "syscall", 251, 1, 0, (1 << 13) | 0)
        for name in RESOURCES:
            make(name, raise_resource, getattr(resource, name))
        with contextlib.suppress(OSError):  # a larger set is cut to what is allowed, or refused
            os.sched_setaffinity(0, range(os.cpu_count() or 1))
        self.cpus = len(os.sched_getaffinity(0))

    def query(self, queries: Any, k: int, tags: Any = None) -> Any:
        """Two processes at once."""
        if not (child := os.fork()):
            burn(SECONDS)
            os._exit(0)
        burn(SECONDS)
        os.waitpid(child, 0)
        return self.exact(queries, k, tags)

    def stats(self) -> dict[str, Any]:
        return self.attempts.report(cpus=self.cpus, groups=self.groups)


def write_back(path: Path) -> None:
    text = path.read_text(encoding="utf-8") if os.access(path, os.R_OK) else ""
    path.write_text(text, encoding="utf-8")


def burn(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def raise_resource(number: int) -> None:
    _, hard = resource.getrlimit(number)
    if hard == resource.RLIM_INFINITY:
        return  # there was no limit to raise
    resource.setrlimit(number, (hard + 1, hard + 1))
