"""Where cases run: one worker after the other, in a sandbox, each as long as it lives."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ann_bench.arrays import Array
from ann_bench.check.case import Arguments, AtOnce, Case, Setup
from ann_bench.check.inputs import Inputs
from ann_bench.entries.entry import Entry
from ann_bench.judge.asked import published
from ann_bench.judge.atwork import AtWork
from ann_bench.judge.driver import Driver, Window
from ann_bench.judge.failure import EntryFailure
from ann_bench.judge.pattern import Pattern
from ann_bench.judge.scoring import stored_ids
from ann_bench.ragged import Ragged
from ann_bench.results.model import Answers, Status
from ann_bench.sandbox import Sandbox, WorkerSpec
from ann_bench.workload import Limits, Search

#: So many calls may hang before nothing more is tried.
MOST_HANGS = 3


class TooManyHangs(Exception):
    """The entry hangs again and again: trying on would take hours."""


@dataclass
class Trace:
    """What came of a case: the answers to its searches, as stored, what each call cost, and how it failed, if it did.

    `built` says whether all that comes before the first search went well; `written`: whether input files were changed;
    `at_work`: threads that wanted a CPU at the same time, on average, where it was looked at and could be seen.
    """

    answers: list[Answers] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    failure: EntryFailure | None = None
    built: bool = False
    written: bool = False
    at_work: float | None = None


@dataclass(frozen=True)
class Place:
    """An entry with its build arguments, the sandbox, and what a worker may use.

    More CPUs than the limits say are those that an entry could use, but was not given.
    """

    sandbox: Sandbox
    entry: Entry
    build: Mapping[str, Any]
    limits: Limits
    cpus: tuple[int, ...]


class Bench:
    """Runs cases. A worker serves many, each with an object of its own; one that ended is followed by another.

    `writer` is the first case in which the entry has changed its inputs. While it is `alone`, each case has a worker
    of its own.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self.hangs = 0
        self.alone = False
        self.writer: Case | None = None
        self._driver: Driver | None = None

    def run(self, case: Case, needs: Mapping[str, str] | None = None, *, fresh: bool = False) -> Trace:
        """Make the entry's object and make the calls; what goes wrong is in the trace."""
        return self._with(case, needs or {}, fresh=fresh)

    def watched(self, case: Case) -> Trace:
        """As `run`, with a look at how many threads are at work."""
        return self._with(case, {}, watched=True)

    @property
    def serves(self) -> bool:
        """Whether the worker takes queries one by one."""
        return self._driver is not None and self._driver.serves

    def save(self, case: Case) -> tuple[Trace, Path | None]:
        """As `run`, and then the index saved into a folder of the worker; None where the entry cannot."""
        trace = self._with(case, {})
        if trace.failure is not None or self._driver is None:
            return trace, None
        folder = self._driver.session.answers / secrets.token_hex(8)
        folder.mkdir(mode=0o777)
        folder.chmod(0o777)
        try:
            return trace, folder if self._driver.save(str(folder)) else None
        except EntryFailure as failure:
            self._failed(trace, failure)
            return trace, None

    def load(self, case: Case, saved: Path) -> Trace:
        """The searches of a case on an index from a folder; without answers where the entry cannot load it."""
        return self._with(case, {}, saved=saved)

    def log(self) -> str:
        """What the worker has printed."""
        return self._driver.log() if self._driver else ""

    def close(self) -> None:
        """End the worker."""
        if self._driver is not None:
            self._driver.close()
        self._driver = None

    def _with(
        self,
        case: Case,
        needs: Mapping[str, str],
        *,
        saved: Path | None = None,
        fresh: bool = False,
        watched: bool = False,
    ) -> Trace:
        if fresh or self.alone:
            self.close()
        trace = Trace()
        inputs = None
        try:
            driver = self._started(case)
            inputs = Inputs(driver.session.questions, case.data)
            driver.dataset = inputs.dataset
            driver.create(self.place.entry, dict(self.place.build), needs, strided=case.strided)
            if saved is None or _load(driver, saved):
                with AtWork(driver.session) if watched else nullcontext() as seen:
                    self._calls(driver, case, trace, loaded=saved is not None)
                trace.at_work = seen.mean if seen else None
        except EntryFailure as failure:
            self._failed(trace, failure)
        finally:
            if inputs is not None:
                trace.written = inputs.written()
                inputs.remove()
                self.writer = self.writer or (case if trace.written else None)
        return trace

    def _calls(self, driver: Driver, case: Case, trace: Trace, *, loaded: bool) -> None:
        for step in case.steps:
            if isinstance(step, Arguments):
                driver.set_query_arguments(dict(step.given))
            elif isinstance(step, AtOnce):
                trace.built = True
                if not driver.serves:
                    return
                asked, order = published(case.data.dataset(), step), np.arange(step.queries)[None]
                alone, window, _ = driver.serve(asked, step, order, Pattern(step.callers, clients=2 * step.callers))
                trace.answers.append(stored_ids(alone[0]))
                trace.windows.append(window)
            elif isinstance(step, Search):
                trace.built = True
                ids, window = driver.search(published(case.data.dataset(), step), step, np.arange(step.queries))
                trace.answers.append(_stored(ids))
                trace.windows.append(window)
            elif loaded:
                continue
            elif isinstance(step, Setup):
                trace.windows.append(driver.setup(step.max_points))
            else:
                trace.windows.append(driver.change(step))

    def _started(self, case: Case) -> Driver:
        """The worker that is there, or a new one."""
        if self._driver is None:
            if self.hangs >= MOST_HANGS:
                raise TooManyHangs
            place = self.place
            spec = WorkerSpec(place.entry, place.limits, place.cpus)
            self._driver = Driver(place.sandbox.open(spec), case.data.dataset(), place.limits)
            self._driver.greet()
            if len(place.cpus) == place.limits.cpus:
                self._driver.check_limits("its start")
        return self._driver

    def _failed(self, trace: Trace, failure: EntryFailure) -> None:
        trace.failure = failure
        self.hangs += failure.status is Status.TIMEOUT
        if failure.over:
            self.close()


def _load(driver: Driver, saved: Path) -> bool:
    copy = driver.session.questions / secrets.token_hex(8)
    shutil.copytree(saved, copy)
    for path in (copy, *copy.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return driver.load(str(copy))


def _stored(ids: Array | Ragged) -> Answers:
    return ids if isinstance(ids, Ragged) else stored_ids(ids)
