"""How many threads of a worker want a CPU, whether they get one or not: looked at from outside, while it is called.

CPU time tells nothing where others use the machine, or where the entry has one CPU: a second thread then waits. The
kernel's word for a thread that runs or waits for a CPU is R (proc(5), `state`), for one with nothing to do, or that
waits for a lock, S. On Linux only.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from types import TracebackType

from ann_bench.sandbox import Session

#: Seconds between two looks: what each costs is the machine's, so that this is nothing for calls that are timed.
PAUSE_SECONDS = 0.003

#: From so many threads at work on average on, there are two of them. Threads that hand work to one another, of which
#: each waits for the other, were seen at 1.2 to 1.6 on busy machines, and at 1.9 once: who has woken another waits for
#: a CPU itself until it can go to sleep.
TWO_AT_WORK = 1.75

#: Looks at which any thread was at work, below which nothing is said.
LEAST_LOOKS = 20


class AtWork:
    """Looks at a worker for as long as the block lasts, and counts its threads that want a CPU.

    Of an entry with one thread it is 1 whenever it is any, or more on average where threads hand work to one another
    (see TWO_AT_WORK). Nothing is said where there were too few looks, or where this system does not show it.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._counts: list[int] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> AtWork:
        """Begin to look."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """No more looks."""
        self._end.set()
        self._thread.join()

    @property
    def mean(self) -> float | None:
        """Threads at work, on average over the looks at which any was."""
        counts = [count for count in self._counts if count]
        return sum(counts) / len(counts) if len(counts) >= LEAST_LOOKS else None

    def share(self, threads: int) -> float | None:
        """The share of these looks at which so many threads were at work, or more; None where there were too few."""
        counts = [count for count in self._counts if count]
        return sum(count >= threads for count in counts) / len(counts) if len(counts) >= LEAST_LOOKS else None

    def _look(self) -> None:
        while not self._end.wait(PAUSE_SECONDS):
            self._counts.append(sum(map(_at_work, self._session.processes())))


def _at_work(pid: int) -> int:
    """The threads of a process that run or want to."""
    found = 0
    with contextlib.suppress(OSError):
        for task in os.scandir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                found += (Path(task.path) / "stat").read_bytes().rpartition(b") ")[2][:1] == b"R"
    return found
