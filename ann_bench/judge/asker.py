"""The client of a worker that answers queries one by one: puts them, and notes when each was answered.

One thread, one wait at a time. The clock of a query starts before anything of it is in the shared files, and stops when
its answer lies in the judge's own memory: nothing of the entry's work can be outside.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ann_bench.judge.slots import Slots
from ann_bench.wire import Channel, Message, WireError, WireTimeout

Floats = npt.NDArray[np.float64]

#: A client with a CPU of its own stays awake for so many seconds when it waits: being woken takes a while, which would
#: count as time of the entry.
_AWAKE_SECONDS = 0.0001

#: So many queries that are due are sent at the most before answers are looked at again.
_BURST = 8


@dataclass(frozen=True)
class Times:
    """When each query of a pass was due, sent and answered, in seconds of the judge's clock, in the order asked.

    `busy` is the share of the time in which the client itself was at work.
    """

    due: Floats
    sent: Floats
    answered: Floats
    busy: float


class Asker:
    """Asks the queries of one session of `serve`, whose next message has the number `seq`.

    A client that has a CPU of its own may stay `awake` while it waits. Where the worker answers with an error, no more
    is asked, what is in flight is waited for, and `error` is that message. Raises WireTimeout when `until` (of
    time.monotonic) is over, WireError where the worker answers what it was not asked.
    """

    def __init__(self, channel: Channel, slots: Slots, seq: int, until: float, *, awake: bool = False) -> None:
        self.seq = seq
        self.until = until
        self.error: Message | None = None
        self._awake = _AWAKE_SECONDS if awake else 0.0
        self._idle = 0.0
        self._channel, self._slots = channel, slots
        self._flight: dict[int, int] = {}
        self._answered: dict[int, float] = {}

    def closed(self, rows: range, clients: int, *, null: bool = False) -> Times:
        """So many clients, each of which asks as soon as it has its answer."""
        sent: list[float] = []
        todo = iter(rows)
        began = self._begin()

        def ask() -> None:
            row = next(todo, None)
            if row is not None and self.error is None:
                sent.append(time.perf_counter())
                self._ask(row, null=null)

        for _ in range(min(clients, len(rows))):
            ask()
        while self._flight:
            for message in self._collect(self.until - time.monotonic()):
                self._take(message)
                ask()
        return self._times(rows, sent, sent, began)

    def open(self, rows: range, schedule: Floats) -> Times:
        """Each query at its own time, in seconds from now, whether the others are answered or not."""
        began = self._begin()
        due = (schedule + began).tolist()
        sent: list[float] = []
        place, last = 0, len(rows)
        while place < last or self._flight:
            now, burst = time.perf_counter(), 0
            while place < last and due[place] <= now and burst < _BURST:
                sent.append(now)
                self._ask(rows[place])
                place, burst, now = place + 1, burst + 1, time.perf_counter()
            wait = max(0.0, due[place] - now) if place < last else self.until - time.monotonic()
            for message in self._collect(wait):
                self._take(message)
            if self.error is not None:
                last = place
        return self._times(rows, due, sent, began)

    def _begin(self) -> float:
        self._idle = 0.0
        return time.perf_counter()

    def _ask(self, row: int, *, null: bool = False) -> None:
        self._slots.put(row)
        self._flight[self.seq] = row
        more = b',"null":true}\n' if null else b"}\n"
        self._channel.post(b'{"type":"ask","seq":%d,"row":%d%b' % (self.seq, row, more))
        self.seq += 1

    def _collect(self, wait: float) -> list[Message]:
        start = time.perf_counter()
        found = self._channel.collect(wait, self._awake)
        self._idle += time.perf_counter() - start
        if not found and time.monotonic() >= self.until:
            raise WireTimeout
        return found

    def _take(self, message: Message) -> None:
        seq = message.get("seq")
        row = self._flight.pop(seq, None) if isinstance(seq, int) else None
        if row is None or message["type"] not in ("answered", "error"):
            raise WireError(f"answered what it was not asked, or twice: {str(message)[:80]}")
        if message["type"] == "error":
            self.error = self.error or message
            return
        self._slots.fetch(row)
        self._answered[row] = time.perf_counter()

    def _times(self, rows: range, due: Sequence[float], sent: Sequence[float], began: float) -> Times:
        wall = time.perf_counter() - began
        answered = np.array([self._answered.get(row, np.nan) for row in rows])
        return Times(_padded(due, len(rows)), _padded(sent, len(rows)), answered, 1 - self._idle / max(wall, 1e-9))


def _padded(values: Sequence[float], length: int) -> Floats:
    """NaN for queries that were not asked any more."""
    return np.array([*values, *[np.nan] * (length - len(values))])
