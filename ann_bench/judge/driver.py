"""Drives one index: from the start of its worker to its end, every call timed from here."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from ann_bench.arrays import Array, CsrRef, Ref
from ann_bench.datasets.dataset import Dataset
from ann_bench.entries.entry import Entry
from ann_bench.judge.asked import Asked
from ann_bench.judge.asker import Asker
from ann_bench.judge.buffers import Batch
from ann_bench.judge.failure import EntryFailure, from_exit
from ann_bench.judge.pattern import NULLS, Pattern, Served, with_nulls
from ann_bench.judge.ranges import most_answers
from ann_bench.judge.slots import Slots
from ann_bench.ragged import Ragged
from ann_bench.results.model import Status, Usage
from ann_bench.sandbox import Exit, InForce, Reading, SandboxLost, Session
from ann_bench.wire import PROTOCOL, UNANSWERED, Message, WireClosed, WireError, WireTimeout
from ann_bench.workload import Build, Delete, Insert, Limits, Operation, Replace, Search

#: Time for the worker to start and to import the entry; no index is built in it.
START_SECONDS = 120.0

#: Time for calls that have nothing to compute.
SHORT_SECONDS = 60.0

#: CPU time is counted in ticks, and read a moment before and after the window.
CPU_SLACK = 1.1
CPU_SLACK_SECONDS = 0.3

_ERRORS = {
    "exception": Status.CRASHED,
    "memory": Status.OUT_OF_MEMORY,
    "invalid-answer": Status.INVALID_ANSWER,
}

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


@dataclass
class Driver:
    """One index in one worker; `asked` is what adapters want to know of the searches (`Workload.asked`).

    `serves` is what the worker says of itself: whether it takes queries one by one, many of them in flight.
    Every method raises EntryFailure when the entry fails; after one that is `over`, only `close` is left.
    """

    session: Session
    dataset: Dataset
    limits: Limits
    asked: Mapping[str, Any] = field(default_factory=dict)
    in_force: InForce | None = None
    serves: bool = False
    _seq: int = 0
    _inside: float = 0.0
    _mark: tuple[float, float] = (0.0, 0.0)
    _counted: float | None = None
    _began: float | None = None
    _first_ns: int = 0
    _end: Exit | None = field(default=None)
    _resting: bool = False

    def start(self, entry: Entry, build: dict[str, Any], needs: Mapping[str, str] | None = None) -> Window:
        """Wait for the worker's call and let it make the entry's object.

        `needs` names methods that it must have, and what each is for.
        """
        self.greet()
        self.check_limits("its start")
        return self.create(entry, build, needs)

    def greet(self) -> None:
        """Wait for the worker's call and its first message."""
        self._guard("its start", self._called)
        hello = self._guard("its start", lambda: self.session.channel.receive(self._start_seconds))
        if hello.get("type") != "hello":
            self._broken(f"its first message is no hello: {str(hello)[:80]}; docs/wire.md has the protocol")
        if hello.get("protocol") != PROTOCOL:
            spoken = str(hello.get("protocol"))[:40]
            self._broken(f"speaks version {spoken} of the wire protocol, the judge speaks {PROTOCOL}; see docs/wire.md")
        self.serves = hello.get("asks") is True

    def _called(self) -> None:
        start = time.monotonic()
        try:
            _ = self.session.channel
        except WireTimeout:
            self.abandon()
            detail = f"never connected to the socket of ANN_BENCH_SOCKET, in {time.monotonic() - start:.0f} s"
            raise EntryFailure(Status.TIMEOUT, detail) from None

    def create(
        self, entry: Entry, build: dict[str, Any], needs: Mapping[str, str] | None = None, *, strided: bool = False
    ) -> Window:
        """Let the worker make the entry's object; a worker that has one already makes another in its place.

        `strided` asks for vectors with gaps between their values, which no run has.
        """
        data = self.dataset
        common = {"metric": data.metric, "dim": data.dim, "dtype": data.dtype, "threads": self.limits.cpus}
        folder = self.session.inside(str(entry.folder))
        kind = {"entry": folder, "class": entry.config.class_, "needs": dict(needs or {}), "asked": dict(self.asked)}
        message = {"type": "create", **kind, "common": common, "build": build, **({"strided": True} if strided else {})}
        self._first_ns = time.perf_counter_ns()
        limit = max(self._start_seconds, entry.config.start_seconds or 0)
        return self._watched(message, "its import and constructor", limit)

    @property
    def _start_seconds(self) -> float:
        return min(START_SECONDS, max(SHORT_SECONDS / 2, self.limits.build_seconds))

    def set_query_arguments(self, arguments: dict[str, Any]) -> Window:
        """Hand over one query config: a short call, no place to build in."""
        message = {"type": "set", "arguments": arguments}
        return self._watched(message, "set_query_arguments()", min(SHORT_SECONDS, self.limits.operation_seconds))

    def stats(self) -> dict[str, Any]:
        """The entry's own counters."""
        limit = min(SHORT_SECONDS, self.limits.operation_seconds)
        stats = self._ask({"type": "stats"}, "stats()", limit).get("stats")
        if not isinstance(stats, dict):
            self._broken(f"sent stats that are none: {str(stats)[:80]}")
        # JSON may hold half of a character, which no file takes
        clean: dict[str, Any] = json.loads(json.dumps(stats, ensure_ascii=False).encode("utf-8", "replace"))
        return clean

    def save(self, folder: str) -> bool:
        """Let the index be written into an empty folder, by its path on this machine; False where the entry cannot."""
        return self._keep("save", folder)

    def load(self, folder: str) -> bool:
        """Let the index be read from where another worker saved it, in place of a build; False where it cannot."""
        return self._keep("load", folder)

    def _keep(self, kind: str, folder: str) -> bool:
        message = {"type": kind, "folder": self.session.inside(folder)}
        supported = self._ask(message, f"{kind}()", self.limits.build_seconds).get("supported")
        if not isinstance(supported, bool):
            self._broken(f"did not say whether it supports {kind}()")
        return supported

    def change(self, operation: Operation, spent: float = 0.0) -> Window:
        """Build, insert, delete or replace; `spent` seconds of the time for one operation are used up already."""
        if isinstance(operation, Build):
            learn = self._ref(self.dataset.learn)
            message = {"type": "build", "learn": learn, **self._rows(operation.rows)}
            return self._timed(message, "fit()", self.limits.build_seconds)
        limit = max(0.0, self.limits.operation_seconds - spent)
        if isinstance(operation, Delete):
            message = {"type": "delete", **_span("ids", operation.ids)}
            return self._timed(message, "delete()", limit)
        assert isinstance(operation, Insert | Replace)
        kind = type(operation).__name__.lower()
        message = {"type": kind, **_span("ids", operation.ids), **self._rows(operation.rows)}
        return self._timed(message, f"{kind}()", limit)

    def setup(self, max_points: int) -> Window:
        """Announce a stream."""
        message = {"type": "setup", "max_points": max_points}
        return self._timed(message, "setup()", self.limits.operation_seconds)

    def search(self, asked: Asked, search: Search, order: npt.NDArray[np.intp]) -> tuple[Array | Ragged, Window]:
        """One batch, its queries in this order; the answers come back in the order of the query set.

        They are ids (queries, k), or those within the radius, as they are stored, of which there may be `most_answers`.
        """
        most = most_answers(len(order), self.dataset.rows)
        queries, tags = asked.take(order)
        doing = "query()" if search.radius is None else "range_query()"
        batch = self._guard(doing, lambda: Batch(self.session, queries, tags, search, most))
        try:
            message = {
                "type": "search",
                **({"k": search.k} if search.radius is None else {"radius": search.radius, "most": most}),
                "queries": self._ref(batch.queries),
                "query_tags": self._ref(batch.tags),
                "answers": self._ref(batch.answers),
            }
            taken: list[tuple[Array | Ragged, int]] = []
            window = self._timed(
                message, doing, self.limits.operation_seconds, batch.fill, lambda: taken.append(batch.take())
            )
        finally:
            batch.remove()
        ids, missing = taken[0]
        if missing:
            self._broken(f"said done before {missing:,} of its answers were written")
        if isinstance(ids, Ragged):
            return ids.take(np.argsort(order)), window
        back = np.empty_like(ids)
        back[order] = ids
        return back, window

    def serve(
        self, asked: Asked, search: Search, order: npt.NDArray[np.intp], pattern: Pattern
    ) -> tuple[Array, Window, Served]:
        """The same queries one by one, in this order and pattern; answers and times in the order of the query set."""
        doing, limit = "query()", self.limits.operation_seconds
        count = len(order)
        queries, tags = with_nulls(asked.take(order))
        slots = self._guard(doing, lambda: Slots(self.session, queries, tags, search))
        try:
            message = {
                "type": "serve",
                "k": search.k,
                "callers": pattern.callers,
                "queries": self._ref(slots.queries),
                "query_tags": self._ref(slots.tags),
                "answers": self._ref(slots.answers),
            }
            self._ask(message, doing, limit, expected="ready")
            asker = Asker(
                self.session.channel, slots, self._seq + 1, time.monotonic() + limit + pattern.span, awake=pattern.alone
            )
            clients = pattern.clients if pattern.schedule is None else 1
            ends = [range(count, count + NULLS), range(count + NULLS, count + 2 * NULLS)]
            nulls = [self._guard(doing, lambda: asker.closed(ends[0], clients, null=True))]
            times, window = self._measured(doing, lambda: pattern.ask(asker, range(count)))
            nulls.append(self._guard(doing, lambda: asker.closed(ends[1], clients, null=True)))
            self._seq = asker.seq - 1
            self._ask({"type": "rest"}, doing, limit)
        finally:
            slots.remove()
        if asker.error is not None:
            raise self._failed(asker.error, doing)
        self._within_cpus(window, doing)
        missing = int((slots.got == UNANSWERED).any(axis=1).sum())
        if missing:
            self._broken(f"said answered before {missing:,} of its answers were written")
        back = np.empty_like(slots.got[:count])
        back[order] = slots.got[:count]
        return back, window, Served.of(times, nulls, order, pattern)

    def check_limits(self, doing: str) -> None:
        """Read back what the worker is really under; anything but what was asked breaks the rules."""
        found: InForce = self._guard(doing, self.session.in_force)
        self.in_force = found
        asked = InForce(self.limits.cpus, self.limits.memory_bytes)
        if (found.cpus, found.memory_bytes, found.swap_bytes) != (asked.cpus, asked.memory_bytes, asked.swap_bytes):
            self._broken(f"was given {_in_words(found)} instead of {_in_words(asked)} (seen at {doing})")

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

    def _timed(
        self,
        message: Message,
        doing: str,
        limit: float,
        fill: Callable[[], None] | None = None,
        take: Callable[[], None] | None = None,
    ) -> Window:
        """Send the message, wait for `ready`, then time from `go` to `done`."""
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
            reply = channel.receive(bound)
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

    def _bound(self, limit: float) -> float:
        """The time that is left for an operation: its own limit, or what is left of the whole run."""
        if self.limits.run_seconds is None or self._began is None:
            return limit
        return max(0.0, min(limit, self._began + self.limits.run_seconds - time.monotonic()))

    def _ask(self, message: Message, doing: str, limit: float, expected: str = "done") -> Message:
        """Send a message and wait for its answer, untimed."""

        def exchange() -> Message:
            self._send(message)
            return self.session.channel.receive(self._bound(limit))

        reply: Message = self._guard(doing, exchange)
        self._check(reply, doing, expected)
        return reply

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
        status = _ERRORS.get(str(reply.get("kind")))
        if status is None:
            self._broken(f"reported an error of no known kind during {doing}")
        return EntryFailure(status, f"{doing}: {reply.get('text', '')}", over=False)

    def _broken(self, detail: str) -> NoReturn:
        self.abandon()
        raise EntryFailure(Status.RULE_BROKEN, detail)

    def _ref(self, ref: Ref | None) -> dict[str, Any] | None:
        """A place in a file, as the worker sees it."""
        if ref is None:
            return None
        if isinstance(ref, CsrRef):
            indptr, indices, data = (p.at(self.session.inside(p.path)) for p in (ref.indptr, ref.indices, ref.data))
            return CsrRef(indptr, indices, data, ref.shape).to_json()
        return ref.at(self.session.inside(ref.path)).to_json()

    def _rows(self, rows: range) -> Message:
        return {"base": self._ref(self.dataset.base), "tags": self._ref(self.dataset.tags), **_span("rows", rows)}


def _in_words(limits: InForce) -> str:
    swap = f" and {limits.swap_bytes / 2**20:,.0f} MiB of swap" if limits.swap_bytes else ""
    return f"{limits.cpus} CPUs and {limits.memory_bytes / 2**20:,.0f} MiB{swap}"


def _span(name: str, span: range) -> Message:
    return {name: [span.start, span.stop]}
