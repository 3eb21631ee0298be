"""The keeper of the process sandbox: a small process between the judge and one worker.

A room of its own: it imports nothing else of the project, so that it starts at once and stays small. It adopts
every orphan of the worker (on Linux), samples the memory of the whole process tree, ends the tree when it outgrows
its limit or when the judge asks or dies, keeps the start and the end of what the tree prints, and removes its folders.

    judge -> keeper (stdin)      {"argv", "cpus", "memory_bytes", "environment", "cwd", "remove"}
                                 then "reading", "log", "kill", "close SECONDS"; end of file: the judge is gone
    keeper -> judge (stdout)     one JSON object at the start, for each "reading" and "log", at the worker's end, last
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal

from ann_bench.keeper.keep import FILES, IGNORED, Keeper
from ann_bench.keeper.tree import LINUX

__all__ = ["main"]

PR_SET_CHILD_SUBREAPER = 36


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
