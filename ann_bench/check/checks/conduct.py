"""How the entry behaves beside its answers: arguments, chance, threads, memory, its inputs, saving."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import replace

from ann_bench.arrays import held
from ann_bench.check.bench import Trace
from ann_bench.check.case import AtOnce, Case, Finding
from ann_bench.check.checks.answers import asked_by, rows
from ann_bench.check.make import Asking, plain, searching
from ann_bench.check.registry import Skip, Verdict, check
from ann_bench.check.rules import differing, failed, invalid
from ann_bench.check.subject import Subject
from ann_bench.judge.atwork import TWO_AT_WORK
from ann_bench.results.model import Status
from ann_bench.workload import Search

#: Rows of the cases here: enough for an index to have something to choose from.
ROWS = 300

#: Rows and queries of the case that is to take a while, and how long it must take for its CPU time to tell anything:
#: two threads instead of one are beyond the judge's slack then.
MANY, LEAST_SECONDS = 3000, 0.4
MOST_QUERIES = 200_000

#: How often in a row two threads at work must be seen.
SIGHTINGS = 4

#: Queries that are asked one by one, from how many callers at once, and how many times over.
ALONE_QUERIES, CALLERS, CROWDS = 100, 4, 6
NOT_SAFE = "; where query() is not safe to call from several threads, say `concurrent: false` in config.yaml"

#: Batches of queries whose memory is watched; those before the first mark may fill caches.
BATCHES, SETTLED, TAIL = 40, 15, 5
LEAST_GROWTH = 1 << 20


def _case(subject: Subject) -> Case:
    base = rows(subject, subject.kind, ROWS, 0)
    queries = asked_by(subject, subject.kind, base, 0)
    return plain(subject, subject.kind, (base, queries), Asking(subject.configs))


def _finding(subject: Subject, text: str, case: Case, script: str) -> Finding:
    return Finding(text, case, script, subject.bench.place.limits.cpus)


@check("arguments")
def arguments(subject: Subject) -> Verdict:
    """set_query_arguments() again and again: what was set last counts, and nothing of what was before."""

    first, last = subject.configs[0], subject.configs[-1]
    case = _case(subject)
    steps = case.steps[: -2 * len(subject.configs)]
    search = case.steps[-1:]
    again = [searching(subject, case.data.queries.shape[0], Asking([one]))[0] for one in (first, last, first)]
    case = Case(case.data, (*steps, again[0], *search, *search, again[1], *search, again[2], *search))
    trace = subject.bench.run(case)
    if text := invalid(case, trace):
        return _finding(subject, text, case, "calls")
    problem, (one, same, _, after) = case.problems[0], trace.answers
    if differing(problem, one, same):
        return Skip("the same search twice has other answers by itself: nothing follows")
    if text := differing(problem, one, after):
        return _finding(subject, f"with other arguments in between, {text}", case, "calls")
    return "" if len(subject.configs) > 1 else "there is one query config only"


@check("repeats")
def repeats(subject: Subject) -> Verdict:
    """Two builds from the same rows by one thread, each asked the same: the answers are equally far."""

    case = _case(subject)
    traces = subject.single.run(case), subject.single.run(case)
    for trace in traces:
        if text := invalid(case, trace):
            return Finding(text, case)
    for problem, one, other in zip(case.problems, traces[0].answers, traces[1].answers, strict=True):
        if text := differing(problem, one, other):
            return Finding(f"{text}: seed what is random", case, "twice")
    return ""


@check("save-load")
def save_load(subject: Subject) -> Verdict:
    """An index that is saved and loaded by a fresh process answers as before."""

    case = _case(subject)
    before, folder = subject.bench.save(case)
    if text := invalid(case, before):
        return _finding(subject, text, case, "save")
    if folder is None:
        return Skip("it has no save()")
    subject.single.close()
    after = subject.single.load(case, folder)
    with contextlib.suppress(OSError):
        shutil.rmtree(folder)
    if after.failure is None and not after.answers:
        return Skip("load() says that it cannot")
    if text := invalid(case, after):
        return _finding(subject, f"once loaded, {text}", case, "save")
    for problem, one, other in zip(case.problems, before.answers, after.answers, strict=True):
        if text := differing(problem, one, other):
            return _finding(subject, f"once loaded, {text}", case, "save")
    return ""


@check("threads")
def threads(subject: Subject) -> Verdict:
    """An entry that is told to use one thread uses one, although more CPUs are there."""

    queries = 500
    for _ in range(4):
        case = _many(subject, queries)
        trace = subject.single.watched(case)
        if trace.failure is not None and trace.failure.status is Status.RULE_BROKEN:
            return Finding(f"told to use one thread, {trace.failure.detail}", case, "threads")
        if text := failed(case, trace):
            return Finding(text, case)
        if (least := _least_at_work(subject, case, trace.at_work)) > TWO_AT_WORK:
            return Finding(f"told to use one thread, {least:.2f} at once wanted a CPU", case, "threads")
        if max(window.seconds for window in trace.windows) >= LEAST_SECONDS:
            return ""
        wanted = int(queries * 2 * LEAST_SECONDS / max(trace.windows[-1].seconds, 1e-4))
        queries = min(MOST_QUERIES, max(2 * queries, wanted))
    return Skip("no call takes long enough to tell")


def _least_at_work(subject: Subject, case: Case, seen: float | None) -> float:
    """The fewest threads at once in several runs of a case, of which `seen` is the first; 0 where nothing is known."""
    for _ in range(SIGHTINGS - 1):
        if seen is None or seen <= TWO_AT_WORK:
            break
        again = subject.single.watched(case).at_work
        seen = None if again is None else min(seen, again)
    return seen or 0.0


def _many(subject: Subject, queries: int) -> Case:
    base = rows(subject, subject.kind, MANY, 0)
    asked = rows(subject, subject.kind, queries, 1)
    return plain(subject, subject.kind, (base, asked), Asking(subject.configs[-1:]))


@check("at-once")
def at_once(subject: Subject) -> Verdict:
    """query() with one row from several threads at once answers as for one caller, or config.yaml says otherwise."""

    if not subject.entry.config.answers_at_once:
        return Skip("config.yaml says `concurrent: false`: its queries are answered one after the other")
    base = rows(subject, subject.kind, MANY // 3, 0)
    asked = rows(subject, subject.kind, ALONE_QUERIES, 1)
    case = plain(subject, subject.kind, (base, asked), Asking(subject.configs[-1:]))
    *before, last = case.steps
    assert isinstance(last, Search)
    fields = vars(last)
    steps = [AtOnce(**fields, callers=callers) for callers in (1, 1, *[CALLERS] * CROWDS)]
    case = Case(case.data, (*before, *steps))
    trace = subject.bench.run(case, fresh=True)
    if not trace.answers and not subject.bench.serves:
        return Skip("its program takes no queries one by one")
    if text := invalid(case, trace):
        crowd = f" (from the third search on, {CALLERS} callers at once){NOT_SAFE}" if len(trace.answers) > 1 else ""
        return replace(_finding(subject, f"{text}{crowd}", case, "at once"), sure=True)
    problem, (one, same, *crowds) = case.problems[0], trace.answers
    if differing(problem, one, same):
        return "one caller by itself gets other answers each time: they were looked at for validity only"
    for answers in crowds:
        if text := differing(problem, one, answers):
            text = f"with {CALLERS} callers at once, {text}{NOT_SAFE}"
            return replace(_finding(subject, text, case, "at once"), sure=True)
    return ""


@check("memory")
def memory(subject: Subject) -> Verdict:
    """Forty batches of queries, one after the other: memory does not grow by what each batch brings."""

    probe = _batches(subject, 200, 2)
    trace = subject.bench.run(probe)
    if text := invalid(probe, trace):
        return _finding(subject, text, probe, "calls")
    pace = max(window.seconds for window in trace.windows[-2:]) / 200
    count = max(50, min(2000, int(4.0 / BATCHES / max(pace, 1e-7))))
    case = _batches(subject, count, BATCHES)
    trace = subject.bench.run(case)
    if text := failed(case, trace):
        return _finding(subject, text, case, "calls")
    used = [window.memory_bytes for window in trace.windows[-BATCHES:]]
    grown = min(used[-TAIL:]) - max(used[SETTLED - TAIL : SETTLED])
    brought = (held(case.data.queries).nbytes + count * 8 * 10) * (BATCHES - SETTLED)
    if grown > max(LEAST_GROWTH, brought // 2):
        text = f"memory grew by {grown / 2**20:.1f} MiB over {BATCHES - SETTLED} batches of {count} queries"
        return _finding(subject, text, case, "memory")
    return ""


def _batches(subject: Subject, queries: int, times: int) -> Case:
    base = rows(subject, subject.kind, ROWS, 0)
    asked = rows(subject, subject.kind, queries, 1)
    case = plain(subject, subject.kind, (base, asked), Asking(subject.configs[:1]))
    return Case(case.data, (*case.steps, *case.steps[-1:] * (times - 1)))


@check("inputs")
def inputs(subject: Subject) -> Verdict:
    """The arrays that the entry is given hold the same bytes afterwards, in all that was tried before."""

    case = _case(subject)
    trace: Trace = subject.bench.run(case)
    writer = case if trace.written else subject.bench.writer or subject.single.writer
    return _finding(subject, "an input was written to", writer, "inputs") if writer else ""
