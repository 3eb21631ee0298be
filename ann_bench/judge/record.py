"""What is measured of one configuration, as it comes in; ends as a bundle."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ann_bench.arrays import Array
from ann_bench.judge.control import Answered, Controls
from ann_bench.judge.driver import Window
from ann_bench.judge.pattern import Pattern, Served
from ann_bench.judge.plan import Config, Setting
from ann_bench.judge.provenance import provenance
from ann_bench.judge.repeat import Spent
from ann_bench.judge.scores import score
from ann_bench.judge.scoring import stored_ids
from ann_bench.judge.single import Passes
from ann_bench.judge.variety import build_seed
from ann_bench.ragged import Ragged
from ann_bench.results.figures import run_recalls
from ann_bench.results.goals import watched
from ann_bench.results.model import INVALID_KINDS, Answers, Bundle, Control, Outcome, Score, Status, Step, Usage
from ann_bench.sandbox import InForce
from ann_bench.truth.model import AnyTruth, Problem

if TYPE_CHECKING:
    from ann_bench.judge.party import Journal

#: What adds up from turn to turn.
_SPENT = ("cpu_inside_seconds", "cpu_outside_seconds")


@dataclass(frozen=True)
class Questions:
    """The searches of a workload with their exact answers, in order; its control batches, where it has them.

    `chance` is the recall of a guess (see `truth.matching`).
    """

    problems: Sequence[Problem]
    truths: tuple[AnyTruth, ...]
    chance: float = math.nan
    controls: Controls | None = None


@dataclass
class Record:
    """One configuration's measurements: builds x runs x searches. `variant` says which control batches are its own."""

    setting: Setting
    config: Config
    seed: int
    environment: Mapping[str, Any] = field(default_factory=dict)
    variant: int = 0
    in_force: InForce | None = None
    outcome: Outcome = field(default_factory=lambda: Outcome(Status.OK))
    steps: list[Step] = field(default_factory=list)
    journal: Journal | None = None
    done: bool = False
    kept: bool = False
    stats: dict[str, Any] = field(default_factory=dict)
    passes: Passes = field(default_factory=Passes)
    apart: bool | None = None
    spent: Spent = field(default_factory=Spent)
    _closed: set[int] = field(default_factory=set)
    _usages: dict[int, Usage] = field(default_factory=dict)
    _began: dict[tuple[int, int], float] = field(default_factory=dict)
    _answers: list[tuple[int, Answers]] = field(default_factory=list)
    _places: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    _controls: dict[tuple[int, int], Answered] = field(default_factory=dict)
    _known: dict[int, Score] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Room for every batch."""
        shape = (self.setting.builds, self.setting.runs, len(self.setting.workload.searches))
        self.seconds, self._cpu_seconds = np.full((2, *shape), np.nan)
        self.answer_of = np.full(shape, -1, dtype=np.int32)

    @property
    def failed(self) -> bool:
        """Whether the entry has failed at this configuration."""
        return self.outcome.status is not Status.OK

    def is_closed(self, build: int) -> bool:
        """Whether nothing more is to be measured in a build."""
        return self.done or build in self._closed

    def close(self, build: int, questions: Questions) -> None:
        """A build is done with; all is done with a failure, with the last build, or where enough is known.

        So it is where another build as long as these would take more time than there is.
        """
        self._closed.add(build)
        repeat, made = self.setting.repeat, build + 1
        self.done = self.failed or made == self.setting.builds or repeat.is_late(self.spent.seconds / made * (made + 1))
        if not self.done and repeat.until is not None:
            self.done = self._is_enough(run_recalls(self.answer_of, self._scores(questions)))

    def wants(self, build: int, run: int) -> bool:
        """Whether another run of a build is wanted."""
        if self.is_closed(build) or run >= self.setting.runs:
            return False
        if self.setting.builds > 1 or not run or self.setting.repeat.until is None:
            return not self.is_over(build, run)
        return not self.setting.repeat.is_late(self.spent.seconds) and not self._is_enough(np.full((1, 1), np.nan))

    def _is_enough(self, recalls: npt.NDArray[np.float64]) -> bool:
        """From what was measured up to now, builds that are not begun left out."""
        counts = tuple(search.queries for search in self.setting.workload.searches)
        rates = sum(counts) / self.seconds.sum(axis=2)
        mode = self.setting.mode
        return self.setting.repeat.is_enough(
            watched(None if mode is None else mode.to_json(), self.passes.by_run(), rates, recalls)
        )

    def note_turn(self, build: int, run: int) -> None:
        """A run begins now."""
        if self.journal is not None:
            self._began[build, run] = time.monotonic() - self.journal.start

    def charge(self, build: int, usage: Usage) -> None:
        """Add what a turn of a build used."""
        before = self._usages.get(build, Usage())
        spent = {name: getattr(before, name) + getattr(usage, name) for name in _SPENT}
        self._usages[build] = replace(_worst([before, usage]), **spent)

    def forget(self, build: int, first: int = 0) -> None:
        """Of this build only the runs before the `first` are left: its worker was lost, or somebody ended it all."""
        self.steps = [step for step in self.steps if step.build != build or _is_before(step, first)]
        for array, nothing in ((self.seconds, np.nan), (self._cpu_seconds, np.nan), (self.answer_of, -1)):
            array[build, first:] = nothing
        if not first:
            self._usages.pop(build, None)
        self._controls = {place: one for place, one in self._controls.items() if place[0] != build}
        self.passes = self.passes.but(build, first)
        self._began = {place: began for place, began in self._began.items() if place[0] != build or place[1] < first}

    def cut_short(self) -> bool:
        """The measurement ends here: whole runs stay, and the outcome counts them; False where there are none."""
        searches = len(self.setting.workload.searches)
        made = Counter((step.build, step.run) for step in self.steps if step.kind == "search")
        for build in set(range(self.setting.builds)) - self._closed:
            whole = 0
            while made[build, whole] == searches and np.isfinite(self.seconds[build, whole]).all():
                whole += 1
            self.forget(build, whole)
        runs = np.isfinite(self.seconds).all(axis=2)
        most = "at most " if self.setting.repeat.until is not None else ""
        builds = f" in {self.setting.builds} builds" if self.setting.builds > 1 else ""
        detail = f"interrupted after {runs.sum()} of {most}{runs.size} runs{builds}; the next run measures it anew"
        self.outcome = Outcome(Status.UNFINISHED, detail)
        return bool(runs.any())

    def order(self, build: int, run: int, search: int) -> npt.NDArray[np.intp]:
        """The random order in which this batch asks its queries."""
        return next(self.orders(build, run, search))

    def orders(self, build: int, run: int, search: int) -> Iterator[npt.NDArray[np.intp]]:
        """The random orders of its rounds, where it asks them several times."""
        count = self.setting.workload.searches[search].queries
        rng = np.random.default_rng([self.seed, build, run, search])
        while True:
            yield rng.permutation(count)

    def pattern(self, place: tuple[int, int, int]) -> Pattern | None:
        """How this batch puts its queries one by one; None where whole batches are put, or nothing is left to try."""
        if self.setting.mode is None:
            return None
        count = self.setting.workload.searches[place[2]].queries
        callers = self.config.identity["callers"]
        return self.setting.mode.pattern(callers, count, (self.seed, *place), self.passes.before(place))

    def is_over(self, build: int, run: int) -> bool:
        """Whether this run is not needed any more: a search for a rate has ended."""
        searching = self.setting.mode is not None and self.setting.mode.searches
        return searching and self.pattern((build, run, 0)) is None

    def add(self, place: tuple[int, int, int], ids: Array | Ragged, window: Window) -> None:
        """Keep the answers of build, run, search; equal answers are kept once, in the place where they came first."""
        self.seconds[place], self._cpu_seconds[place] = window.seconds, window.cpu_seconds
        self.answer_of[place] = self._kept(place[2], _stored(ids))

    def add_pass(self, place: tuple[int, int, int], ids: Array, window: Window, served: Served) -> None:
        """Keep the answers (rounds, queries, k) of a pass; its time counts as that of one of its rounds."""
        rounds = len(ids)
        self.passes.found[place] = served
        self.passes.answers[place] = [self._kept(place[2], _stored(one)) for one in ids]
        self.seconds[place], self._cpu_seconds[place] = window.seconds / rounds, window.cpu_seconds / rounds
        self.answer_of[place] = self.passes.answers[place][0]

    def _kept(self, search: int, stored: Answers) -> int:
        """Where these answers are kept: with equal ones of the same search, or behind all others."""
        places = self._places.setdefault((search, _hash(stored)), [])
        for index in places:
            if _equal(self._answers[index][1], stored):
                return index
        places.append(len(self._answers))
        self._answers.append((search, stored))
        return len(self._answers) - 1

    def add_control(self, place: tuple[int, int], ids: Array | Ragged, window: Window) -> None:
        """Keep what the control batch of build, search gave to the sample."""
        self._controls[place] = Answered(_stored(ids), window.seconds, window.cpu_seconds)

    def bundle(self, questions: Questions) -> Bundle:
        """Score what was answered; ids that are no answers make the outcome `invalid-answer`."""
        self._cut()
        self._drop_orphans()
        scores = self._scores(questions)
        controls = questions.controls
        control = controls.result(self.variant, self._cpu_seconds, self._controls) if controls else None
        outcome = self.outcome
        if not self.failed and (invalid := _invalid(scores, "a batch") or _control_invalid(control)):
            outcome = Outcome(Status.INVALID_ANSWER, invalid, outcome.log)
        return Bundle(
            identity=self.config.identity,
            outcome=outcome,
            provenance=self._provenance(questions),
            counts=tuple(search.queries for search in self.setting.workload.searches),
            seconds=self.seconds,
            answer_of=self.answer_of,
            answers=tuple(ids for _, ids in self._answers),
            scores=scores,
            steps=tuple(self.steps),
            usage=_worst(list(self._usages.values())),
            truths=tuple(truth.key for truth in questions.truths),
            stats=self.stats,
            control=control,
            asks=self.passes.asks(self.seconds.shape, tuple(one.queries for one in self.setting.workload.searches)),
        )

    def _cut(self) -> None:
        """Where an interval decided how often to measure, no room is left for what was not."""
        if self.setting.repeat.until is None:
            return
        measured = np.isfinite(self.seconds).any(axis=2)
        builds = max({0, *self._closed, *np.flatnonzero(measured.any(axis=1)).tolist()}) + 1
        runs = max(1, int(measured.any(axis=0).sum()))
        self.seconds, self._cpu_seconds = self.seconds[:builds, :runs], self._cpu_seconds[:builds, :runs]
        self.answer_of = self.answer_of[:builds, :runs]

    def _drop_orphans(self) -> None:
        """Answers that no batch refers to any more, because their build was forgotten, are no part of a result."""
        rounds = [place for places in self.passes.answers.values() for place in places]
        used = sorted({*self.answer_of[self.answer_of >= 0].tolist(), *rounds})
        if len(used) == len(self._answers):
            return
        place_of = np.full(len(self._answers) + 1, -1, dtype=np.int32)  # the last one is that of -1
        place_of[used] = range(len(used))
        self._answers = [self._answers[old] for old in used]
        self.answer_of = place_of[self.answer_of]
        self._known = {place: self._known[old] for place, old in enumerate(used) if old in self._known}
        self.passes.answers = {at: place_of[one].tolist() for at, one in self.passes.answers.items()}
        self._places.clear()

    def release(self) -> None:
        """Forget the answers, once they are kept elsewhere: a long stream gives hundreds of megabytes of them."""
        self._answers.clear()
        self._places.clear()
        self._known.clear()
        self._controls.clear()

    def _scores(self, questions: Questions) -> tuple[Score, ...]:
        """One score for each array of answers; what was scored before is not scored again."""
        wanted: dict[int, list[int]] = {}
        for index, (search, _) in enumerate(self._answers):
            wanted.setdefault(search, []).append(index)
        found = self._known
        for search, (problem, truth) in enumerate(zip(questions.problems, questions.truths, strict=True)):
            for index in set(wanted.get(search, ())) - set(found):
                found[index] = score(problem, truth, self._answers[index][1])
        return tuple(found[index] for index in range(len(self._answers)))

    def _seeds(self) -> dict[str, Any]:
        """The seed of every build, where the entry takes one."""
        if not self.config.identity.fields.get("seed_argument"):
            return {}
        return {"build_seeds": [build_seed(self.seed, build) for build in range(self.setting.builds)]}

    def _provenance(self, questions: Questions) -> dict[str, Any]:
        data = self.setting.dataset
        client = {} if self.apart is None else {"client": {"apart": self.apart}}
        return {
            **provenance(),
            **client,
            **(self.journal.to_json(self._began) if self.journal else {}),
            "seed": self.seed,
            **self._seeds(),
            "manifest": self.setting.manifest,
            "environment": dict(self.environment),
            "limits_in_force": asdict(self.in_force) if self.in_force else {},
            "chance_recall": questions.chance if math.isfinite(questions.chance) else None,
            "data": {"rows": data.rows, "dim": data.dim, "dtype": data.dtype, "metric": data.metric},
        }


def _is_before(step: Step, first: int) -> bool:
    """Whether a call belongs to the runs before the `first`, or made them possible."""
    return 0 <= step.run < first or (first > 0 and step.run < 0 and step.kind != "control")


def taken(ids: Array | Ragged, numbers: npt.NDArray[np.int64]) -> Array | Ragged:
    """The answers to some of the queries."""
    return ids.take(numbers) if isinstance(ids, Ragged) else ids[numbers]


def _stored(ids: Array | Ragged) -> Answers:
    """As they are stored; those within a radius come as they are stored."""
    return ids if isinstance(ids, Ragged) else stored_ids(ids)


def _hash(answers: Answers) -> int:
    """Equal for equal answers, and quick to compare."""
    return hash(np.ascontiguousarray(answers.ids if isinstance(answers, Ragged) else answers).tobytes())


def _equal(one: Answers, other: Answers) -> bool:
    if isinstance(one, Ragged) or isinstance(other, Ragged):
        return isinstance(one, Ragged) and isinstance(other, Ragged) and one.equals(other)
    return np.array_equal(one, other)


def _control_invalid(control: Control | None) -> str:
    return _invalid(control.scores, "the control batch") if control else ""


def _invalid(scores: tuple[Score, ...], where: str) -> str:
    """What was wrong with the worst of the answers, in words; empty where nothing was."""
    worst = max(scores, key=lambda one: sum(one.invalid.values()), default=None)
    if worst is None or not any(worst.invalid.values()):
        return ""
    names = {kind: kind.replace("_", " ") for kind in INVALID_KINDS}
    parts = [f"{worst.invalid[kind]:,} {names[kind]}" for kind in INVALID_KINDS if worst.invalid.get(kind)]
    return f"ids that are no answers in {where}: {', '.join(parts)}"


def _worst(usages: list[Usage]) -> Usage:
    """The largest of each figure over the builds."""
    if not usages:
        return Usage()
    return Usage(
        peak_memory_bytes=max(u.peak_memory_bytes for u in usages),
        peak_anonymous_bytes=max(u.peak_anonymous_bytes for u in usages),
        peak_file_bytes=max(u.peak_file_bytes for u in usages),
        cpu_inside_seconds=max(u.cpu_inside_seconds for u in usages),
        cpu_outside_seconds=max(u.cpu_outside_seconds for u in usages),
        processes=max(u.processes for u in usages),
    )
