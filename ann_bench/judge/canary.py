"""A canary: the same small work before and after a measurement tells whether the machine has changed meanwhile."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

ROUNDS = 15
_FAST, _SLOW = 1 << 15, 1 << 21  # float32 values in a processor's caches, and beyond the smaller ones
_FAST_TIMES, _SLOW_TIMES = 100, 2

#: A canary that is no older than this stands for now.
FRESH_SECONDS = 5.0


class Canary:
    """Products of float32 values by as many threads as an entry may use, on the CPUs that entries get.

    Each of ROUNDS takes some milliseconds; their times are kept raw. No product goes through a BLAS, whose threads
    might go on to spin when it has answered.
    """

    def __init__(self, threads: int, cpus: Sequence[int] = ()) -> None:
        rng = np.random.default_rng(1)
        self._fast, self._slow = (rng.random((threads, 2, size), dtype=np.float32) for size in (_FAST, _SLOW))
        self._out = np.empty((threads, _SLOW), dtype=np.float32)
        self._threads, self._cpus = threads, set(cpus)
        self.before = self._sing()
        self._after, self._at = self.before, time.monotonic()

    def after(self) -> Sequence[float]:
        """Seconds of each round, now or a moment ago."""
        if time.monotonic() - self._at > FRESH_SECONDS or self._after is self.before:
            self._after, self._at = self._sing(), time.monotonic()
        return self._after

    def to_json(self) -> dict[str, Any]:
        """Seconds of the rounds before and after."""
        return {"before": list(self.before), "after": list(self.after())}

    def _sing(self) -> list[float]:
        with ThreadPoolExecutor(self._threads, initializer=self._settle) as pool:
            list(pool.map(self._work, range(self._threads)))
            found = []
            for _ in range(ROUNDS):
                start = time.perf_counter()
                list(pool.map(self._work, range(self._threads)))
                found.append(time.perf_counter() - start)
        return found

    def _settle(self) -> None:
        """Put this thread where entries run; where that is not allowed it stays where the judge is."""
        if self._cpus:
            with contextlib.suppress(AttributeError, OSError):
                os.sched_setaffinity(0, self._cpus)

    def _work(self, thread: int) -> None:
        for values, times in ((self._fast, _FAST_TIMES), (self._slow, _SLOW_TIMES)):
            one, other = values[thread]
            out = self._out[thread, : len(one)]
            for _ in range(times):
                np.multiply(one, other, out=out)
