"""Every probe on one entry, one after the other, and what came of them."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ann_bench.audit.probes import PROBES
from ann_bench.audit.probes.runs import runs
from ann_bench.audit.registry import Finding, Probe, Verdict
from ann_bench.audit.stand import Stand
from ann_bench.audit.subject import Subject
from ann_bench.judge.failure import EntryFailure
from ann_bench.judge.plan import Job, Setting
from ann_bench.judge.run import ask_all
from ann_bench.progress import Progress, silent
from ann_bench.results.model import Status
from ann_bench.sandbox import SandboxLost

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Result:
    """What came of one probe."""

    probe: str
    rule: str
    finding: Finding
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        verdict, text = self.finding.verdict.value, self.finding.text
        return {"probe": self.probe, "rule": self.rule, "verdict": verdict, "text": text, "seconds": self.seconds}


@dataclass(frozen=True)
class Wish:
    """What is to be probed: `only` these probes (and `runs`); at the `search` with this number, from 0, or the last."""

    only: Sequence[str] = ()
    search: int | None = None


@dataclass
class Report:
    """All that was found about one query config of an entry."""

    entry: str
    query: Mapping[str, Any]
    results: list[Result] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """The gravest of all."""
        return Finding.worst(*(result.finding for result in self.results)).verdict

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "entry": self.entry,
            "query": dict(self.query),
            "verdict": self.verdict.value,
            "probes": [result.to_json() for result in self.results],
        }


def audit(setting: Setting, job: Job, wish: Wish | None = None, progress: Progress = silent) -> list[Report]:
    """Run the probes on every query config of the job, each with workers of its own.

    Every probe asks one index many times: of a stream one that has come as far as the search of the wish, by the
    operations of a run. UsageError where there is no such search.
    """
    wish = wish or Wish()
    questions = ask_all(setting.dataset, setting.workload, progress)
    stand = Stand.at(setting.workload, questions, wish.search)
    reports = []
    for config in job.configs:
        subject = Subject(setting, job, config.query, questions, stand)
        report = Report(job.entry.name, config.query)
        try:
            wanted = [probe for probe in PROBES if not wish.only or probe.name in wish.only or probe is runs]
            for number, probe in enumerate(wanted):
                progress("probes", number, len(wanted))
                report.results.append(_result(probe, subject, report))
            progress("probes", len(wanted), len(wanted))
        finally:
            subject.close()
        reports.append(report)
    return reports


def _result(probe: Probe, subject: Subject, report: Report) -> Result:
    began = time.monotonic()
    if report.results and report.results[0].finding.verdict is Verdict.FAIL:
        return Result(probe.name, probe.rule, Finding(Verdict.NOT_RUN, "needs `runs`"))
    try:
        finding = probe.run(subject)
    except EntryFailure as failure:
        finding = Finding(Verdict.FAIL, f"{failure.status.value}: {failure.detail}")
        subject.close()  # what ended is not asked again: the next probe starts workers of its own
    except SandboxLost:
        finding = Finding(Verdict.FAIL, f"{Status.RULE_BROKEN.value}: silenced or ended its keeper")
        subject.close()
    return Result(probe.name, probe.rule, finding, round(time.monotonic() - began, 2))
