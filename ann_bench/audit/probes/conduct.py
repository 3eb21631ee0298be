"""What an entry does with the CPUs: while nobody asks it anything, and when it is told how many there are."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from ann_bench.audit.registry import Finding, Verdict, probe
from ann_bench.audit.spin import busy
from ann_bench.audit.subject import Line, Subject
from ann_bench.audit.weigh import LEAST_ROUNDS, LEVEL
from ann_bench.judge.failure import EntryFailure
from ann_bench.results.model import Status
from ann_bench.stats import ratio_estimate

#: Threads that wait for more work may spin for a moment after a call; then nothing is to be done.
SETTLE_SECONDS, PAUSE_SECONDS, PAUSES = 0.4, 0.5, 3
#: Shares of one CPU that are used in the pauses.
IDLE, IDLE_MUCH = 0.05, 0.25
#: CPU time per time of a call: beyond what was given by this factor is more threads than were given.
MORE = 1.25
#: By so much a claim of threads, where they are free, has to exceed what is used.
FEWER = 1.4
#: Seconds of calls that one look takes in, in so many batches at the most; looks, of which the busiest counts: on a
#: machine with other work the second thread may have to wait.
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
    if len(subject.setting.cpus) < 2:
        return Finding(Verdict.PASS, "one CPU: there are no more threads to use")
    try:
        line = subject.single()
        shares = [_used(line, subject, TICKS_SECONDS) for _ in range(LOOKS)]
    except EntryFailure as failure:
        if failure.status is Status.RULE_BROKEN:
            return Finding(Verdict.FAIL, failure.detail)
        raise
    if line.built.seconds > LOOK_SECONDS:
        shares.append((line.built.cpu_seconds - TICKS_SECONDS) / line.built.seconds)
    return told_one(max(shares), busy(2, subject.setting.cpus))


def told_one(cpus: float, free: float) -> Finding:
    """What is to be said of an entry that was told to use one thread, and had so many CPUs busy at the most.

    `free` is what two threads of another program get.
    """
    text = f"told to use one thread: {cpus:.2f} CPUs, where two threads get {free:.2f}"
    return Finding(Verdict.FAIL if cpus > MORE else Verdict.PASS, text)


def _fewer(subject: Subject) -> Finding:
    """What it claims, against what it uses while a program of ours gets more from this machine."""
    line = subject.plain()
    claim = _claim(line)
    given = subject.setting.limits.cpus
    if not isinstance(claim, int) or claim < 2:
        return Finding(Verdict.PASS, "claims no threads")
    if claim > given:
        return Finding(Verdict.SUSPICIOUS, f"claims {claim} threads, and was given {given}")
    rounds = [(_used(line, subject), busy(claim, subject.setting.cpus)) for _ in range(LEAST_ROUNDS)]
    return claimed(claim, rounds)


def _claim(line: Line) -> object:
    """What its own counters say of threads; counters that fail claim nothing, as in a run."""
    try:
        return line.driver.stats().get("threads")
    except EntryFailure as failure:
        if failure.over:
            raise
        return None


def claimed(threads: int, rounds: Sequence[tuple[float, float]]) -> Finding:
    """What is to be said of such a claim; `rounds` are CPUs that it used, and that were to be had at that time."""
    mine, theirs = np.array(rounds, dtype=np.float64).T
    if not mine.all():
        return Finding(Verdict.PASS, f"claims {threads} threads; its batches are too short to see them")
    ratio = ratio_estimate([theirs], [mine], paired=True, level=LEVEL)
    text = f"claims {threads} threads: {np.median(mine):.2f} CPUs, where {np.median(theirs):.2f} were to be had"
    return Finding(Verdict.SUSPICIOUS if ratio.low > FEWER else Verdict.PASS, text)


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
