"""Talks to one worker: one message, one answer; whatever goes wrong on the wire becomes a named outcome."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NoReturn

from ann_bench.judge.failure import EntryFailure, from_exit
from ann_bench.results.model import Status
from ann_bench.sandbox import Exit, InForce, SandboxLost, Session
from ann_bench.wire import Message, WireClosed, WireError, WireTimeout
from ann_bench.workload import Limits

#: What a worker may report of an error, and the outcome that it is.
ERRORS = {
    "exception": Status.CRASHED,
    "memory": Status.OUT_OF_MEMORY,
    "invalid-answer": Status.INVALID_ANSWER,
}


#: How often somebody hears that a long call goes on.
PAUSE_SECONDS = 1.0


class Exchange:
    """The wire to one worker, from its first message to its end.

    `meanwhile` is told about once a second what memory the worker holds, as long as a call goes on that is no batch of
    queries. Every method but those that end or stop the worker raises EntryFailure when the entry fails; after one that
    is `over`, only `close` is left.
    """

    def __init__(self, session: Session, limits: Limits) -> None:
        self.session = session
        self.limits = limits
        self.in_force: InForce | None = None
        self.meanwhile: Callable[[int], None] | None = None
        self._seq = 0
        self._began: float | None = None
        self._end: Exit | None = None
        self._resting = False

    def check_limits(self, doing: str) -> None:
        """Read back what the worker is really under; anything but what was asked breaks the rules."""
        found: InForce = self._guard(doing, self.session.in_force)
        self.in_force = found
        asked = InForce(self.limits.cpus, self.limits.memory_bytes)
        if (found.cpus, found.memory_bytes, found.swap_bytes) != (asked.cpus, asked.memory_bytes, asked.swap_bytes):
            self._broken(f"was given {_in_words(found)} instead of {_in_words(asked)} (seen at {doing})")

    def log(self) -> str:
        """What the entry has printed so far."""
        try:
            return self._end.log if self._end else self.session.log()
        except SandboxLost:
            return self.abandon().log

    def rest(self) -> None:
        """Stop the worker and all its children until `wake`: others are measured."""
        if self._end is None and not self._resting:
            self._resting = True
            self.session.pause()

    def wake(self) -> None:
        """Let the worker go on."""
        if self._end is None and self._resting:
            self.session.resume()
        self._resting = False

    def close(self) -> Exit:
        """End the worker, politely first; may be called twice."""
        self.wake()
        if self._end is None:
            try:
                self._send({"type": "quit"})
            except (WireClosed, WireError, WireTimeout):
                self.session.kill()
            self._end = self.session.close()
        return self._end

    def abandon(self) -> Exit:
        """End the worker at once."""
        self.wake()
        if self._end is None:
            self.session.kill()
            self._end = self.session.close(0.0)
        return self._end

    def _bound(self, limit: float) -> float:
        """The time that is left for an operation: its own limit, or what is left of the whole run."""
        if self.limits.run_seconds is None or self._began is None:
            return limit
        return max(0.0, min(limit, self._began + self.limits.run_seconds - time.monotonic()))

    def _ask(self, message: Message, doing: str, limit: float, expected: str = "done") -> Message:
        """Send a message and wait for its answer, untimed."""

        def exchange() -> Message:
            self._send(message)
            return self._receive(self._bound(limit))

        reply: Message = self._guard(doing, exchange)
        self._check(reply, doing, expected)
        return reply

    def _receive(self, limit: float) -> Message:
        """The next message, while somebody hears that it is waited for."""
        channel, until = self.session.channel, time.monotonic() + limit
        while self.meanwhile is not None and (left := until - time.monotonic()) > 0:
            if channel.wait(min(PAUSE_SECONDS, left)):
                break
            self.meanwhile(self.session.reading().memory_bytes)
        return channel.receive(max(0.0, until - time.monotonic()))

    def _send(self, message: Message) -> None:
        self._seq += 1
        self.session.channel.send({**message, "seq": self._seq})

    def _guard(self, doing: str, call: Callable[[], Any]) -> Any:
        """Turn what can go wrong on the wire into a named outcome."""
        try:
            return call()
        except WireTimeout:
            limit = "the time that was left" if self.limits.run_seconds else "its time limit"
            self.abandon()
            raise EntryFailure(Status.TIMEOUT, f"{doing} took longer than {limit}") from None
        except SandboxLost:
            self.abandon()
            raise EntryFailure(Status.RULE_BROKEN, f"silenced or ended its keeper during {doing}") from None
        except WireClosed:
            end = self._end = self.session.close(1.0)
            raise from_exit(end, doing) from None
        except WireError as error:
            self._broken(f"broke the wire protocol during {doing}: {error}")

    def _check(self, reply: Message, doing: str, expected: str, token: str | None = None) -> None:
        if reply.get("type") == "done" and reply.get("token") != token:
            self._broken(f"spoke out of turn during {doing}: {str(reply)[:80]}")
        if reply.get("seq") != self._seq or reply["type"] not in (expected, "error"):
            self._broken(f"spoke out of turn during {doing}: {str(reply)[:80]}")
        if reply["type"] == "error":
            raise self._failed(reply, doing)

    def _failed(self, reply: Message, doing: str) -> EntryFailure:
        """What the worker reports of an error."""
        status = ERRORS.get(str(reply.get("kind")))
        if status is None:
            self._broken(f"reported an error of no known kind during {doing}")
        return EntryFailure(status, f"{doing}: {reply.get('text', '')}", over=False)

    def _broken(self, detail: str) -> NoReturn:
        self.abandon()
        raise EntryFailure(Status.RULE_BROKEN, detail)


def _in_words(limits: InForce) -> str:
    swap = f" and {limits.swap_bytes / 2**20:,.0f} MiB of swap" if limits.swap_bytes else ""
    return f"{limits.cpus} CPUs and {limits.memory_bytes / 2**20:,.0f} MiB{swap}"
