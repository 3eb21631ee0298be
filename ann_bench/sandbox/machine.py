"""What this process may use of its machine: CPUs and memory."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import psutil

#: A machine's memory is rounded down to this: it differs by a few pages from one boot to the next, and a limit
#: that moves would make every result of yesterday another configuration.
MEMORY_STEP = 256 * 1024**2


def cpus() -> list[int]:
    """The CPUs that this process may use, fewer where its container has a quota."""
    if not hasattr(os, "sched_getaffinity"):
        return list(range(os.cpu_count() or 1))
    mine = sorted(os.sched_getaffinity(0))
    with contextlib.suppress(OSError, ValueError):
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        mine = mine[: max(1, int(quota) // int(period))]
    return mine


def memory() -> int:
    """Bytes of memory of this machine, or of the container that this process is in."""
    total = int(psutil.virtual_memory().total)
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            total = min(total, int(Path(name).read_text(encoding="ascii")))
    return total // MEMORY_STEP * MEMORY_STEP


def cpu_list(text: str) -> tuple[int, ...]:
    """The numbers in `0-3,6`; ValueError where it is no such list."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if (
            not first.isdecimal()
            or (dash and not last.isdecimal())
            or int(last or first) - int(first) not in range(4096)
        ):
            raise ValueError(f"{text!r} is no list of CPUs; write 0-3 or 0,2,4")
        found |= set(range(int(first), int(last or first) + 1))
    return tuple(sorted(found))
