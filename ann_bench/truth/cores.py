"""How many threads the work of truth is shared among."""

from __future__ import annotations

import os

_MOST_THREADS = 8


def threads() -> int:
    """How many threads work at once: one for each CPU that this process may use, at most eight."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, _MOST_THREADS)
