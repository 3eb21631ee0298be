"""The search: rounds of one build and some query configs each, through judge and sandbox, until the time is up."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ann_bench.datasets.dataset import Dataset
from ann_bench.entries.config import DEFAULT
from ann_bench.entries.entry import Entry, plan_configs
from ann_bench.entries.space import Space
from ann_bench.errors import AnnBenchError, UsageError
from ann_bench.judge.measure import measure
from ann_bench.judge.plan import Options, plan, setting
from ann_bench.judge.record import Questions
from ann_bench.judge.run import ask_all
from ann_bench.progress import Progress, silent
from ann_bench.results.figures import figures
from ann_bench.results.model import Bundle, Outcome, Status
from ann_bench.sandbox import Sandbox
from ann_bench.tracks import Track
from ann_bench.tune.choose import best_at, choose
from ann_bench.tune.journal import Journal
from ann_bench.tune.model import Choice, Measured, Row, Spent, Tuning, Wish
from ann_bench.tune.parts import part
from ann_bench.tune.suggest import Suggestions

log = logging.getLogger(__name__)

#: Less time than this is not worth a round.
LEAST_SECONDS = 0.5


class _Over(Exception):
    """The time is up in the middle of a round."""


@dataclass(frozen=True)
class Place:
    """An entry on a track, in a sandbox."""

    entry: Entry
    track: Track
    sandbox: Sandbox


def tune(place: Place, dataset: Dataset, wish: Wish, progress: Progress = silent) -> Tuning:
    """Search the space of the entry for as long as the budget goes, then measure what was chosen on unseen queries.

    What a search that was interrupted has found is kept, and the next one goes on with what is left of the budget.
    Raises UsageError where the entry declares no space, or the budget is too small for one build; AnnBenchError where
    nothing that was tried could be measured.
    """
    entry = place.entry
    if entry.config.space is None:
        raise UsageError(f"{entry.config_file}: declares no `space:` to search; docs/tune.md says how")
    parts = part(dataset, wish.seed)
    search = _Search(place, wish, entry.config.space, _journal(place, wish, parts.seen))
    search.run(parts.seen, progress)
    choice = choose(search.trials, wish.recalls, place.track.query_configs)
    build, queries = _own(place, dataset)
    check = _Batches(place, wish, parts.held_out, progress)
    tuned = check.measured(choice.build, choice.queries)
    own = tuned if (dict(choice.build), choice.queries) == (build, queries) else check.measured(build, queries)
    rows = _rows(choice, tuned, own, wish.recalls)
    described = parts.description
    search.journal.remove()
    return Tuning(
        entry.name, place.track.name, dataset.name, described, choice, rows, search.spent, tuple(search.trials)
    )


def _journal(place: Place, wish: Wish, seen: Dataset) -> Journal:
    """What was kept of a search that would measure the same."""
    options = Options(runs=wish.runs, cpus=wish.cpus, memory_bytes=wish.memory_bytes)
    (job,) = plan(setting(place.track, seen, place.sandbox, options), [place.entry]).jobs
    space = place.entry.config.space
    assert space is not None
    configs = [config.identity.key for config in job.configs]
    return Journal({"configs": configs, "space": space.model_dump(mode="json", by_alias=True), "seed": wish.seed})


def _own(place: Place, dataset: Dataset) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    build, queries = plan_configs(place.entry, dataset.name)
    return build, queries[: place.track.query_configs]


def _rows(choice: Choice, tuned: list[Measured], own: list[Measured], recalls: Sequence[float]) -> tuple[Row, ...]:
    rows = []
    for recall in sorted(recalls):
        seen = best_at(choice.seen, recall)
        unseen = next((one for one in tuned if seen and one.query == seen.query), None)
        rows.append(Row(recall, seen, unseen, best_at(tuned, recall), best_at(own, recall)))
    return tuple(rows)


class _Batches:
    """Measures configurations on one part of the queries."""

    def __init__(self, place: Place, wish: Wish, dataset: Dataset, progress: Progress) -> None:
        self.place, self.wish, self.dataset = place, wish, dataset
        workload = setting(place.track, dataset, place.sandbox, Options()).workload
        self.questions: Questions = ask_all(dataset, workload, progress)
        self.outcome = Outcome(Status.OK)
        self.failed = 0

    def measured(
        self,
        build: Mapping[str, Any],
        queries: Sequence[Mapping[str, Any]],
        until: float = math.inf,
        note: Callable[[Measured], None] = lambda _: None,
    ) -> list[Measured]:
        """One build, then each of the query configs; what fails is counted, and is in the list no more than the rest.

        `until` is when the time is up, on the monotonic clock; what would take longer is ended. `note` gets each as
        soon as it is there.
        """
        found: list[Measured] = []
        left = max(LEAST_SECONDS, until - time.monotonic()) if until < math.inf else None
        wish = self.wish
        options = Options(
            runs=wish.runs, cpus=wish.cpus, memory_bytes=wish.memory_bytes, build_seconds=left, timeout_seconds=left
        )
        common = setting(self.place.track, self.dataset, self.place.sandbox, options)
        arguments = {"build": {DEFAULT: dict(build)}, "query": {DEFAULT: [dict(query) for query in queries]}}
        entry = replace(self.place.entry, config=self.place.entry.config.model_copy(update=arguments))
        job = plan(common, [entry]).jobs[0]
        if job.refusal is not None:
            raise AnnBenchError(f"{entry.name}: {job.refusal.status.value} ({job.refusal.detail})")

        def keep(bundle: Bundle) -> None:
            if one := self._taken(bundle):
                found.append(one)
                note(one)
            if time.monotonic() > until:
                raise _Over

        try:
            measure(common, job, job.configs, self.questions, keep)
        except _Over:
            log.info("%s: the time is up", entry.name)
        return found

    def _taken(self, bundle: Bundle) -> Measured | None:
        shown = figures(bundle)
        if shown.ok and math.isfinite(shown.recall) and shown.qps > 0:
            return Measured(bundle.identity["build"], bundle.identity["query"], float(shown.recall), float(shown.qps))
        self.failed += 1
        self.outcome = bundle.outcome
        return None


class _Search:
    """All that was tried with the queries that may be seen."""

    def __init__(self, place: Place, wish: Wish, space: Space, journal: Journal) -> None:
        self.place, self.wish, self.space, self.journal = place, wish, space, journal
        self.trials = list(journal.trials)
        self.spent = journal.spent
        self._began = 0.0

    def run(self, dataset: Dataset, progress: Progress) -> None:
        """The entry's own configs first, then what is suggested, until the time is up."""
        place, before = self.place, self.spent
        if self.trials:
            left = max(0.0, self.wish.budget_seconds - before.seconds)
            log.info("%s: goes on after %.0f s, with %.0f s left of its budget", place.entry.name, before.seconds, left)
        # another seed for each part of a search: the same one would propose once more what is known
        seed = (self.wish.seed + 1_000_003 * before.builds) % 2**32
        suggestions = Suggestions(self.space, seed, place.track.query_configs)
        for one in self.trials:
            suggestions.know(one.build, one.query, (one.recall, one.qps))
        batches = _Batches(place, self.wish, dataset, progress)
        self._began = time.monotonic() - before.seconds
        try:
            self._rounds(dataset, suggestions, batches, progress)
        finally:
            self._note(batches)
        if not self.trials:
            self.journal.remove()
            raise self._nothing(batches.outcome)

    def _rounds(self, dataset: Dataset, suggestions: Suggestions, batches: _Batches, progress: Progress) -> None:
        place, until = self.place, self._began + self.wish.budget_seconds
        build, queries = _own(place, dataset)
        known = [one.query for one in self.trials if one.own]
        if missing := [query for query in queries if query not in known]:
            self._count()
            for one in batches.measured(build, missing, until, lambda one: self._found(one, batches, own=True)):
                suggestions.know(one.build, one.query, (one.recall, one.qps))
        while time.monotonic() + LEAST_SECONDS < until:
            progress(f"tuning {place.entry.name}", int(time.monotonic() - self._began), int(self.wish.budget_seconds))
            proposals = suggestions.round()
            asked = [{**queries[0], **proposal.query} for proposal in proposals]
            self._count()
            found = batches.measured(
                {**build, **proposals[0].build}, asked, until, lambda one: self._found(one, batches, own=False)
            )
            for proposal, query in zip(proposals, asked, strict=True):
                mine = next((one for one in found if one.query == query), None)
                suggestions.tell(proposal, (mine.recall, mine.qps) if mine else None)

    def _count(self) -> None:
        """One more build."""
        self.spent = replace(self.spent, builds=self.spent.builds + 1)

    def _found(self, one: Measured, batches: _Batches, *, own: bool) -> None:
        self.trials.append(replace(one, own=own))
        self._note(batches, self.trials[-1])

    def _note(self, batches: _Batches, trial: Measured | None = None) -> None:
        failed = self.journal.spent.failed + batches.failed
        self.spent = Spent(time.monotonic() - self._began, self.spent.builds, failed)
        self.journal.note(self.spent, trial)

    def _nothing(self, last: Outcome) -> AnnBenchError:
        name = self.place.entry.name
        if last.status in (Status.TIMEOUT, Status.OK):
            return UsageError(
                f"{name}: a budget of {self.wish.budget_seconds:g} s is too small for one build and one batch here "
                f"({last.detail or 'none was finished'}); give more with --budget"
            )
        return AnnBenchError(f"{name}: nothing that was tried could be measured: {last.status.value} ({last.detail})")
