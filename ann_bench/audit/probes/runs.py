"""Does the entry get through a build and a batch at all?"""

from __future__ import annotations

from ann_bench.audit.registry import Finding, Verdict, probe
from ann_bench.audit.subject import Subject


@probe("runs")
def runs(subject: Subject) -> Finding:
    """The entry builds its index and answers a batch; where judge or sandbox name what it does, it has failed."""
    line = subject.plain()
    _, window = line.ask(*subject.taken(subject.parts[0]))
    line.driver.check_limits("the end of the first batch")
    text = f"built in {line.built.seconds:.2f} s; {len(subject.parts[0]):,} queries in {window.seconds:.3f} s"
    return Finding(Verdict.PASS, text)
