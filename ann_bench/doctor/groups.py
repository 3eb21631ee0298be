"""Limits of the control group that this process is in: version 2, version 1, or both beside each other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from ann_bench.doctor.system import System

_ROOT = "sys/fs/cgroup"
#: Version 1 has a number in the place of "no limit": all the pages that can be counted.
_BOUNDLESS = 1 << 60


@dataclass(frozen=True)
class Quota:
    """CPUs by quota and bytes of memory (infinite: no limit), how often the quota has stopped this process.

    `known` says whether any limit could be read.
    """

    cpus: float = math.inf
    memory: float = math.inf
    throttled: int = 0
    known: bool = False


def quota(system: System) -> Quota:
    """The least limits of this process's own group and of those above it; what cannot be read is no limit."""
    cpus, memory, throttled, known = math.inf, math.inf, 0, False
    for folder in _folders(system):
        found = _cpus(system, folder), _memory(system, folder)
        known = known or any(one is not None for one in found)
        cpus, memory = min(cpus, found[0] or math.inf), min(memory, found[1] or math.inf)
        throttled = max(throttled, system.fields(f"{folder}/cpu.stat").get("nr_throttled", 0))
    return Quota(cpus, memory, throttled, known)


def _folders(system: System) -> Iterator[str]:
    """All the groups that this process is in, from its own up, wherever their controllers are mounted."""
    lines = (system.text("proc/self/cgroup") or "0::/").splitlines()
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        names = [controllers, *controllers.split(",")] if controllers else ["", "unified"]
        own = PurePosixPath(path.lstrip("/"))
        for name in dict.fromkeys(names):
            for group in (own, *own.parents):
                yield str(PurePosixPath(_ROOT) / name / group)


def _cpus(system: System, folder: str) -> float | None:
    """CPUs that a group may use; None where it does not say."""
    words = (system.text(f"{folder}/cpu.max") or "").split()
    if words[:1] == ["max"]:
        return math.inf
    if len(words) == 2 and all(word.isdecimal() for word in words):
        return int(words[0]) / max(1, int(words[1]))
    used, period = system.number(f"{folder}/cpu.cfs_quota_us"), system.number(f"{folder}/cpu.cfs_period_us")
    if used is None or not period:
        return None
    return math.inf if used < 0 else used / period


def _memory(system: System, folder: str) -> float | None:
    """Bytes that a group may use; None where it does not say."""
    if system.text(f"{folder}/memory.max") == "max":
        return math.inf
    found = system.number(f"{folder}/memory.max")
    if found is None:
        found = system.number(f"{folder}/memory.limit_in_bytes")
    return math.inf if found is not None and found >= _BOUNDLESS else found
