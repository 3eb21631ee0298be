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
