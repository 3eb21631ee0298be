"""The main job: plan, skip what is there, find the truth, measure the rest, keep every result."""

from __future__ import annotations

import fcntl
import logging
import math
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from ann_bench.datasets.dataset import Dataset
from ann_bench.errors import StorageError, UsageError
from ann_bench.judge.control import Controls, Recipe
from ann_bench.judge.events import REPORTED, Kept, Planned, Watch, unwatched
from ann_bench.judge.measure import REFUSED, Observer, Wanted, measure_together, refuse
from ann_bench.judge.plan import Config, Job, Plan, Setting
from ann_bench.judge.ranges import most_answers
from ann_bench.judge.record import Questions
from ann_bench.progress import Progress, silent
from ann_bench.results.figures import Figures, figures
from ann_bench.results.model import Bundle, Status
from ann_bench.results.store import Store
from ann_bench.truth.matching import chance_recall
from ann_bench.truth.problems import problems
from ann_bench.truth.store import DEFAULT_MEMORY, check_given, truths_for
from ann_bench.workload import Workload

log = logging.getLogger(__name__)

LOCK = ".measuring"


@dataclass
class Tally:
    """What a run did: how many results it found, and how many it made."""

    found: int = 0
    made: int = 0
    bundles: list[Bundle] = field(default_factory=list)

    @property
    def all_ok(self) -> bool:
        """Whether there are results and every one of them is `ok`."""
        return bool(self.bundles) and all(b.outcome.status is Status.OK for b in self.bundles)


def execute(
    plan: Plan, store: Store, *, force: bool = False, progress: Progress = silent, watch: Watch = unwatched
) -> Tally:
    """Measure what is missing in the store (everything where `force`); results come back in the plan's order.

    `progress` hears of all that comes before the first entry starts, `watch` of the measurement itself.
    """
    store.check_writable()
    todo = {job.entry.name: wanted(job, store, force=force) for job in plan.jobs}
    tally = Tally(found=sum(len(job.configs) - len(todo[job.entry.name]) for job in plan.jobs))
    if tally.found:
        total = tally.found + sum(len(configs) for configs in todo.values())
        log.info("%d of %d results were there already; --force measures them again", tally.found, total)
    if any(todo.values()):
        questions = ask_all(plan.setting.dataset, plan.setting.workload, progress)
        if not any(truth.counts.any() for truth in questions.truths):
            log.warning("no query of this set has any answer: there is no recall to measure")
        _check_room(plan, questions)
        variants = max((len(todo[job.entry.name]) for job in plan.jobs if not job.refusal), default=0)
        questions = with_controls(plan.setting, questions, variants, progress)
        with plan.shown() as shown:
            jobs = [job for job in shown.jobs if todo[job.entry.name]]
            with measuring(store.folder):
                # another run may have made some of them while this one waited for its turn
                again = [(job, todo[job.entry.name] if force else wanted(job, store)) for job in jobs]
                left = [(job.entry.name, [one.query for one in mine]) for job, mine in again if not job.refusal]
                watch(Planned(shown.setting, left, tally.found))
                tally.made += _measure(shown, again, questions, store, watch)
    tally.bundles = [store.get(config.identity, answers=False) for _, config in plan.configs()]
    return tally


def wanted(job: Job, store: Store, *, force: bool = False) -> list[Config]:
    """The configs of a job that are to be measured: those without a result.

    What was interrupted is measured anew. A refusal is no measurement: it stands only as long as its reason does.
    (An entry whose packages have come since is another configuration anyway: their versions are part of it.)
    """
    return [config for config in job.configs if force or not _lasting(job, config, store)]


def _lasting(job: Job, config: Config, store: Store) -> bool:
    if not store.has(config.identity):
        return False
    if job.refusal is not None:
        return True
    found = store.get(config.identity, answers=False)
    return found.provenance["seed"] != REFUSED and found.outcome.status is not Status.UNFINISHED


