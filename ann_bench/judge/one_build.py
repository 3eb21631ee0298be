"""One build of an entry: its worker and index, and all the calls that are timed with it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ann_bench.arrays import Array, CsrRef
from ann_bench.datasets.dataset import Dataset
from ann_bench.judge.asked import Asked, published
from ann_bench.judge.blocks import blocks
from ann_bench.judge.driver import Driver, Window
from ann_bench.judge.events import REPORTED, Query, Teller, Work
from ann_bench.judge.failure import EntryFailure
from ann_bench.judge.pattern import Served
from ann_bench.judge.plan import Job, Setting
from ann_bench.judge.record import Questions, Record, taken
from ann_bench.judge.rounds import serve
from ann_bench.judge.seat import seated
from ann_bench.judge.single import once
from ann_bench.judge.variety import arguments
from ann_bench.ragged import Ragged
from ann_bench.results.model import Bundle, Status, Step
from ann_bench.sandbox import WorkerSpec
from ann_bench.workload import Build, Operation, Search

log = logging.getLogger(__name__)

_NO_ASKS = 'its hello does not say "asks": true, so that it takes no queries one by one (docs/wire.md)'

Keep = Callable[[Bundle], None]


@dataclass(frozen=True)
class Call:
    """Which call of an entry it is; the fields are those of a `Step`."""

    kind: str
    operation: int = -1
    run: int = -1
    points: int = 0


@dataclass(frozen=True)
class OneBuild:
    """One of the builds of a job."""

    setting: Setting
    job: Job
    build: int
    questions: Questions
    keep: Keep
    seed: int
    teller: Teller = field(default_factory=Teller)

    def work(self, kind: str, query: Query | None = None, number: int = 0, total: int = 0) -> Work:
        """Something that is done here, as it is told."""
        return Work(self.job.entry.name, kind, query, number, total)

    def open(self) -> Driver:
        """Start a worker."""
        setting, dataset = self.setting, self.job.dataset(self.setting.shown.dataset)
        spec = WorkerSpec(self.job.entry, setting.limits, setting.cpus, tuple(files(dataset)))
        driver = Driver(setting.sandbox.open(spec), dataset, setting.limits, setting.workload.asked)
        driver.meanwhile = self.teller.goes_on if self.teller.is_heard else None
        return driver

    def prepare(self, driver: Driver, steps: list[Step]) -> None:
        """All that comes before the first query config: the object, and the index where searches share it."""
        ranged = any(search.radius is not None for search in self.setting.workload.searches)
        needs = {"range_query": "range search"} if ranged else {}
        given = arguments(self.job, self.seed, self.build)
        steps.append(self._step(Call("create"), driver.start(self.job.entry, given, needs)))
        if self.setting.mode is not None and not driver.serves:
            raise EntryFailure(Status.CRASHED, f"--mode {self.setting.mode.kind} is not supported: {_NO_ASKS}")
        first = self.setting.workload.operations[0]
        work = self.work("build" if isinstance(first, Build) else "setup", None, self.build + 1, self.setting.builds)
        self.teller.begins(work)
        if isinstance(first, Build):
            window = driver.change(first)
            steps.append(self._step(Call("build", 0, points=len(first.rows)), window))
            log.info("%s: built in %.2f s", self.job.entry.name, window.seconds, extra=REPORTED)
        else:
            steps.append(self._step(Call("setup"), driver.setup(self.setting.workload.max_points)))
        self.teller.ended(work, steps[-1:])

    def set(self, driver: Driver, record: Record) -> None:
        """Hand over a query config."""
        record.steps.append(self._step(Call("set"), driver.set_query_arguments(record.config.query)))

    def warm_up(self, driver: Driver, record: Record) -> None:
        """All the searches once, in no figure; what is answered is forgotten."""
        for search, operation in enumerate(self.setting.workload.searches):
            asked = self.setting.shown.asked(published(self.setting.dataset, operation))
            _, window = self._put(driver, record, asked, (self.build, self.setting.runs, search))
            record.steps.append(self._step(Call("warmup", points=operation.queries), window))

    def last(self, driver: Driver, record: Record) -> bool:
        """What comes after the runs of a config; returns whether the worker can go on."""
        self._control(driver, record)
        driver.check_limits("the end of a query config")
        return self._stats(driver, record)

    def _stats(self, driver: Driver, record: Record) -> bool:
        """The entry's own counters; what goes wrong with them takes nothing from what was measured."""
        try:
            record.stats = driver.stats()
        except EntryFailure as failure:
            record.stats = {"error": failure.detail}
            return not failure.over
        return True

    def run(self, run: int, driver: Driver, record: Record) -> None:
        """All the operations after the first build, once."""
        search = 0
        operations = self.setting.workload.operations
        for index, operation in enumerate(operations):
            if self.setting.workload.mutates:
                kind = type(operation).__name__.lower()
                step = self.work(kind, record.config.query, index + 1, len(operations))
                self.teller.begins(replace(step, step=True))
            try:
                if isinstance(operation, Search):
                    self._search((run, index, search), driver, record)
                    search += 1
                elif index or not isinstance(operation, Build):
                    self._change((run, index), driver, record)
            except EntryFailure as failure:
                if not self.setting.workload.mutates:
                    raise
                raise failure.within(f"step {index + 1:,} of {len(operations):,}") from failure

    def _search(self, place: tuple[int, int, int], driver: Driver, record: Record) -> None:
        """One batch of queries: of a run, at a place among the operations and among the searches."""
        run, index, search = place
        operation = self.setting.workload.searches[search]
        where = (self.build, run, search)
        shown = self.setting.shown
        asked = shown.asked(published(self.setting.dataset, operation))
        if self.setting.mode is None:
            ids, window = driver.search(asked, operation, record.order(*where))
            record.add(where, shown.back(ids), window)
            points = operation.queries
        else:
            answers, window, served = self._one_by_one(driver, record, asked, where)
            record.add_pass(where, shown.back(answers), window, served)
            points = len(answers) * operation.queries
        record.steps.append(self._step(Call("search", index, run, points), window))

    def _put(
        self, driver: Driver, record: Record, asked: Asked, where: tuple[int, int, int]
    ) -> tuple[Array | Ragged, Window]:
        """The queries of a batch in no run, which is where the place says that it is behind the last one; once each."""
        if self.setting.mode is None:
            return driver.search(asked, self.setting.workload.searches[where[2]], record.order(*where))
        answers, window, _ = self._one_by_one(driver, record, asked, where)
        return answers[0], window

    def _one_by_one(
        self, driver: Driver, record: Record, asked: Asked, where: tuple[int, int, int]
    ) -> tuple[Array, Window, Served]:
        """A pass of a run, or of a batch in none."""
        control = where[1] == self.setting.runs
        pattern = record.pattern((where[0], 0, where[2]) if control else where)
        assert pattern is not None
        search = self.setting.workload.searches[where[2]]
        with seated(self.setting.cpus) as record.apart:
            pattern = replace(once(pattern, search.queries) if control else pattern, alone=record.apart)
            return serve(driver, asked, search, record.orders(*where), pattern)

    def _change(self, place: tuple[int, int], driver: Driver, record: Record) -> None:
        """One insert, delete or replace of a run, block by block; together they have the time of one operation."""
        run, index = place
        operation = self.setting.workload.operations[index]
        kind, spent = type(operation).__name__.lower(), 0.0
        for block in blocks(operation, self.setting.dataset):
            window = driver.change(block, spent)
            spent += window.seconds
            record.steps.append(self._step(Call(kind, index, run, _points(block)), window))

    def _control(self, driver: Driver, record: Record) -> None:
        """Each search once more, with queries that nobody can have seen."""
        controls = self.questions.controls
        if controls is None:
            return
        operations = self.setting.workload.operations
        places = [index for index, operation in enumerate(operations) if isinstance(operation, Search)]
        for search, (index, operation) in enumerate(zip(places, self.setting.workload.searches, strict=True)):
            asked = self.setting.shown.asked(controls.asked(record.variant, search))
            where = self.build, self.setting.runs, search
            try:
                ids, window = self._put(driver, record, asked, where)
            except EntryFailure as failure:
                raise failure.within("the control batch") from failure
            ids = self.setting.shown.back(taken(ids, controls.numbers[search]))
            record.add_control((self.build, search), ids, window)
            record.steps.append(self._step(Call("control", index, points=operation.queries), window))

    def finished(self, record: Record) -> None:
        """This build of the config is done with; after the last one it becomes a bundle."""
        record.close(self.build, self.questions)
        if record.done:
            self.teller.begins(self.work("score", record.config.query))
            self.keep(record.bundle(self.questions))
            record.kept = True
            record.release()

    def _step(self, call: Call, window: Window) -> Step:
        return Step(
            build=self.build,
            operation=call.operation,
            kind=call.kind,
            seconds=window.seconds,
            cpu_seconds=window.cpu_seconds,
            run=call.run,
            began=window.began,
            memory_bytes=window.memory_bytes,
            points=call.points,
        )


def _points(operation: Operation) -> int:
    """How many points or queries an operation carries."""
    if isinstance(operation, Search):
        return operation.queries
    return len(operation.rows if isinstance(operation, Build) else operation.ids)


def files(dataset: Dataset) -> list[Path]:
    """The files that an entry may read: base vectors, tags, learn queries; never queries or truth."""
    paths: set[str] = set()
    for ref in (dataset.base, dataset.tags, dataset.learn):
        if isinstance(ref, CsrRef):
            paths |= {part.path for part in (ref.indptr, ref.indices, ref.data)}
        elif ref is not None:
            paths.add(ref.path)
    return sorted(Path(path) for path in paths)
