"""Two entries measured in turn, batch by batch, so that whatever the machine does meets both alike."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import numpy as np

from ann_bench.compare.verdict import PAIR
from ann_bench.errors import UsageError
from ann_bench.judge.asked import published
from ann_bench.judge.driver import Driver, Window
from ann_bench.judge.failure import EntryFailure, outcome_of
from ann_bench.judge.measure import files
from ann_bench.judge.plan import Job, Setting
from ann_bench.judge.record import Questions, Record
from ann_bench.results.model import Bundle, Step
from ann_bench.sandbox import WorkerSpec
from ann_bench.workload import Build, Search

log = logging.getLogger(__name__)


@dataclass
class _Side:
    """One of the two: a record for each query config, and the worker that answers now."""

    job: Job
    records: list[Record]
    driver: Driver | None = None
    steps: list[Step] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return any(record.failed for record in self.records)


def measure_pair(
    setting: Setting, jobs: tuple[Job, Job], questions: Questions, keep: Callable[[int, Bundle], None]
) -> None:
    """Measure all the query configs of two entries; `keep` gets side (0 or 1) and bundle of each, failed or not.

    Both hold their index at the same time, on the same CPUs; while one answers, the other waits. Who goes first, and
    the order of the query configs, is drawn anew for every run. There is no control batch.
    Raises UsageError where searches change the index, or an entry is not there.
    """
    if setting.workload.mutates:
        raise UsageError(f"the track {setting.track.name!r} changes its index: two of its entries are not compared so")
    for job in jobs:
        if job.refusal is not None:
            raise UsageError(f"{job.entry.name}: {job.refusal.status.value} ({job.refusal.detail})")
    seed, token = 1 + secrets.randbits(62), secrets.token_hex(8)
    sides = [_Side(job, [Record(setting, config, seed, job.environment) for config in job.configs]) for job in jobs]
    rng = np.random.default_rng(seed)
    for build in range(setting.builds):
        with ExitStack() as stack:
            for place in rng.permutation(2):
                _prepare(setting, sides[place], build, stack)
            for run in range(setting.runs):
                for side, record in _turns(sides, rng):
                    _batch(setting, side, record, (build, run))
            for side in sides:
                _finish(side, build)
        log.info("build %d of %d: both measured, %d runs in turn", build + 1, setting.builds, setting.runs)
    for place, side in enumerate(sides):
        for record in side.records:
            bundle = record.bundle(questions)
            keep(place, replace(bundle, provenance={**bundle.provenance, PAIR: token}))


def _turns(sides: Sequence[_Side], rng: np.random.Generator) -> list[tuple[_Side, Record]]:
    """Every record of both once: in pairs as long as both have some left, in random order."""
    first, second = (sides[place] for place in rng.permutation(2))
    orders = [[(side, side.records[place]) for place in rng.permutation(len(side.records))] for side in (first, second)]
    longest = max(map(len, orders))
    return [order[place] for place in range(longest) for order in orders if place < len(order)]


def _prepare(setting: Setting, side: _Side, build: int, stack: ExitStack) -> None:
    """A worker with an index, where the entry has not failed before."""
    if side.failed:
        return
    dataset = side.job.dataset(setting.dataset)
    spec = WorkerSpec(side.job.entry, setting.limits, setting.cpus, tuple(files(dataset)))
    driver = side.driver = Driver(setting.sandbox.open(spec), dataset, setting.limits, setting.workload.asked)
    stack.callback(driver.close)
    first = setting.workload.operations[0]
    assert isinstance(first, Build)
    ranged = any(search.radius is not None for search in setting.workload.searches)
    try:
        created = driver.start(side.job.entry, side.job.build, {"range_query": "range search"} if ranged else {})
        built = driver.change(first)
        driver.begin()
    except EntryFailure as failure:
        _failed(side, failure)
        return
    steps = [_step(build, "create", created), _step(build, "build", built, operation=0, points=len(first.rows))]
    for record in side.records:
        record.steps += steps


def _batch(setting: Setting, side: _Side, record: Record, place: tuple[int, int]) -> None:
    """One run of one query config."""
    driver, (build, run) = side.driver, place
    if driver is None or side.failed:
        return
    operations = setting.workload.operations
    places = [index for index, operation in enumerate(operations) if isinstance(operation, Search)]
    try:
        record.steps.append(_step(build, "set", driver.set_query_arguments(record.config.query)))
        for search, operation in enumerate(setting.workload.searches):
            where = (build, run, search)
            ids, window = driver.search(published(setting.dataset, operation), operation, record.order(*where))
            record.add(where, ids, window)
            step = _step(build, "search", window, operation=places[search], points=operation.queries)
            record.steps.append(replace(step, run=run))
    except EntryFailure as failure:
        _failed(side, failure)


def _finish(side: _Side, build: int) -> None:
    """What the worker has used, and whether its limits still hold."""
    driver, side.driver = side.driver, None
    if driver is None:
        return
    if not side.failed:
        try:
            driver.check_limits("the end of a build")
        except EntryFailure as failure:
            _failed(side, failure, driver)
    usage = driver.usage()
    for record in side.records:
        record.in_force = driver.in_force
        record.charge(build, usage)


def _failed(side: _Side, failure: EntryFailure, driver: Driver | None = None) -> None:
    """All the query configs of a side fail together: there is nothing left to compare."""
    driver = driver or side.driver
    text = driver.log() if driver is not None else ""
    for record in side.records:
        record.outcome = outcome_of(failure, text)
    log.warning("%s: %s", side.job.entry.name, failure.detail)


def _step(build: int, kind: str, window: Window, *, operation: int = -1, points: int = 0) -> Step:
    return Step(
        build=build,
        operation=operation,
        kind=kind,
        seconds=window.seconds,
        cpu_seconds=window.cpu_seconds,
        began=window.began,
        memory_bytes=window.memory_bytes,
        points=points,
    )
