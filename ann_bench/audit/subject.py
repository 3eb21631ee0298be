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
from ann_bench.datasets.cache import cache_root
from ann_bench.judge.asked import Asked, published
from ann_bench.judge.disguise import Disguise, disguised
from ann_bench.judge.driver import Driver, Window
from ann_bench.judge.measure import files
from ann_bench.judge.noise import Noise, key_of, spread_of
from ann_bench.judge.plan import Job, Setting
from ann_bench.judge.record import Questions
from ann_bench.judge.scores import score
from ann_bench.judge.scoring import stored_ids
from ann_bench.ragged import Ragged
from ann_bench.results.model import Answers, Score
from ann_bench.sandbox import WorkerSpec
from ann_bench.truth.exact import exact
from ann_bench.truth.model import AnyTruth, Problem, RangeTruth, Truth
from ann_bench.truth.within import within
from ann_bench.workload import Build, Search

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

#: Queries whose exact answers are computed for a probe.
SAMPLE = 200

#: The query set is cut into so many parts: one is asked again and again, each of the others is fresh once.
PARTS = 16


def _first(truth: AnyTruth, queries: int) -> AnyTruth:
    """The answers to the first so many queries."""
    if isinstance(truth, Truth):
        return Truth(truth.ids[:queries], truth.distances[:queries], truth.key)
    found = truth.found.take(np.arange(queries))
    return RangeTruth(found, truth.distances[: len(found.ids)], truth.key)


@dataclass
class Line:
    """One worker with its index; `view` is how it sees the data. `built` is what its build cost."""

    driver: Driver
    view: Disguise
    built: Window

    def ask(self, asked: Asked, search: Search) -> tuple[Answers, Window]:
        """One batch, in an order of its own; answers by the numbers of the original rows, as they are stored."""
        order = np.random.default_rng(secrets.randbits(62)).permutation(search.queries)
        ids, window = self.driver.search(self.view.asked(asked), search, order)
        ids = self.view.back(ids)
        return (ids if isinstance(ids, Ragged) else stored_ids(ids)), window


@dataclass
class Subject:
    """An entry with one query config; workers start when a probe first asks for them, and end with `close`.

    `given` collects answers to the published queries, for the probe that looks at them.
    """

    setting: Setting
    job: Job
    query: Mapping[str, Any]
    questions: Questions
    given: list[Answers] = field(default_factory=list)
    _lines: dict[str, Line] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)

    @property
    def search(self) -> Search:
        """The only search of the workload."""
        return self.setting.workload.searches[0]

    @property
    def problem(self) -> Problem:
        """What it asks."""
        return self.questions.problems[0]

    @property
    def truth(self) -> AnyTruth:
        """The exact answers."""
        return self.questions.truths[0]

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
        problem, truth = self.problem, self.truth
        if queries >= self.search.queries:
            return
        tags = None if problem.query_tags is None else problem.query_tags.head(queries)
        short = replace(problem, queries=problem.queries.head(queries), query_tags=tags)
        self.questions = Questions([short], (_first(truth, queries),))
        build = self.setting.workload.operations[0]
        workload = replace(self.setting.workload, operations=(build, replace(self.search, queries=queries)))
        self.setting = replace(self.setting, workload=workload)
        self.given.clear()

    def close(self) -> None:
        """End all workers and remove what was written for them."""
        self._stack.close()
        self._lines.clear()

    def plain(self) -> Line:
        """The index on the data as they are."""
        return self._line("plain", lambda: self._open(Disguise(self.setting.dataset)))

    def again(self, build: Mapping[str, Any]) -> Line:
        """Another index on the same data, with these build arguments."""
        return self._line("again", lambda: self._open(Disguise(self.setting.dataset), build=build))

    def disguised(self) -> Line:
        """The index on the data in disguise, by a seed that nobody knows."""

        def opened() -> Line:
            seed, rows = secrets.token_hex(16), self.setting.dataset
            return self._open(self._stack.enter_context(disguised(rows, seed, rows=True, columns=True)))

        return self._line("disguised", opened)

    def single(self) -> Line:
        """An index of one that is told to use one thread, where it could have all the CPUs."""
        limits = self.setting.limits.but(cpus=1)
        return self._line("single", lambda: self._open(Disguise(self.setting.dataset), limits=limits))

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
        return score(problem, self._exact(problem), answers)

    def _exact(self, problem: Problem) -> AnyTruth:
        scratch = cache_root() / "truth"
        if problem.radius is not None:
            return within(problem, scratch=scratch).truth("")
        return Truth(*exact(problem, scratch=scratch), key="")

    def _spread(self) -> Any:
        return spread_of(self.problem.base.open(), self.published.vectors)

    def _line(self, name: str, make: Callable[[], Line]) -> Line:
        if name not in self._lines:
            self._lines[name] = make()
        return self._lines[name]

    def _open(self, view: Disguise, *, build: Mapping[str, Any] | None = None, limits: Any = None) -> Line:
        """Start a worker, build its index and hand over the query config; EntryFailure where the entry fails."""
        setting, dataset = self.setting, self.job.dataset(view.dataset)
        limits = limits or setting.limits
        spec = WorkerSpec(self.job.entry, limits, setting.cpus, tuple(files(dataset)))
        driver = Driver(setting.sandbox.open(spec), dataset, limits, setting.workload.asked)
        self._stack.callback(driver.close)
        ranged = self.search.radius is not None
        needs = {"range_query": "range search"} if ranged else {}
        driver.greet()
        driver.create(self.job.entry, dict(self.job.build if build is None else build), needs)
        built = driver.change(setting.workload.operations[0])
        assert isinstance(setting.workload.operations[0], Build)
        driver.begin()
        driver.set_query_arguments(dict(self.query))
        return Line(driver, view, built)
