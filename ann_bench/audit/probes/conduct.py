"""What an entry does with the CPUs: while nobody asks it anything, and when it is told how many there are."""

from __future__ import annotations

import math
import time

from ann_bench.audit.registry import Finding, Verdict, probe
from ann_bench.audit.subject import Line, Subject
from ann_bench.judge.atwork import TWO_AT_WORK, AtWork
from ann_bench.judge.failure import EntryFailure
from ann_bench.results.model import Status

#: Threads that wait for more work may spin for a moment after a call; then nothing is to be done.
SETTLE_SECONDS, PAUSE_SECONDS, PAUSES = 0.4, 0.5, 3
#: Shares of one CPU that are used in the pauses.
IDLE, IDLE_MUCH = 0.05, 0.25
#: CPU time per time of a call, or threads that want a CPU at once: beyond what was given by this factor is more threads
#: than were given.
MORE = 1.25
#: Nearly as many threads as are claimed: the claim through this; the least share of the looks at which they are seen.
FEWER, LEAST_SHARE = 1.4, 0.1
#: Seconds of calls that one look takes in, in so many batches at the most; looks, of which the busiest counts: on a
#: machine with other work a second thread may have to wait.
LOOK_SECONDS, MOST_BATCHES, LOOKS = 0.4, 100, 5
#: CPU seconds by which the sum of many short windows may be too high.
TICKS_SECONDS = 0.1


@probe("idle")
def idle(subject: Subject) -> Finding:
    """Between its calls the entry does nothing: no CPU time is used while nobody asks."""
    line = subject.plain()
    used = 0.0
    for _ in range(PAUSES):
        line.ask(*subject.taken(subject.parts[0]))
        time.sleep(SETTLE_SECONDS)
        before = line.driver.session.reading().cpu_seconds
        time.sleep(PAUSE_SECONDS)
        used += line.driver.session.reading().cpu_seconds - before
    share = used / (PAUSES * PAUSE_SECONDS)
    text = f"{share:.0%} of a CPU in pauses of {PAUSE_SECONDS:g} s"
    if share > IDLE_MUCH:
        return Finding(Verdict.FAIL, text)
    return Finding(Verdict.SUSPICIOUS if share > IDLE else Verdict.PASS, text)


@probe("threads")
def threads(subject: Subject) -> Finding:
    """It uses no more threads than it is given, and as many as it claims (`threads` in its stats)."""
    return Finding.worst(_more(subject), _fewer(subject))


def _more(subject: Subject) -> Finding:
    """Told to use one, where it could have them all."""
    try:
        line = subject.single()
        with AtWork(line.driver.session) as seen:
            shares = [_used(line, subject, TICKS_SECONDS) for _ in range(LOOKS)]
    except EntryFailure as failure:
        if failure.status is Status.RULE_BROKEN:
            return Finding(Verdict.FAIL, failure.detail)
        raise
    if line.built.seconds > LOOK_SECONDS:
        shares.append((line.built.cpu_seconds - TICKS_SECONDS) / line.built.seconds)
    return told_one(max(shares), seen.mean)


def told_one(cpus: float, at_work: float | None) -> Finding:
    """What is to be said of an entry that was told to use one thread, and had so many CPUs busy at the most.

    `at_work` are its threads that wanted a CPU at the same time, on average; None where that could not be seen.
    """
    wanted = "" if at_work is None else f", {at_work:.2f} threads that wanted one"
    text = f"told to use one thread: {cpus:.2f} CPUs{wanted}"
    two = cpus > MORE or (at_work or 0.0) > TWO_AT_WORK
    return Finding(Verdict.FAIL if two else Verdict.PASS, text)


def _fewer(subject: Subject) -> Finding:
    """What it claims, against how many of its threads are at work or wait for a CPU."""
    line = subject.plain()
    claim = _claim(line)
    given = subject.setting.limits.cpus
    if not isinstance(claim, int) or claim < 2:
        return Finding(Verdict.PASS, "claims no threads")
    if claim > given:
        return Finding(Verdict.SUSPICIOUS, f"claims {claim} threads, and was given {given}")
    with AtWork(line.driver.session) as seen:
        for _ in range(LOOKS):
            _used(line, subject)
    return claimed(claim, seen.share(math.ceil(claim / FEWER)))


def _claim(line: Line) -> object:
    """What its own counters say of threads; counters that fail claim nothing, as in a run."""
    try:
        return line.driver.stats().get("threads")
    except EntryFailure as failure:
        if failure.over:
            raise
        return None


def claimed(threads: int, share: float | None) -> Finding:
    """What is to be said of such a claim.

    `share` is that of the looks at its batches at which nearly so many of its threads wanted a CPU; None where there
    were too few of them.
    """
    if share is None:
        return Finding(Verdict.PASS, f"claims {threads} threads; its batches are too short to see them")
    text = f"claims {threads} threads: nearly so many are at work at {share:.0%} of the looks"
    return Finding(Verdict.SUSPICIOUS if share < LEAST_SHARE else Verdict.PASS, text)


def _used(line: Line, subject: Subject, doubt: float = 0.0) -> float:
    """CPUs that are busy while it answers, over LOOK_SECONDS of batches; 0 where the batches are too short to see it.

    CPU time is counted in ticks; `doubt` is taken off of it, for what they may be wrong by in many short batches.
    """
    seconds = cpu_seconds = 0.0
    for _ in range(MOST_BATCHES):
        _, window = line.ask(subject.published, subject.search)
        seconds, cpu_seconds = seconds + window.seconds, cpu_seconds + window.cpu_seconds
        if seconds > LOOK_SECONDS:
            return max(0.0, cpu_seconds - doubt) / seconds
    return 0.0
