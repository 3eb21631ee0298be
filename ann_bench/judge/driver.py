"""Drives one index: what can be asked of its worker, from its start to its end."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.arrays import Array, CsrRef, Ref
from ann_bench.datasets.dataset import Dataset
from ann_bench.entries.entry import Entry
from ann_bench.judge.asked import Asked
from ann_bench.judge.asker import Asker
from ann_bench.judge.buffers import Batch
from ann_bench.judge.failure import EntryFailure
from ann_bench.judge.pattern import NULLS, Pattern, Served, in_order, with_nulls
from ann_bench.judge.ranges import most_answers
from ann_bench.judge.slots import Slots
from ann_bench.judge.stopwatch import Stopwatch, Window
from ann_bench.ragged import Ragged
from ann_bench.results.model import Status
from ann_bench.sandbox import Session
from ann_bench.wire import PROTOCOL, UNANSWERED, Message, WireTimeout
from ann_bench.workload import Build, Delete, Insert, Limits, Operation, Replace, Search

__all__ = ["Driver", "Window"]

#: Time for the worker to start and to import the entry; no index is built in it.
START_SECONDS = 120.0

#: Time for calls that have nothing to compute.
SHORT_SECONDS = 60.0


class Driver(Stopwatch):
    """One index in one worker; `asked` is what adapters want to know of the searches (`Workload.asked`).

    `serves` is what the worker says of itself: whether it takes queries one by one, many of them in flight.
    Every method raises EntryFailure when the entry fails; after one that is `over`, only `close` is left.
    """

    def __init__(
        self, session: Session, dataset: Dataset, limits: Limits, asked: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(session, limits)
        self.dataset = dataset
        self.asked = dict(asked or {})
        self.serves = False

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
        """The queries one by one, in a pattern; `order` (rounds, queries) says which, each round asks all of them.

        Answers (rounds, queries, k) and times are in the order of the query set.
        """
        doing, limit = "query()", self.limits.operation_seconds
        count = order.size
        queries, tags = with_nulls(asked.take(order.ravel()))
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
        return in_order(slots.got[:count], order), window, Served.of(times, nulls, order, pattern)

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


def _span(name: str, span: range) -> Message:
    return {name: [span.start, span.stop]}
