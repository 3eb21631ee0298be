"""Measure one job: builds, query configs, repeats; whatever the entry does, every configuration gets a result."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from ann_bench.arrays import Array, CsrRef
from ann_bench.datasets.dataset import Dataset
from ann_bench.judge.asked import Asked, published
from ann_bench.judge.blocks import blocks
from ann_bench.judge.driver import Driver, Window
from ann_bench.judge.events import REPORTED, Query, TakesTurns, Teller, Watch, Work, unwatched
from ann_bench.judge.failure import EntryFailure
from ann_bench.judge.party import Journal, Seat, Team, parties, play
from ann_bench.judge.pattern import Served
from ann_bench.judge.plan import Config, Job, Setting
from ann_bench.judge.record import Questions, Record, taken
from ann_bench.judge.repeat import Spent
from ann_bench.judge.rounds import serve
from ann_bench.judge.seat import seated
from ann_bench.judge.single import once
from ann_bench.judge.variety import arguments, orders
from ann_bench.ragged import Ragged
from ann_bench.results.model import Bundle, Status, Step
from ann_bench.sandbox import WorkerSpec
from ann_bench.workload import Build, Operation, Search

log = logging.getLogger(__name__)

#: The seed of a result that was never started.
REFUSED = 0

_NO_ASKS = 'its hello does not say "asks": true, so that it takes no queries one by one (docs/wire.md)'

Keep = Callable[[Bundle], None]
KeepOf = Callable[[Job, Bundle], None]
Wanted = Sequence[tuple[Job, Sequence[Config]]]


def measure(setting: Setting, job: Job, configs: Sequence[Config], questions: Questions, keep: Keep) -> None:
    """Measure these configs of one job; `keep` gets each bundle as soon as it is complete."""
    measure_together(setting, [(job, configs)], questions, lambda _, bundle: keep(bundle))


def measure_together(
    setting: Setting,
    wanted: Wanted,
    questions: Questions,
    keep: KeepOf,
    watch: Watch = unwatched,
    *,
    in_turn: bool = False,
) -> None:
    """Measure these configs of several jobs; `keep` gets each bundle, and its job, as soon as it is complete.

    An index that searches do not change serves all the query configs of a build. Jobs whose workers fit into memory at
    once take turns. What changes in the course of a run serves one query config: all its builds, then those of the
    next; or, `in_turn`, one build of each after the other (results are then complete with the last builds, and the
    answers of all of them are held until then).
    """
    # the order of the queries is nothing that an entry could know, but where a result is measured once more
    seed = setting.seed or 1 + secrets.randbits(62)
    teams = [_team(setting, job, configs, seed) for job, configs in wanted]
    if setting.workload.mutates:
        streams = [(team, record) for team in teams for record in team.records]
        for group in [streams] if in_turn else [[one] for one in streams]:
            _streams(setting, group, questions, keep, watch)
        return
    for party in parties(setting, teams):
        watch(TakesTurns([team.job.entry.name for team in party]))
        journal = Journal.of(setting, party)
        for team in party:
            for record in team.records:
                record.journal = journal
        for build in range(setting.builds):
            pending = [team for team in party if team.pending(build)]
            with orders(setting, [team.job for team in pending], seed, build) as seen:
                ones = [
                    OneBuild(shown, team.job, build, questions, partial(keep, team.job), seed, Teller(watch))
                    for shown, team in zip(seen, pending, strict=True)
                ]
                while left := [(one, team) for one, team in zip(ones, pending, strict=True) if team.pending(build)]:
                    _turns(left, np.random.default_rng([seed, build]))


def _team(setting: Setting, job: Job, configs: Sequence[Config], seed: int) -> Team:
    records = [Record(setting, config, seed, job.environment, place) for place, config in enumerate(configs)]
    spent = Spent()
    for record in () if setting.workload.mutates else records:  # each config of a stream has builds of its own
        record.spent = spent
    return Team(job, records)


def _streams(
    setting: Setting, group: Sequence[tuple[Team, Record]], questions: Questions, keep: KeepOf, watch: Watch
) -> None:
    """All the builds of some query configs of streams, one build of each in a random order after the other."""
    watch(TakesTurns(sorted({team.job.entry.name for team, _ in group})))
    journal = Journal.of(setting, list({id(team): team for team, _ in group}.values()))
    for _, record in group:
        record.journal = journal
    for build in range(setting.builds):
        for place in np.random.default_rng([group[0][1].seed, build]).permutation(len(group)):
            team, record = group[place]
            if not record.done:
                one = OneBuild(setting, team.job, build, questions, partial(keep, team.job), record.seed, Teller(watch))
                _turns([(one, Team(team.job, [record]))], np.random.default_rng(0))


def _turns(parts: Sequence[tuple[OneBuild, Team]], rng: np.random.Generator) -> None:
    """One build of each of these jobs; what is left of a job whose worker was lost stays pending."""
    seats: list[Seat] = []
    try:
        for one, team in parts:
            seat = Seat(one, team.pending(one.build), together=len(parts) > 1)
            seats.append(seat)
            seat.open()
        play(seats, rng)
    except BaseException:
        for seat in seats:
            seat.abandon()
        raise
    finally:
        for seat in seats:
            seat.leave()


def refuse(setting: Setting, job: Job, configs: Sequence[Config], questions: Questions, keep: Keep) -> None:
    """Store why the job was not even started."""
    for config in configs:
        record = Record(setting, config, REFUSED, job.environment)
        if job.refusal is not None:
            record.outcome = job.refusal
        keep(record.bundle(questions))


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
        driver.meanwhile = self.teller.goes_on
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
                self.teller.begins(self.work(kind, record.config.query, index + 1, len(operations)))
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
