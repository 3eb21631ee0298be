"""Measure one job: builds, query configs, repeats; whatever the entry does, every configuration gets a result."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ann_bench.arrays import CsrRef
from ann_bench.datasets.dataset import Dataset
from ann_bench.judge.asked import published
from ann_bench.judge.driver import Driver, Window
from ann_bench.judge.failure import EntryFailure, outcome_of
from ann_bench.judge.plan import Config, Job, Setting
from ann_bench.judge.record import Questions, Record
from ann_bench.results.model import Bundle, Step
from ann_bench.sandbox import WorkerSpec
from ann_bench.workload import Build, Search

log = logging.getLogger(__name__)

#: The seed of a result that was never started.
REFUSED = 0

Keep = Callable[[Bundle], None]


def measure(setting: Setting, job: Job, configs: Sequence[Config], questions: Questions, keep: Keep) -> None:
    """Measure these configs of the job; `keep` gets each bundle as soon as it is complete.

    An index that searches do not change serves all the query configs of a build, one after the other. Where one
    of them ends the worker, the rest goes on with a new one.
    """
    seed = 1 + secrets.randbits(62)  # the order of the queries is nothing that an entry could know
    records = [Record(setting, config, seed, job.environment, place) for place, config in enumerate(configs)]
    for build in range(setting.builds):
        one = _Build(setting, job, build, questions, keep)
        pending = [record for record in records if not record.failed]
        while pending:
            done = one.index(pending[:1] if setting.workload.mutates else pending)
            pending = pending[done:]


def refuse(setting: Setting, job: Job, configs: Sequence[Config], questions: Questions, keep: Keep) -> None:
    """Store why the job was not even started."""
    for config in configs:
        record = Record(setting, config, REFUSED, job.environment)
        if job.refusal is not None:
            record.outcome = job.refusal
        keep(record.bundle(questions))


@dataclass(frozen=True)
class _Build:
    """One of the builds of a job."""

    setting: Setting
    job: Job
    build: int
    questions: Questions
    keep: Keep

    def index(self, records: Sequence[Record]) -> int:
        """Build one index and measure configs with it; returns how many of them are done with, failed or not."""
        setting, dataset = self.setting, self.job.dataset(self.setting.dataset)
        spec = WorkerSpec(self.job.entry, setting.limits, setting.cpus, tuple(files(dataset)))
        driver = Driver(setting.sandbox.open(spec), dataset, setting.limits)
        try:
            return self._configs(driver, records)
        except EntryFailure as failure:  # no index: none of the configs can be measured
            text = driver.abandon().log
            for record in records:
                record.outcome = outcome_of(failure, text)
                record.in_force = driver.in_force
                record.usages.append(driver.usage())
                self._finished(record)
            return len(records)
        except BaseException:
            driver.abandon()
            raise
        finally:
            end = driver.close()
            if end.left_behind:
                log.warning("%s: left %d processes behind; they were ended", self.job.entry.name, end.left_behind)

    def _configs(self, driver: Driver, records: Sequence[Record]) -> int:
        steps = self._prepare(driver)
        for done, record in enumerate(records, start=1):
            record.steps += steps
            usable = self._config(driver, record)
            self._finished(record)
            if not usable:
                return done
        return len(records)

    def _prepare(self, driver: Driver) -> list[Step]:
        """All that comes before the first query config: the object, and the index where searches share it."""
        made = _step(self.build, "create", driver.start(self.job.entry, self.job.build))
        first = self.setting.workload.operations[0]
        if isinstance(first, Build):
            window = driver.change(first)
            log.info("%s: built in %.2f s", self.job.entry.name, window.seconds)
            return [made, _step(self.build, "build", window, 0)]
        return [made, _step(self.build, "setup", driver.setup(self.setting.workload.max_points))]

    def _config(self, driver: Driver, record: Record) -> bool:
        """Measure one config; returns whether the worker can go on to the next."""
        usable = True
        try:
            driver.begin()
            record.steps.append(_step(self.build, "set", driver.set_query_arguments(record.config.query)))
            for run in range(self.setting.runs):
                self._run(run, driver, record)
            self._control(driver, record)
            driver.check_limits("the end of a query config")
        except EntryFailure as failure:
            usable = not failure.over
            record.outcome = outcome_of(failure, driver.log())
        else:
            usable = self._stats(driver, record)
        record.in_force = driver.in_force
        record.usages.append(driver.usage())
        return usable

    def _stats(self, driver: Driver, record: Record) -> bool:
        """The entry's own counters; what goes wrong with them takes nothing from what was measured."""
        try:
            record.stats = driver.stats()
        except EntryFailure as failure:
            record.stats = {"error": failure.detail}
            return not failure.over
        return True

    def _run(self, run: int, driver: Driver, record: Record) -> None:
        """All the operations after the first build, once."""
        search = 0
        for index, operation in enumerate(self.setting.workload.operations):
            if isinstance(operation, Search):
                where = (self.build, run, search)
                asked = published(self.setting.dataset, operation)
                ids, window = driver.search(asked, operation.k, record.order(*where))
                record.add(where, ids, window)
                search += 1
            elif index or not isinstance(operation, Build):
                window = driver.change(operation)
                kind = type(operation).__name__.lower()
                record.steps.append(_step(self.build, kind, window, index))

    def _control(self, driver: Driver, record: Record) -> None:
        """Each search once more, with queries that nobody can have seen."""
        controls = self.questions.controls
        if controls is None:
            return
        for search, operation in enumerate(self.setting.workload.searches):
            asked = controls.asked(record.variant, search)
            order = record.order(self.build, self.setting.runs, search)
            try:
                ids, window = driver.search(asked, operation.k, order)
            except EntryFailure as failure:
                raise failure.within("the control batch") from failure
            record.add_control((self.build, search), ids[controls.numbers[search]], window)

    def _finished(self, record: Record) -> None:
        if record.failed or self.build == self.setting.builds - 1:
            self.keep(record.bundle(self.questions))


def _step(build: int, kind: str, window: Window, operation: int = -1) -> Step:
    return Step(build, operation, kind, window.seconds, window.cpu_seconds)


def files(dataset: Dataset) -> list[Path]:
    """The files that an entry may read: base vectors, tags, learn queries; never queries or truth."""
    paths: set[str] = set()
    for ref in (dataset.base, dataset.tags, dataset.learn):
        if isinstance(ref, CsrRef):
            paths |= {part.path for part in (ref.indptr, ref.indices, ref.data)}
        elif ref is not None:
            paths.add(ref.path)
    return sorted(Path(path) for path in paths)
