"""Workers that take turns, so that a machine that changes while it measures favours nobody.

The workers of several entries live at once, as far as their memory limits leave room. In every round each query config
of each of them asks one batch, in a random order. Those that wait are stopped: the threads of an index may spin for a
while after a call (up to 0.2 s in some libraries), on the CPUs of whoever is measured next.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil

from ann_bench.judge.canary import Canary
from ann_bench.judge.driver import Driver
from ann_bench.judge.events import Left
from ann_bench.judge.failure import EntryFailure, outcome_of
from ann_bench.judge.plan import Job, Setting
from ann_bench.results.model import Step

if TYPE_CHECKING:
    from ann_bench.judge.one_build import OneBuild
    from ann_bench.judge.record import Record

log = logging.getLogger(__name__)

#: The most workers that take turns: results are complete near the end of a party, and whoever interrupts one loses it.
MOST = 4


@dataclass(frozen=True)
class Team:
    """One job and its query configs."""

    job: Job
    records: Sequence[Record]

    def pending(self, build: int) -> list[Record]:
        """Those that are not done with in a build."""
        return [record for record in self.records if not record.is_closed(build)]


def parties(setting: Setting, teams: Sequence[Team]) -> Iterator[list[Team]]:
    """The teams in groups whose workers have room in memory together; one by one where a whole run has a time limit."""
    room = psutil.virtual_memory().available // setting.limits.memory_bytes
    size = 1 if setting.limits.run_seconds else max(1, min(MOST, int(room)))
    for first in range(0, len(teams), size):
        yield list(teams[first : first + size])


@dataclass(frozen=True)
class Journal:
    """What the results of a party share: who took turns, since when, and the canary."""

    names: Sequence[str]
    canary: Canary | None
    start: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, setting: Setting, party: Sequence[Team]) -> Journal:
        """A new one, now."""
        canary = Canary(setting.limits.cpus, setting.cpus) if setting.repeat.canary else None
        return cls([team.job.entry.name for team in party], canary)

    def to_json(self, began: dict[tuple[int, int], float]) -> dict[str, Any]:
        """For the provenance of a result: when each build, run began, in seconds since the party did."""
        turns = [[build, run, round(seconds, 3)] for (build, run), seconds in sorted(began.items())]
        told: dict[str, Any] = {"turns": {"of": list(self.names), "began": turns}}
        return {**told, "canary": self.canary.to_json()} if self.canary else told


@dataclass(frozen=True)
class Turn:
    """What a query config does in a turn: a call of its kind, the `number` of `total`, from 1; `last` is the end."""

    kind: str
    call: Callable[[Driver, Record], bool | None]
    number: int = 0
    total: int = 0
    last: bool = False


class Seat:
    """One worker with the index of one entry, and the query configs that it is measured with."""

    def __init__(self, one: OneBuild, records: Sequence[Record], *, together: bool) -> None:
        self.one = one
        self.records = list(records)
        self._together = together
        self._driver: Driver | None = None
        self._set: Record | None = None
        self._usable = False

    @property
    def open_records(self) -> list[Record]:
        """The query configs that are still to be measured here."""
        return [record for record in self.records if not record.is_closed(self.one.build)] if self._usable else []

    def open(self) -> None:
        """Start the worker and build the index; without one none of the configs can be measured."""
        steps: list[Step] = []
        self.one.teller.begins(self.one.work("start"))
        spent = self.records[0].spent
        with spent.counting():
            driver = self._driver = self.one.open()
        try:
            with spent.counting():
                self.one.prepare(driver, steps)
        except EntryFailure as failure:
            text = driver.abandon().log
            for record in self.records:
                record.steps += steps
                record.outcome = outcome_of(failure, text)
                record.in_force = driver.in_force
                record.charge(self.one.build, driver.usage())
                self.one.finished(record)
            return
        for record in self.records:
            record.steps += steps
        self._usable = True
        self._rest(driver)

    def turn(self, record: Record, turn: Turn) -> None:
        """Let one query config do one thing; a failure is its own. After the last thing it is done with here."""
        driver = self._driver
        if driver is None or not self._usable or record.is_closed(self.one.build):
            return
        known = len(record.steps)
        work = self.one.work(turn.kind, record.config.query, turn.number, turn.total)
        self.one.teller.begins(work)  # before the worker wakes: what drawing takes is no time of its
        driver.wake()
        with record.spent.counting():
            self._do(driver, record, turn)
        record.in_force = driver.in_force
        record.charge(self.one.build, driver.usage())
        if turn.last or record.failed:
            self.one.finished(record)
        if self._usable:
            self._rest(driver)
        if not record.failed:
            self.one.teller.ended(work, record.steps[known:])

    def _do(self, driver: Driver, record: Record, turn: Turn) -> None:
        """What a turn is for."""
        try:
            driver.begin()
            if self._set is not record:
                self.one.set(driver, record)
                self._set = record
            self._usable = turn.call(driver, record) is not False
        except EntryFailure as failure:
            self._usable = not failure.over
            self._set = None
            record.outcome = outcome_of(failure, driver.log())

    def _rest(self, driver: Driver) -> None:
        if self._together:
            driver.rest()

    def abandon(self) -> None:
        """End the worker at once."""
        if self._driver is not None:
            self._driver.abandon()

    def leave(self) -> None:
        """End the worker."""
        if self._driver is None:
            return
        end = self._driver.close()
        self.one.teller.watch(Left(self.one.job.entry.name))
        if end.left_behind:
            log.warning("%s: left %d processes behind; they were ended", self.one.job.entry.name, end.left_behind)

    def forget(self) -> None:
        """Configs that the worker was lost for are as they were before this build."""
        for record in self.records:
            if not record.is_closed(self.one.build):
                record.forget(self.one.build)


def play(seats: Sequence[Seat], rng: np.random.Generator) -> None:
    """Round after round until nobody wants another run; then what comes last."""
    warmups = max((seat.one.setting.repeat.warmups for seat in seats), default=0)
    for number in range(1, warmups + 1):
        for seat, record in _shuffled(seats, rng):
            seat.turn(record, Turn("warmup", seat.one.warm_up, number, warmups))
    run = 0
    while turns := [(seat, record) for seat, record in _shuffled(seats, rng) if record.wants(seat.one.build, run)]:
        for seat, record in turns:
            record.note_turn(seat.one.build, run)
            kind = "stream" if seat.one.setting.workload.mutates else "search"
            seat.turn(record, Turn(kind, partial(seat.one.run, run), run + 1, seat.one.setting.runs))
        run += 1
    for seat in seats:
        for record in seat.open_records:
            seat.turn(record, Turn("control", seat.one.last, last=True))


def _shuffled(seats: Sequence[Seat], rng: np.random.Generator) -> list[tuple[Seat, Record]]:
    """All the query configs of all, in a random order."""
    every = [(seat, record) for seat in seats for record in seat.open_records]
    return [every[place] for place in rng.permutation(len(every))]
