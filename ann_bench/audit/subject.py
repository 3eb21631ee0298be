"""The entry that is audited: workers with an index each, and the truth that their answers are held against."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.arrays import held, held_csr
from ann_bench.audit.stand import Stand
from ann_bench.datasets.cache import cache_root
from ann_bench.judge.asked import Asked, published
from ann_bench.judge.blocks import blocks
from ann_bench.judge.disguise import Disguise, disguised
from ann_bench.judge.driver import Driver, Window
from ann_bench.judge.noise import Noise, key_of, spread_of
from ann_bench.judge.one_build import files
from ann_bench.judge.plan import Job, Setting
from ann_bench.judge.record import Questions
from ann_bench.judge.scores import score
from ann_bench.judge.scoring import stored_ids
from ann_bench.ragged import Ragged
from ann_bench.results.model import Answers, Score
from ann_bench.sandbox import WorkerSpec
from ann_bench.truth.exact import exact
from ann_bench.truth.model import AnyTruth, Problem, Truth
from ann_bench.truth.within import within
from ann_bench.workload import Build, Limits, Operation, Search

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

#: Queries whose exact answers are computed for a probe.
SAMPLE = 200

#: The query set is cut into so many parts: one is asked again and again, each of the others is fresh once.
PARTS = 16


@dataclass(frozen=True)
class Passed:
    """A search that came before those of the probes: its number, mean recall, and invalid answers by their kinds."""

    number: int
    recall: float
    invalid: Mapping[str, int]


@dataclass
class Line:
    """One worker with its index; `view` is how it sees the data.

    `built` is what it cost to come here: the build, or all the changes of a stream; `passed`: the searches on the way.
    """

    driver: Driver
    view: Disguise
    built: Window
    passed: list[Passed] = field(default_factory=list)

    def ask(self, asked: Asked, search: Search) -> tuple[Answers, Window]:
        """One batch, in an order of its own; answers by the numbers of the original rows, as they are stored."""
        order = np.random.default_rng(secrets.randbits(62)).permutation(search.queries)
        ids, window = self.driver.search(self.view.asked(asked), search, order)
        ids = self.view.back(ids)
        return (ids if isinstance(ids, Ragged) else stored_ids(ids)), window


@dataclass
class Subject:
    """An entry with one query config; workers start when a probe first asks for them, and end with `close`.

    `given` collects answers to the published queries, for the probe that looks at them. `stand` is the search that
    probes ask.
    """

    setting: Setting
    job: Job
    query: Mapping[str, Any]
    questions: Questions
    stand: Stand
    given: list[Answers] = field(default_factory=list)
    _lines: dict[str, Line] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)

    @property
    def streams(self) -> bool:
        """Whether the index changes between the searches of the workload."""
        return self.setting.workload.mutates

    @property
    def search(self) -> Search:
        """The search that probes ask."""
        return self.stand.search

    @property
    def problem(self) -> Problem:
        """What it asks."""
        return self.stand.problem

    @property
    def truth(self) -> AnyTruth:
        """The exact answers."""
        return self.stand.truth

    @property
    def published(self) -> Asked:
        """The queries of the set."""
        return published(self.setting.dataset, self.search)

    @property
    def parts(self) -> list[Numbers]:
        """Queries in parts of equal number, the same ones on every call; the first is the one to be asked often."""
        count = self.search.queries
        mixed = np.random.default_rng(count).permutation(count).astype(np.int64)
        size = max(1, count // PARTS)
        return [mixed[first : first + size] for first in range(0, size * min(PARTS, count // size), size)]

    @property
    def sample(self) -> Numbers:
        """Queries that have answers, at most SAMPLE."""
        numbers = np.flatnonzero(self.truth.counts)
        chosen = np.random.default_rng(1).permutation(numbers if len(numbers) else np.arange(self.search.queries))
        return np.sort(chosen[:SAMPLE]).astype(np.int64)

    def shorten(self, queries: int) -> None:
        """Ask the first so many queries only, from now on, where a batch of all of them would take too long."""
        if queries < self.search.queries:
            self.stand = self.stand.shortened(queries)
            self.given.clear()

    def close(self) -> None:
        """End all workers and remove what was written for them."""
        self._stack.close()
        self._lines.clear()

    def plain(self) -> Line:
        """The index on the data as they are."""
        return self._line("plain", lambda: self._open(Journey(self._as_it_is)))

    def unasked(self) -> Line:
        """An index that has not been asked the published queries: of a stream, one without searches on the way."""
        if not any(isinstance(operation, Search) for operation in self.stand.before):
            return self.plain()
        changes = tuple(one for one in self.stand.before if not isinstance(one, Search))
        return self._line("unasked", lambda: self._open(Journey(self._as_it_is, before=changes)))

    def again(self, build: Mapping[str, Any]) -> Line:
        """Another index on the same data, with these build arguments."""
        return self._line("again", lambda: self._open(Journey(self._as_it_is, build=build)))

    def disguised(self) -> Line:
        """The index on the data in disguise, by a seed that nobody knows."""

        def opened() -> Line:
            seed, stream = secrets.token_hex(16), self.setting.workload
            context = disguised(self.setting.dataset, seed, rows=True, columns=True, stream=stream)
            return self._open(Journey(self._stack.enter_context(context)))

        return self._line("disguised", opened)

    def single(self) -> Line:
        """An index of one that is told to use one thread, where it could have all the CPUs."""
        limits = self.setting.limits.but(cpus=1)
        return self._line("single", lambda: self._open(Journey(self._as_it_is, limits=limits)))

    def turned(self, before: tuple[Operation, ...], scores: Callable[[int, Answers], Score]) -> Line:
        """An index that has come here by another runbook, whose searches on the way are scored by `scores`."""
        return self._line("turned", lambda: self._open(Journey(self._as_it_is, before=before, scores=scores)))

    def taken(self, numbers: Numbers) -> tuple[Asked, Search]:
        """Some of the published queries."""
        whole = self.published
        tags = None if whole.tags is None else whole.tags[numbers]
        return Asked(whole.vectors[numbers], tags), replace(self.search, queries=len(numbers))

    def noisy(self) -> Asked:
        """The published queries, each changed a little, in a way that nobody has seen."""
        whole = self.published
        return replace(whole, noise=Noise(key_of(secrets.token_hex(16)), self._spread()))

    def score(self, answers: Answers) -> Score:
        """What answers to all the published queries are worth."""
        return score(self.problem, self.truth, answers)

    def score_part(self, answers: Answers, numbers: Numbers, asked: Asked, k: int | None = None) -> Score:
        """What answers to these queries, as they were asked, are worth; their exact answers are computed now."""
        vectors, tags = asked.take(numbers)
        problem = replace(
            self.problem,
            queries=held(vectors),
            query_tags=None if tags is None else held_csr(tags),
            k=k or self.problem.k,
        )
        return score(problem, exact_of(problem), answers)

    @property
    def _as_it_is(self) -> Disguise:
        return Disguise(self.setting.dataset)

    def _spread(self) -> Any:
        return spread_of(self.problem.base.open(), self.published.vectors)

    def _line(self, name: str, make: Callable[[], Line]) -> Line:
        if name not in self._lines:
            self._lines[name] = make()
        return self._lines[name]

    def _open(self, journey: Journey) -> Line:
        """Start a worker, bring its index to where probes ask; EntryFailure where the entry fails."""
        setting, view = self.setting, journey.view
        dataset, limits = self.job.dataset(view.dataset), journey.limits or setting.limits
        spec = WorkerSpec(self.job.entry, limits, setting.cpus, tuple(files(dataset)))
        driver = Driver(setting.sandbox.open(spec), dataset, limits, setting.workload.asked)
        self._stack.callback(driver.close)
        ranged = self.search.radius is not None
        needs = {"range_query": "range search"} if ranged else {}
        driver.greet()
        driver.create(self.job.entry, dict(self.job.build if journey.build is None else journey.build), needs)
        line = Line(driver, view, Window(0.0, 0.0))
        before = list(self.stand.before if journey.before is None else journey.before)
        if isinstance(before[0], Build):
            line.built = driver.change(before.pop(0))
        else:
            line.built = driver.setup(setting.workload.max_points)
        driver.begin()
        driver.set_query_arguments(dict(self.query))
        self._go(line, before, journey.scores or self._score_passed)
        driver.limits = replace(limits, run_seconds=None)  # the time of a run is not that of a hundred batches
        return line

    def _go(self, line: Line, before: list[Operation], scores: Callable[[int, Answers], Score]) -> None:
        """The changes and searches of a stream, as a run makes them."""
        for operation in before:
            if isinstance(operation, Search):
                answers, _ = line.ask(published(self.setting.dataset, operation), operation)
                worth = scores(len(line.passed), answers)
                known = worth.recalls[~np.isnan(worth.recalls)]
                mean = float(known.mean()) if len(known) else float("nan")
                line.passed.append(Passed(len(line.passed), mean, worth.invalid))
                continue
            spent = 0.0
            for block in blocks(operation, self.setting.dataset):
                window = line.driver.change(block, spent)
                spent += window.seconds
                seconds, cpu = line.built.seconds + window.seconds, line.built.cpu_seconds + window.cpu_seconds
                line.built = replace(line.built, seconds=seconds, cpu_seconds=cpu)

    def _score_passed(self, number: int, answers: Answers) -> Score:
        return score(self.questions.problems[number], self.questions.truths[number], answers)


@dataclass(frozen=True)
class Journey:
    """How an index comes to where probes ask; None stands for what the run itself does.

    `scores` says what answers to a search on the way are worth, from its number.
    """

    view: Disguise
    build: Mapping[str, Any] | None = None
    limits: Limits | None = None
    before: tuple[Operation, ...] | None = None
    scores: Callable[[int, Answers], Score] | None = None


def exact_of(problem: Problem) -> AnyTruth:
    """The exact answers to a problem, computed now and kept nowhere."""
    scratch = cache_root() / "truth"
    if problem.radius is not None:
        return within(problem, scratch=scratch).truth("")
    return Truth(*exact(problem, scratch=scratch), key="")