def ask_all(
    dataset: Dataset, workload: Workload, progress: Progress = silent, memory_bytes: int = DEFAULT_MEMORY
) -> Questions:
    """The exact answers to all the searches of a workload; a truth file from elsewhere is checked against them.

    `memory_bytes` bounds what computing them takes.
    """
    asked = problems(dataset, workload)
    truths = truths_for(asked, progress=progress, memory_bytes=memory_bytes)
    given = dataset.queries.truth
    if given is not None and len(asked) == 1:
        check_given(asked[0], truths[0], given)
    return Questions(asked, truths, chance_recall(asked, truths, progress))


def _check_room(plan: Plan, questions: Questions) -> None:
    """Raise UsageError where the right answers are more than a batch may hold, so that no entry could give them."""
    for search, truth in zip(plan.setting.workload.searches, questions.truths, strict=True):
        found, most = int(truth.counts.sum()), most_answers(search.queries, plan.setting.dataset.rows)
        if search.radius is not None and found > most:
            raise UsageError(
                f"within the radius {search.radius:g} of {plan.setting.dataset.name!r} lie {found:,} answers, and a "
                f"batch holds at most {most:,}; give its manifest a smaller `radius:`"
            )


def with_controls(setting: Setting, questions: Questions, variants: int, progress: Progress = silent) -> Questions:
    """The questions with control batches for so many query configs, where searches do not change the index."""
    if not variants or setting.workload.mutates:
        return questions
    recipe = Recipe(1 + secrets.randbits(62), variants)
    known = questions.problems, questions.truths
    return replace(questions, controls=Controls(setting.dataset, setting.workload, known, recipe, progress))


def _measure(plan: Plan, todo: Wanted, questions: Questions, store: Store, watch: Watch) -> int:
    """Measure these configs, and store why others are not even started; returns how many results there are."""
    made = 0

    def keep(job: Job, bundle: Bundle) -> None:
        nonlocal made
        store.write(bundle)
        made += 1
        if not job.refusal:
            shown = figures(bundle)
            _tell(job, bundle, shown)
            watch(Kept(bundle.identity["query"], shown))

    def keep_unfinished(job: Job, bundle: Bundle) -> None:
        if _outweighs(bundle, store):
            store.write(bundle)
            _tell(job, bundle, figures(bundle))

    for job, configs in todo:
        if job.refusal and configs:
            log.warning("%s: %s (%s)", job.entry.name, job.refusal.status.value, job.refusal.detail)
            refuse(plan.setting, job, configs, questions, partial(keep, job))
    started = [(job, configs) for job, configs in todo if configs and not job.refusal]
    measure_together(plan.setting, started, questions, keep, Observer(watch, keep_unfinished))
    return made


def _outweighs(bundle: Bundle, store: Store) -> bool:
    """Whether an unfinished result may take its place: not that of a whole one, nor of one with more runs."""
    if not store.has(bundle.identity):
        return True
    found = store.get(bundle.identity, answers=False)
    if found.outcome.status is not Status.UNFINISHED:
        return bool(found.provenance["seed"] == REFUSED)
    return bool(np.isfinite(bundle.seconds).sum() > np.isfinite(found.seconds).sum())


def _tell(job: Job, bundle: Bundle, shown: Figures) -> None:
    name = " ".join([job.entry.name, *(f"{key}={value}" for key, value in bundle.identity["query"].items())])
    if bundle.outcome.status is not Status.OK:
        log.warning("%s: %s (%s)", name, bundle.outcome.status.value, bundle.outcome.detail)
        return
    if shown.changes:
        seen = shown.recall, shown.searches, shown.total_seconds
        log.info("%s: mean recall %.4f over %d searches, %.1f s", name, *seen, extra=REPORTED)
    else:
        what = shown.measured if shown.ranged else "recall"
        speed = f"{shown.qps:,.0f} QPS" if math.isfinite(shown.qps) else "no rate keeps the latency"
        log.info("%s: %s %.4f, %s", name, what, shown.recall, speed, extra=REPORTED)


@contextmanager
def measuring(folder: Path) -> Iterator[None]:
    """One measurement at a time in a results folder: two at once would measure each other."""
    try:
        lock = (folder / LOCK).open("w")
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written ({error.strerror})") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.info("another run is measuring for %s; waiting for it", folder)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
