"""Goes on computing between the timed windows: a child that never rests, a worker that is slow to say `ready`."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from kit import Exact

from ann_bench.wire import Channel

SECONDS = 0.8
PATIENCE = 5.0
TICKS = os.sysconf("SC_CLK_TCK")
SEND = Channel.send


class Entry(Exact):
    def set_query_arguments(self, **query: Any) -> None:
        """The child burns on; the time that it needs is taken where nobody measures: before each `ready`."""
        self.child = os.fork()
        if self.child == 0:
            while True:
                pass
        self.delays = 0

        def late(channel: Channel, message: dict[str, Any]) -> None:
            if message["type"] == "ready":
                self.delays += 1
                self.wait()
            SEND(channel, message)

        Channel.send = late  # type: ignore[method-assign]

    def wait(self) -> None:
        """Until the child has got as much of the CPU as it wants."""
        until = time.monotonic() + PATIENCE
        while self.burnt() < self.delays * SECONDS and time.monotonic() < until:
            time.sleep(0.02)

    def burnt(self) -> float:
        """CPU seconds of the child."""
        user, system = Path(f"/proc/{self.child}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / TICKS

    def stats(self) -> dict[str, Any]:
        return {"delays": self.delays, "burnt": self.burnt()}
