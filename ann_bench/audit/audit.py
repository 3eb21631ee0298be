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
from ann_bench.audit.subject import Subject
from ann_bench.errors import UsageError
from ann_bench.judge.failure import EntryFailure
from ann_bench.judge.plan import Job, Setting
from ann_bench.judge.run import ask_all
from ann_bench.progress import Progress, silent
from ann_bench.results.model import Status
from ann_bench.sandbox import SandboxLost
from ann_bench.workload import Build, Search

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


def audit(setting: Setting, job: Job, only: Sequence[str] = (), progress: Progress = silent) -> list[Report]:
    """Run the probes on every query config of the job, each with workers of its own.

    `only` names probes; `runs` is always one of them. UsageError for a workload that changes its index, since every
    probe asks one index many times.
    """
    check_workload(setting)
    questions = ask_all(setting.dataset, setting.workload, progress)
    reports = []
    for config in job.configs:
        subject = Subject(setting, job, config.query, questions)
        report = Report(job.entry.name, config.query)
        try:
            wanted = [probe for probe in PROBES if not only or probe.name in only or probe is runs]
            for number, probe in enumerate(wanted):
                progress("probes", number, len(wanted))
                report.results.append(_result(probe, subject, report))
            progress("probes", len(wanted), len(wanted))
        finally:
            subject.close()
        reports.append(report)
    return reports


def check_workload(setting: Setting) -> None:
    """Raise UsageError unless the workload is one build and one search."""
    kinds = [type(operation) for operation in setting.workload.operations]
    if kinds != [Build, Search]:
        raise UsageError(
            f"the track {setting.track.name!r} changes its index between searches, and an audit asks one index many "
            "times: audit the entry on a track that does not, or run it with --challenge"
        )


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
