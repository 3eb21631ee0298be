"""What the kernel says of a control group: what it uses, and the limits that it is really under; versions 1 and 2.

Files and their meaning: the kernel's documentation, admin-guide/cgroup-v1 and admin-guide/cgroup-v2.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Version 1 says "no limit" with the largest number of pages, version 2 with a word.
UNLIMITED = 2**62


@dataclass(frozen=True)
class Use:
    """CPU seconds; bytes in all, at the kernel's own peak, of private and shared memory, and of files; processes."""

    cpu_seconds: float
    memory_bytes: int
    peak_memory_bytes: int
    anonymous_bytes: int
    file_bytes: int
    oom_kills: int


@dataclass(frozen=True)
class Bounds:
    """The limits in force, those of the groups above included; `swap_bytes` is None where the kernel counts no swap."""

    cpus: list[int]
    cpu_quota: float
    memory_bytes: int
    swap_bytes: int | None
    processes: int


@dataclass(frozen=True)
class Cgroup:
    """The control group of a container: the folder of each controller, under version 1 or 2."""

    version: int
    cpu: Path
    cpuset: Path
    memory: Path
    pids: Path

    def use(self) -> Use:
        """What it uses now; OSError where the group is gone."""
        return _use_1(self) if self.version == 1 else _use_2(self)

    def memory_now(self) -> tuple[int, int]:
        """Bytes of private and shared memory, and of files, that it holds now; OSError where the group is gone."""
        stat = _table(self.memory / "memory.stat")
        if self.version == 1:
            shared = stat.get("total_shmem", 0)
            return stat["total_rss"] + shared, stat["total_cache"] - shared
        shared = stat.get("shmem", 0)
        return stat["anon"] + shared, stat["file"] - shared

    def oom_kills(self) -> int:
        """How many of its processes the kernel has ended for want of memory; OSError where the group is gone."""
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        return _table(self.memory / name).get("oom_kill", 0)

    def oom_kills_above(self) -> dict[Path, int]:
        """What each group above has counted, the nearest first: with the groups below it, those that are gone too.

        Nothing under version 1, where each group counts its own only.
        """
        found: dict[Path, int] = {}
        for folder in self.memory.parents if self.version == 2 else ():
            with contextlib.suppress(OSError, ValueError):
                found[folder] = _table(folder / "memory.events").get("oom_kill", 0)
        return found

    def bounds(self) -> Bounds:
        """The limits in force; OSError where the group is gone."""
        return _bounds_1(self) if self.version == 1 else _bounds_2(self)

    def members(self) -> list[int]:
        """The processes in it, by their numbers here; none where it is gone. (No container of ours can make groups.)"""
        with contextlib.suppress(OSError):
            return [int(line) for line in _read(self.memory / "cgroup.procs").split()]
        return []


def cgroup_of(pid: int) -> Cgroup:
    """The control group of a process; OSError or ValueError where this machine does not show it."""
    places = dict(_places(pid))
    version = 1 if "memory" in places else 2
    if version == 1:
        cpu = places.get("cpuacct", places["memory"])
        return Cgroup(1, cpu, places["cpuset"], places["memory"], places["pids"])
    if "" not in places:
        raise ValueError(f"process {pid} is in no control group that can be seen here")
    return Cgroup(2, *(places[""],) * 4)


def _places(pid: int) -> Iterator[tuple[str, Path]]:
    """The folder of each controller (that of version 2 has no name) for a process."""
    mounts = dict(_mounts())
    for line in _read(Path(f"/proc/{pid}/cgroup")).splitlines():
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            if name in mounts:
                mounted, root = mounts[name]
                yield name, Path(mounted) / os.path.relpath(path, root)


def _mounts() -> Iterator[tuple[str, tuple[str, str]]]:
    """Where the hierarchy of each controller is mounted, and which of its folders is mounted there."""
    for line in _read(Path("/proc/self/mountinfo")).splitlines():
        left, _, right = line.partition(" - ")
        root, mounted = left.split()[3:5]
        kind, _, options = right.split(" ", 2)
        if kind == "cgroup2":
            yield "", (mounted, root)
        elif kind == "cgroup":
            for name in options.split(","):
                yield name, (mounted, root)


def _use_1(group: Cgroup) -> Use:
    anonymous, files = group.memory_now()
    return Use(
        cpu_seconds=_number(group.cpu / "cpuacct.usage") / 1e9,
        memory_bytes=_number(group.memory / "memory.usage_in_bytes"),
        peak_memory_bytes=_number(group.memory / "memory.max_usage_in_bytes"),
        anonymous_bytes=anonymous,
        file_bytes=files,
        oom_kills=group.oom_kills(),
    )


def _use_2(group: Cgroup) -> Use:
    anonymous, files = group.memory_now()
    now = _number(group.memory / "memory.current")
    return Use(
        cpu_seconds=_table(group.cpu / "cpu.stat")["usage_usec"] / 1e6,
        memory_bytes=now,
        peak_memory_bytes=_number(group.memory / "memory.peak", now),  # since Linux 5.19
        anonymous_bytes=anonymous,
        file_bytes=files,
        oom_kills=group.oom_kills(),
    )


def _bounds_1(group: Cgroup) -> Bounds:
    stat = _table(group.memory / "memory.stat")
    memory = stat["hierarchical_memory_limit"]
    both = stat.get("hierarchical_memsw_limit")
    effective = group.cpuset / "cpuset.effective_cpus"
    quota = _number(group.cpu / "cpu.cfs_quota_us", -1)
    period = _number(group.cpu / "cpu.cfs_period_us", 100_000)
    return Bounds(
        cpus=_cpus(_read(effective if effective.exists() else group.cpuset / "cpuset.cpus")),
        cpu_quota=quota / period if quota > 0 else float("inf"),
        memory_bytes=memory,
        swap_bytes=None if both is None else max(0, both - memory),
        processes=_number(group.pids / "pids.max", UNLIMITED),
    )


def _bounds_2(group: Cgroup) -> Bounds:
    above = [group.memory, *(p for p in group.memory.parents if (p / "cgroup.controllers").exists())]
    quotas = [_quota(folder / "cpu.max") for folder in above]
    swap = [_number(folder / "memory.swap.max", UNLIMITED) for folder in above]
    return Bounds(
        cpus=_cpus(_read(group.cpuset / "cpuset.cpus.effective")),
        cpu_quota=min(quotas),
        memory_bytes=min(_number(folder / "memory.max", UNLIMITED) for folder in above),
        swap_bytes=min(swap) if (group.memory / "memory.swap.max").exists() else None,
        processes=min(_number(folder / "pids.max", UNLIMITED) for folder in above),
    )


def _quota(path: Path) -> float:
    with contextlib.suppress(OSError, ValueError):
        quota, period = _read(path).split()
        return int(quota) / int(period)
    return float("inf")


def _cpus(text: str) -> list[int]:
    """The numbers in `0-2,5`."""
    found: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first:
            found += range(int(first), int(last or first) + 1)
    return found


def _table(path: Path) -> dict[str, int]:
    """A file of lines such as `anon 4096`."""
    pairs = (line.split() for line in _read(path).splitlines())
    return {name: int(value) for name, value in pairs}


def _number(path: Path, otherwise: Any = None) -> int:
    """The number in a file; `otherwise` where there is no such file, or a word instead of a number."""
    try:
        return int(_read(path))
    except (ValueError, FileNotFoundError):
        if otherwise is None:
            raise
        return int(otherwise)


def _read(path: Path) -> str:
    return path.read_text(encoding="ascii", errors="replace")
