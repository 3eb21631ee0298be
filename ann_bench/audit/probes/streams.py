"""Does an index that changes forget what was deleted, and does it go as well by a runbook that nobody has published?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ann_bench.arrays import held, held_csr
from ann_bench.audit.probes.builds import RECALL, SPEED, built
from ann_bench.audit.registry import Finding, Verdict, probe
from ann_bench.audit.stand import turned
from ann_bench.audit.subject import SAMPLE, Numbers, Passed, Subject, exact_of
from ann_bench.audit.weigh import in_turn, slower, worse
from ann_bench.judge.asked import Asked
from ann_bench.judge.record import taken
from ann_bench.judge.scores import score
from ann_bench.results.model import Answers, Score
from ann_bench.truth.problems import problems
from ann_bench.workload import Delete, Insert, Operation, Replace, Search, Workload

#: Why these probes say nothing elsewhere.
NO_STREAM = Finding(Verdict.NOT_APPLICABLE, "the index does not change between searches")

#: Queries of each search on the way that another runbook is scored by: their exact answers are computed for this only.
FEW = 50


@probe("on the way")
def on_the_way(subject: Subject) -> Finding:
    """At each search that comes before, no id is twice, out of range, deleted, not yet there or failing the filter."""
    if not subject.streams:
        return NO_STREAM
    passed = subject.plain().passed
    wrong = [one for one in passed if any(one.invalid.values())]
    if wrong:
        kinds = ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in wrong[0].invalid.items() if count)
        text = f"{len(wrong)} of {len(passed)} searches had invalid ids; first search {wrong[0].number + 1}: {kinds}"
        return Finding(Verdict.FAIL, text)
    if not passed:
        return Finding(Verdict.PASS, "no search comes before")
    return Finding(Verdict.PASS, f"{len(passed)} searches, all ids valid{_recalls(passed)}")


def _recalls(passed: list[Passed]) -> str:
    known = [one.recall for one in passed if not np.isnan(one.recall)]
    return f"; recall {min(known):.4f} to {max(known):.4f}" if known else ""


@probe("deleted")
def deleted(subject: Subject) -> Finding:
    """Asked for the very vectors of deleted and replaced points, it answers with points that are live."""
    if not subject.streams:
        return NO_STREAM
    rows = _gone(subject)
    if not len(rows):
        return Finding(Verdict.NOT_APPLICABLE, "nothing has been deleted or replaced by then")
    data, problem = subject.setting.dataset, subject.problem
    tags = None if problem.tags is None else problem.tags.open()[rows]
    vectors = data.base.open()[rows]
    answers, _ = subject.plain().ask(Asked(vectors, tags), replace(subject.search, queries=len(rows)))
    asked = replace(problem, queries=held(vectors), query_tags=None if tags is None else held_csr(tags))
    worth = score(asked, exact_of(asked), answers)
    wrong = {kind: count for kind, count in worth.invalid.items() if count}
    if wrong:
        counted = ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in wrong.items())
        return Finding(Verdict.FAIL, f"asked for {len(rows)} points that are gone: {counted}")
    recalls = worth.recalls[~np.isnan(worth.recalls)]
    recall = f"; recall {recalls.mean():.4f}" if len(recalls) else ""
    return Finding(Verdict.PASS, f"asked for {len(rows)} points that are gone: all ids valid{recall}")


def _gone(subject: Subject) -> Numbers:
    """Base rows that were under some id before and are under none now, at most SAMPLE."""
    been = [one.rows for one in subject.stand.before if isinstance(one, Insert | Replace)]
    live = subject.problem.live
    there = np.zeros(subject.problem.base.shape[0], dtype=bool)
    for rows in been:
        there[rows.start : rows.stop] = True
    if live is not None:
        there[live.rows] = False
    found = np.flatnonzero(there)
    return np.sort(np.random.default_rng(4).permutation(found)[:SAMPLE]).astype(np.int64)


@probe("other runbook")
def other_runbook(subject: Subject) -> Finding:
    """A runbook that nobody has published, the same one from the other end, goes as well and costs as much."""
    if not subject.streams:
        return NO_STREAM
    workload = subject.setting.workload
    if not all(isinstance(one, Insert | Replace | Delete | Search) for one in workload.operations):
        return Finding(Verdict.NOT_APPLICABLE, "the stream goes on from a build, whose ids are its rows")
    other = _Other(subject, turned(workload, subject.setting.dataset.rows))
    usual, line = subject.plain(), subject.turned(other.before, other.score_passed)
    wrong = [one for one in line.passed if any(one.invalid.values())]
    if wrong:
        return Finding(Verdict.FAIL, f"another runbook: invalid ids at search {wrong[0].number + 1}")
    asked, search = subject.published, subject.search
    before = subject.score(usual.ask(asked, search)[0]).recalls[subject.sample]
    after = other.score(subject.stand.number, line.ask(asked, search)[0], subject.sample).recalls
    there, here = in_turn(lambda: line.ask(asked, search)[1], lambda: usual.ask(asked, search)[1])
    return Finding.worst(
        slower("another runbook", there, here, SPEED),
        worse("another runbook", before, after, RECALL),
        built("by another runbook", usual, line),
    )


class _Other:
    """Another runbook up to the same search; its exact answers are computed for some of the queries."""

    def __init__(self, subject: Subject, workload: Workload) -> None:
        self._problems = problems(subject.setting.dataset, workload)
        self.before: tuple[Operation, ...] = workload.operations[: len(subject.stand.before)]

    def score_passed(self, number: int, answers: Answers) -> Score:
        """What answers to a search on the way are worth, by a few of them."""
        count = self._problems[number].queries.shape[0]
        return self.score(number, answers, np.sort(np.random.default_rng(number).permutation(count)[:FEW]))

    def score(self, number: int, answers: Answers, numbers: Numbers) -> Score:
        """What the answers to these queries are worth."""
        whole = self._problems[number]
        tags = None if whole.query_tags is None else held_csr(whole.query_tags.open()[numbers])
        problem = replace(whole, queries=held(whole.queries.open()[numbers]), query_tags=tags)
        return score(problem, exact_of(problem), taken(answers, numbers))
