"""What is known of a run while it goes on, from the events that the judge tells."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from ann_bench.cli._live.forecast import Forecast, seconds_of
from ann_bench.judge.events import Began, Ended, Event, GoesOn, Kept, Left, Planned, TakesTurns, Work
from ann_bench.report.format import config, query_text
from ann_bench.results.figures import Figures


@dataclass
class Worker:
    """A living worker: what it does since when (None: it waits), and what memory it holds."""

    work: Work | None = None
    since: float = 0.0
    streams_since: float = 0.0
    memory_bytes: int = 0


@dataclass(frozen=True)
class Row:
    """A query config with what is known of it: of a result recall too, of one that is still measured only QPS."""

    entry: str
    query: str
    qps: float
    recall: float | None = None
    runs: int = 0


class Board:
    """The state of a run. `take` every event; drawing reads the rest. `clock` gives seconds."""

    def __init__(self, forecast: Forecast | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.began = clock()
        self.planned: Planned | None = None
        self.forecast = forecast or Forecast()
        self.workers: dict[str, Worker] = {}
        self.turns: list[str] = []
        self._started = False
        self.results: list[Figures] = []
        self._open: dict[str, list[str]] = {}
        self._rates: dict[tuple[str, str], list[float]] = {}

    def take(self, event: Event) -> None:
        """Take notice of an event."""
        match event:
            case Planned():
                self.planned, self.began = event, self.clock()
                self._open = {entry: [query_text(query) for query in queries] for entry, queries in event.wanted}
                self.forecast.plan(event)
            case TakesTurns():
                self.turns, self.workers, self._started = list(event.entries), {}, False
            case Began():
                self._begins(event.work)
            case GoesOn():
                self._worker(event.work).memory_bytes = event.memory_bytes
            case Ended():
                self._ended(event)
            case Left():
                self.workers.pop(event.entry, None)
            case Kept():
                self._kept(event)

    def _begins(self, work: Work) -> None:
        now, self._started = self.clock(), True
        worker = self._worker(work)
        if worker.work is not None and worker.work.step and work.step:
            self.forecast.ended(worker.work, now - worker.since)  # nobody tells of the end of a step
        for one in self.workers.values():
            one.work = None
        worker.work, worker.since = work, now
        if work.kind == "stream":
            worker.streams_since = now

    def _worker(self, work: Work) -> Worker:
        return self.workers.setdefault(work.entry, Worker())

    def _ended(self, event: Ended) -> None:
        worker, work = self._worker(event.work), event.work
        worker.work = None
        if event.steps:
            worker.memory_bytes = event.steps[-1].memory_bytes or worker.memory_bytes
        called = [step for step in event.steps if work.kind in (step.kind, "stream")]
        if called:
            self.forecast.ended(work, seconds_of(called))
        if work.kind == "search" and work.query is not None and (seconds := seconds_of(called)) > 0:
            rates = self._rates.setdefault((work.entry, query_text(work.query)), [])
            rates.append(sum(step.points for step in called) / seconds)

    def _kept(self, event: Kept) -> None:
        entry, query = event.figures.algorithm, query_text(event.query)
        self.results.append(event.figures)
        self._rates.pop((entry, query), None)
        still = self._open.get(entry, [])
        if query in still:
            still.remove(query)
        self.forecast.done(entry, event.query, last=not still)

    @property
    def elapsed(self) -> float:
        """Seconds since the measurement began."""
        return self.clock() - self.began

    @property
    def total(self) -> int:
        """How many results are to be made."""
        return sum(len(queries) for _, queries in self.planned.wanted) if self.planned else 0

    @property
    def waiting(self) -> list[str]:
        """Entries whose turn is still to come."""
        return [entry for entry, queries in self._open.items() if queries and entry not in self.turns]

    @property
    def is_before(self) -> bool:
        """Whether entries are about to take turns, and none of them has started."""
        return bool(self.turns) and not self.workers and not self._started

    @property
    def left(self) -> tuple[float, bool]:
        """Seconds that are likely to come, and whether all that is to be done is known; what goes on now counts."""
        seconds, whole = self.forecast.left()
        for worker in self.workers.values():
            if worker.work is not None:
                seconds -= self._passed(worker, worker.work)
        return max(0.0, seconds), whole

    def _passed(self, worker: Worker, work: Work) -> float:
        """Seconds of the time that is expected of this work that are over; of a stream nobody knows, less than none."""
        now = self.clock()
        if not work.step:
            return min(self.forecast.of(work) or 0.0, now - worker.since)
        expected, over = self.forecast.of(Work(work.entry, "stream", work.query)), now - worker.streams_since
        if expected is None:  # the steps to come take as long as those before, as far as anybody knows
            return over - over * work.total / (work.number - 1) if work.number > 1 else 0.0
        return min(expected, over)

    def _worth(self, one: Figures) -> tuple[bool, float]:
        """What ranks a result: recall enough, then speed; recall alone where it is not enough, or is what counts."""
        least = self.planned.setting.track.score.least_recall if self.planned else None
        enough = least is not None and one.recall >= least
        return enough, one.qps if enough else one.recall

    def best(self, count: int) -> list[Row]:
        """The best results so far, those that reach the recall of the track's score first; then what is measured."""
        good = sorted((one for one in self.results if one.ok), key=self._worth, reverse=True)
        rows = [Row(one.algorithm, config(one.query), one.qps, one.recall) for one in good]
        going = [Row(entry, query, median(rates), None, len(rates)) for (entry, query), rates in self._rates.items()]
        going.sort(key=lambda row: row.qps, reverse=True)
        return (rows + going)[:count]
