"""The keeper: a small process between the judge and one worker, of the process sandbox or of a container.

A room of its own: it imports nothing else of the project, so that it starts at once and stays small.

`main` keeps a worker that is a process of this machine. It adopts every orphan of the worker (on Linux), samples the
memory of the whole process tree, ends the tree when it outgrows its limit or when the judge asks or dies, keeps the
start and the end of what the tree prints, and removes its folders.

    judge -> keeper (stdin)      {"argv", "cpus", "memory_bytes", "environment", "cwd", "remove"}
                                 then "reading", "log", "kill", "close SECONDS"; end of file: the judge is gone
    keeper -> judge (stdout)     one JSON object at the start, for each "reading" and "log", at the worker's end, last

`watch` looks at a container, whose worker the engine starts and ends:

    judge -> keeper (stdin)      {"container", "memory_bytes", "ended", "remove"}, then "watch PID", "reading", "stop";
                                 end of file: the judge is gone, the container is ended
    keeper -> judge (stdout)     one JSON object for each "watch" and "reading"
"""

from __future__ import annotations

import ctypes
import resource
import signal

from ann_bench.keeper.container import Watch, order_from_judge
from ann_bench.keeper.keep import FILES, IGNORED, Keeper
from ann_bench.keeper.tree import LINUX

__all__ = ["main", "watch"]

PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    """Read the order, keep one worker."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)  # the judge decides; its end ends us
    if LINUX:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES[1], FILES[1]))  # one file for each process of the tree
    order = order_from_judge()
    if order is None:
        return
    keeper = Keeper(order)
    try:
        keeper.run()
    finally:
        keeper.finish()


def watch() -> None:
    """Read the order, watch one container."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    order = order_from_judge()
    if order is None:
        return
    watching = Watch(order)
    if not watching.run():
        watching.end()
