"""A run in plain lines: what begins and ends, and twice a minute what goes on and the memory that it holds."""

from __future__ import annotations

import logging
import time

from ann_bench.cli._live import words
from ann_bench.cli._live.board import Board
from ann_bench.judge.events import Began, Ended, Event, GoesOn, TakesTurns, Work

log = logging.getLogger("ann_bench.cli.run")

#: Between two lines about the same thing.
HEARTBEAT_SECONDS = 30.0


class Lines:
    """Lines of the log beside those that the judge writes of builds and results."""

    def __init__(self, board: Board, pause: float = HEARTBEAT_SECONDS) -> None:
        self.board = board
        self.pause = pause
        self._said = time.monotonic()
        self._task = ""

    def progress(self, task: str, done: int, total: int | None) -> None:
        """Preparation that takes its time."""
        now = time.monotonic()
        if task != self._task:
            self._task, self._said = task, now
        elif now - self._said >= self.pause:
            self._said = now
            log.info("%s: %s", task, f"{done / total:.0%}" if total else f"{done:,}")

    def take(self, event: Event) -> None:
        """Say what is worth a line."""
        self.board.take(event)
        now = time.monotonic()
        if isinstance(event, TakesTurns) and len(event.entries) > 1:
            log.info("taking turns: %s", ", ".join(event.entries))
        elif isinstance(event, Began | GoesOn | Ended):
            begins = isinstance(event, Began) and event.work.kind in ("build", "setup")
            if begins or now - self._said >= self.pause:
                self._say(event.work)

    def _say(self, work: Work) -> None:
        planned, worker = self.board.planned, self.board.workers.get(work.entry)
        self._said = time.monotonic()
        setting = planned.setting if planned else None
        parts = [f"{work.entry}: {words.doing(work, setting)}"]
        if worker is not None and worker.work is not None and (elapsed := self.board.clock() - worker.since) >= 1:
            parts.append(words.time(elapsed))
        if worker is not None and worker.memory_bytes and setting is not None:
            parts.append(words.memory(worker.memory_bytes, setting.limits.memory_bytes))
        log.info("%s", ", ".join(parts))
