"""Queries that come one by one, many of them in flight, and the threads that answer them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ann_bench.algorithm import Algorithm
from ann_bench.arrays import Array
from ann_bench.wire import Channel, Message
from ann_bench.worker.answers import checked
from ann_bench.worker.inputs import Input

#: How long a thread of Python may keep the others waiting, in seconds, while several answer: the usual 5 ms would show
#: in latencies.
SWITCH_SECONDS = 0.0005


@dataclass(frozen=True)
class Desk:
    """Answers single lines of the files that judge and worker share; safe to use from several threads."""

    entry: Algorithm
    queries: Input
    tags: Input
    answers: Array

    def answer(self, ask: Message) -> None:
        """One query; one that is `null` takes the same way, and the entry has no part in it."""
        row, k = ask["row"], self.answers.shape[1]
        query, tags = self.queries.line(row), self.tags.line(row)
        result = np.full((1, k), -1) if ask.get("null") else self.entry.query(query, k, tags)
        self.answers[row] = checked(result, (1, k))[0]


class Callers:
    """Threads that take asks from the wire in turn: the one that has read an ask answers it, another one reads on.

    No thread hands work to another, which would cost a query some ten microseconds. `as_error` makes the message that
    tells the judge of an exception.
    """

    def __init__(self, channel: Channel, desk: Desk, as_error: Callable[[int, Exception], Message]) -> None:
        self._channel, self._desk, self._as_error = channel, desk, as_error
        self._reading, self._writing = threading.Lock(), threading.Lock()
        self._rest: Message | None = None
        self._broken: Exception | None = None

    def serve(self, threads: int) -> Message:
        """Answer until `rest` has come and everything before it is answered; returns `rest`."""
        usual = sys.getswitchinterval()
        others = [threading.Thread(target=self._guarded, daemon=True) for _ in range(threads - 1)]
        if others:
            sys.setswitchinterval(min(usual, SWITCH_SECONDS))
        try:
            for thread in others:
                thread.start()
            self._guarded()
            for thread in others:
                thread.join()
        finally:
            sys.setswitchinterval(usual)
        if self._broken is not None:
            raise self._broken
        assert self._rest is not None
        return self._rest

    def _guarded(self) -> None:
        try:
            self._work()
        except Exception as error:  # noqa: BLE001  the wire is gone; raised again where all threads have ended
            self._broken = error

    def _work(self) -> None:
        while (ask := self._next()) is not None:
            seq = ask["seq"]
            try:
                self._desk.answer(ask)
            except Exception as error:  # noqa: BLE001  whatever an entry raises is a result with a name
                reply = self._as_error(seq, error)
            else:
                reply = {"type": "answered", "seq": seq}
            with self._writing:
                self._channel.send(reply)

    def _next(self) -> Message | None:
        """The next ask; None where there are no more."""
        with self._reading:
            if self._rest is not None or self._broken is not None:
                return None
            message = self._channel.receive()
            if message["type"] == "ask":
                return message
            self._rest = message
            return None
