"""Is the k that everybody measures the only one that goes well?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ann_bench.audit.probes.queries import CACHE
from ann_bench.audit.registry import Finding, Verdict, probe
from ann_bench.audit.subject import Subject
from ann_bench.audit.weigh import Bounds, in_turn, slower, worse
from ann_bench.judge.driver import Window
from ann_bench.judge.record import taken

#: Recall may differ with k: where distances are coarse the nearest is harder to name than the ten nearest.
OTHER_K = Bounds(suspicious=0.2, fail=0.5)


@probe("other k")
def neighbours(subject: Subject) -> Finding:
    """One neighbour more or less costs the same; half and twice as many are answered as well as k are."""
    if subject.search.radius is not None:
        return Finding(Verdict.NOT_APPLICABLE, "searches within a radius have no k")
    line, k = subject.plain(), subject.search.k
    published = subject.published

    def asking(number: int) -> Window:
        return line.ask(published, replace(subject.search, k=number))[1]

    more, less, same = in_turn(lambda: asking(k + 1), lambda: asking(max(1, k - 1)), lambda: asking(k))
    findings = [slower(f"k = {k + 1}", more, same, CACHE), slower(f"k = {max(1, k - 1)}", less, same, CACHE)]
    base = subject.score(line.ask(published, subject.search)[0]).recalls[subject.sample]
    for number in sorted({max(1, k // 2), 2 * k}):
        search = replace(subject.search, k=number)
        answers = taken(line.ask(published, search)[0], subject.sample)
        found = subject.score_part(answers, subject.sample, published, number).recalls
        findings.append(worse(f"k = {number}", np.asarray(base), found, OTHER_K))
    return Finding.worst(*findings)
