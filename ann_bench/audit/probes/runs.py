"""Does the entry get through a build and a batch at all?"""

from __future__ import annotations

from ann_bench.audit.registry import Finding, Verdict, probe
from ann_bench.audit.subject import Subject

#: Seconds that a batch should take, and the queries that it has at least; with more of either, a hundred batches take
#: too long.
BATCH_SECONDS, LEAST_QUERIES = 0.4, 100


@probe("runs")
def runs(subject: Subject) -> Finding:
    """The entry builds its index and answers a batch; where judge or sandbox name what it does, it has failed."""
    line, part = subject.plain(), subject.parts[0]
    line.ask(*subject.taken(part))
    _, window = line.ask(*subject.taken(part))
    line.driver.check_limits("the end of the first batch")
    text = f"built in {line.built.seconds:.2f} s; {len(part):,} queries in {window.seconds:.3f} s"
    count = max(LEAST_QUERIES, int(BATCH_SECONDS * len(part) / window.seconds))
    if count < subject.search.queries:
        subject.shorten(count)
        text += f"; the probes ask the first {count:,} queries"
    return Finding(Verdict.PASS, text)
