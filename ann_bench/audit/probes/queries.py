"""Do queries that have been asked before, or published, get better or faster answers than others?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ann_bench.audit.registry import Finding, Verdict, probe
from ann_bench.audit.subject import Numbers, Subject
from ann_bench.audit.weigh import LEAST_ROUNDS, Bounds, in_turn, slower, worse
from ann_bench.judge.driver import Window
from ann_bench.judge.record import taken

#: A cache makes what it holds many times as fast; other differences stay below.
CACHE = Bounds(suspicious=1.5, fail=2.5)
#: What noise may cost an honest entry in recall is far below.
MEMORY = Bounds(suspicious=0.02, fail=0.1)


@probe("fresh")
def fresh(subject: Subject) -> Finding:
    """Queries that were never asked cost as much as those that were asked before."""
    often, *others = subject.parts
    if len(others) < LEAST_ROUNDS:
        return Finding(Verdict.NOT_APPLICABLE, f"{subject.search.queries} queries are too few to keep some back")
    line = subject.unasked()
    unseen: Iterator[Numbers] = iter(others)
    asked = subject.taken(often)
    line.ask(*asked)
    rounds: list[list[float]] = []
    for place, numbers in enumerate(unseen):
        calls = [subject.taken(numbers), asked]
        seconds = [0.0, 0.0]
        for which in (0, 1) if place % 2 else (1, 0):
            seconds[which] = line.ask(*calls[which])[1].seconds
        rounds.append(seconds)
    new, known = np.array(rounds).T
    return slower("queries never asked before, to those asked again", new, known, CACHE)


@probe("perturbed")
def perturbed(subject: Subject) -> Finding:
    """Queries a little beside the published ones cost as much, and are answered as well."""
    line = subject.plain()
    published = subject.published
    subject.given.append(line.ask(published, subject.search)[0])

    def again() -> Window:
        return line.ask(published, subject.search)[1]

    def noisy() -> Window:
        return line.ask(subject.noisy(), subject.search)[1]

    moved, same = in_turn(noisy, again)
    asked, numbers = subject.noisy(), subject.sample
    answers, _ = line.ask(asked, subject.search)
    before = subject.score(subject.given[-1]).recalls[numbers]
    after = subject.score_part(taken(answers, numbers), numbers, asked).recalls
    return Finding.worst(
        slower("perturbed queries, to the published", moved, same, CACHE),
        worse("perturbed queries", before, after, MEMORY),
    )
