"""Times the calls of one worker: between the judge's two readings of its clock, and of what the sandbox used."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from ann_bench.judge.exchange import Exchange
from ann_bench.results.model import Usage
from ann_bench.sandbox import Reading, SandboxLost, Session
from ann_bench.wire import Message, WireError
from ann_bench.workload import Limits

#: CPU time is counted in ticks, and read a moment before and after the window.
CPU_SLACK = 1.1
CPU_SLACK_SECONDS = 0.3

Timed = TypeVar("Timed")


@dataclass(frozen=True)
class Window:
    """What one timed call cost: seconds between the judge's two readings of the clock, CPU seconds of the tree.

    `began` counts seconds from the index's first call, the constructor; `memory_bytes` is what the tree held after it.
    """

    seconds: float
    cpu_seconds: float
    began: float = 0.0
    memory_bytes: int = 0


class Stopwatch(Exchange):
    """An exchange that times calls, and knows what was used inside and outside of them."""

    def __init__(self, session: Session, limits: Limits) -> None:
        super().__init__(session, limits)
        self._inside = 0.0
        self._mark = (0.0, 0.0)
        self._counted: float | None = None
        self._first_ns = 0

    def begin(self) -> None:
        """A new query config: CPU time counts from here, or from the end of the last one, so that no pause is free."""
        now: Reading = self._guard("the pause between two query configs", self._reading)
        self._mark = (now.cpu_seconds if self._counted is None else self._counted, self._inside)

    def usage(self) -> Usage:
        """What the index has used so far; CPU time since the query config began."""
        try:
            reading = self._end.reading if self._end else self.session.reading()
        except SandboxLost:
            reading = self.abandon().reading
        inside = self._inside - self._mark[1]
        self._counted = reading.cpu_seconds
        return Usage(
            peak_memory_bytes=reading.peak_memory_bytes,
            peak_anonymous_bytes=reading.peak_anonymous_bytes,
            peak_file_bytes=reading.peak_file_bytes,
            cpu_inside_seconds=inside,
            cpu_outside_seconds=max(0.0, reading.cpu_seconds - self._mark[0] - inside),
            processes=reading.processes,
        )

    def _timed(
        self,
        message: Message,
        doing: str,
        limit: float,
        fill: Callable[[], None] | None = None,
        take: Callable[[], None] | None = None,
    ) -> Window:
        """Send the message, wait for `ready`, then time from `go` to `done`.

        A call with something to `fill` in is a batch of queries: nothing else happens until it is done.
        """
        if self._began is None:
            self._began = time.monotonic()
        self._ask(message, doing, limit, expected="ready")
        channel = self.session.channel
        bound = self._bound(limit)
        token = secrets.token_hex(8)  # whoever says done without it has not been told to go
        go = {"type": "go", "seq": self._seq, "token": token}

        def call() -> tuple[Message, int, int]:
            start = time.perf_counter_ns()
            channel.send(go)
            reply = self._receive(bound) if fill is None else channel.receive(bound)
            took = time.perf_counter_ns() - start
            if take is not None:
                take()
            return reply, start, took

        reply, window = self._measured(doing, call, fill)
        self._check(reply, doing, "done", token)
        self._within_cpus(window, doing)
        return window

    def _measured(
        self, doing: str, call: Callable[[], tuple[Timed, int, int]], fill: Callable[[], None] | None = None
    ) -> tuple[Timed, Window]:
        """A call that says when it began and how long it took, in nanoseconds, between two readings of the sandbox."""
        before = self._guard(doing, self._reading)
        if fill is not None:
            fill()
        result, start, took = self._guard(doing, call)
        after = self._guard(doing, self._reading)
        self._inside += after.cpu_seconds - before.cpu_seconds
        return result, self._window(start, took, before, after)

    def _within_cpus(self, window: Window, doing: str) -> None:
        if window.cpu_seconds > self.limits.cpus * window.seconds * CPU_SLACK + CPU_SLACK_SECONDS:
            used = f"{window.cpu_seconds:.2f} CPU seconds in {window.seconds:.2f} s"
            self._broken(f"used more than its {self.limits.cpus} CPUs in {doing}: {used}")

    def _watched(self, message: Message, doing: str, limit: float) -> Window:
        """An untimed exchange whose cost is noted all the same, so that nothing is built unseen."""
        before = self._guard(doing, self.session.reading)
        start = time.perf_counter_ns()
        self._ask(message, doing, limit)
        took = time.perf_counter_ns() - start
        return self._window(start, took, before, self._guard(doing, self.session.reading))

    def _window(self, start: int, took: int, before: Reading, after: Reading) -> Window:
        """From nanoseconds of the judge's clock, and readings before and after."""
        cpu_seconds = after.cpu_seconds - before.cpu_seconds
        return Window(took / 1e9, cpu_seconds, (start - self._first_ns) / 1e9, after.memory_bytes)

    def _reading(self) -> Reading:
        """A reading, at a moment when the worker has nothing to say."""
        if self.session.channel.unread():
            raise WireError("spoke out of turn")
        return self.session.reading()
