"""Every check on one entry, one after the other, and what came of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ann_bench.check.bench import Bench, Place, TooManyHangs
from ann_bench.check.case import Finding
from ann_bench.check.checks import CHECKS
from ann_bench.check.checks.first import ordinary
from ann_bench.check.recall import Estimate, estimate
from ann_bench.check.registry import Check, Skip, Verdict
from ann_bench.check.snippet import snippet
from ann_bench.check.subject import Kind, Subject
from ann_bench.datasets.dataset import Dataset
from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest
from ann_bench.entries.entry import Entry
from ann_bench.errors import AnnBenchError
from ann_bench.progress import Progress, silent
from ann_bench.sandbox import Sandbox
from ann_bench.tracks import Track
from ann_bench.workload import Limits

PASSED, FAILED, NOT_APPLICABLE, NOT_RUN = "passed", "failed", "not applicable", "not run"

#: Why a check that needs a feature says nothing on a track without it.
LACKS = {"filtered": "the track has no tags", "stream": "the track's index does not change between searches"}

#: What an entry may use while it is checked.
LIMITS = Limits(cpus=2, memory_bytes=2 * 2**30, build_seconds=60.0, operation_seconds=30.0)


@dataclass(frozen=True)
class Options:
    """`examples`: cases of each search; `only`: these checks (and `ordinary`); `recall`: estimate it, too."""

    examples: int = 20
    only: Sequence[str] = ()
    recall: bool = True


@dataclass(frozen=True)
class Result:
    """What came of one check; `snippet` is a script that shows how it failed, "" where there is nothing to run."""

    check: str
    rule: str
    outcome: str
    detail: str = ""
    snippet: str = ""
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return dict(vars(self))


@dataclass
class Report:
    """All that was found about one entry on one track."""

    entry: str
    track: str
    sandbox: str
    results: list[Result] = field(default_factory=list)
    recall: Estimate = field(default_factory=Estimate)
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether nothing failed, and everything that applies was run."""
        return all(result.outcome in (PASSED, NOT_APPLICABLE) for result in self.results) and not self.recall.failed

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "entry": self.entry,
            "track": self.track,
            "sandbox": self.sandbox,
            "passed": self.passed,
            "seconds": round(self.seconds, 2),
            "checks": [result.to_json() for result in self.results],
            "recall": self.recall.to_json(),
        }


def examine(
    entry: Entry, track: Track, sandbox: Sandbox, options: Options | None = None, progress: Progress = silent
) -> Report:
    """Run the checks; an entry that fails is what the report is about, and no error."""
    options = options or Options()
    began = time.monotonic()
    report = Report(entry.name, track.name, sandbox.name)
    missing = sandbox.environment(entry).missing
    if missing:
        report.results.append(Result("installed", "What the entry requires is there.", FAILED, missing))
        return report
    kind, dataset, why = _own(track)
    subject = _subject(entry, track, sandbox, (kind, options.examples))
    try:
        for number, check in enumerate(CHECKS):
            progress("checks", number, len(CHECKS))
            if not options.only or check.name in options.only or check is ordinary:
                report.results.append(_result(check, subject, report))
        progress("checks", len(CHECKS), len(CHECKS))
    finally:
        subject.bench.close()
        subject.single.close()
    if options.recall and report.passed and not options.only:
        report.recall = estimate(entry, track, sandbox, dataset) if dataset else Estimate(note=why)
    report.seconds = time.monotonic() - began
    return report


def _own(track: Track) -> tuple[Kind, Dataset | None, str]:
    """The kind of vectors of the track's default data set, and that data set; why it cannot be had, where it cannot."""
    try:
        dataset = prepare(find_manifest(track.default_dataset, track.name))
    except AnnBenchError as error:
        sparse = track.features.sparse
        return Kind("ip" if sparse else "euclidean", "float32", 1000 if sparse else 384), None, str(error)
    return Kind(dataset.metric, dataset.dtype, dataset.dim), dataset, ""


def _subject(entry: Entry, track: Track, sandbox: Sandbox, how: tuple[Kind, int]) -> Subject:
    build, queries = _arguments(entry, track)
    limits = sandbox.fit(LIMITS)
    cpus = tuple(sandbox.cpus()[: limits.cpus])
    return Subject(
        entry=entry,
        track=track,
        build=build,
        configs=queries,
        bench=Bench(Place(sandbox, entry, build, limits, cpus)),
        single=Bench(Place(sandbox, entry, build, limits.but(cpus=1), cpus)),
        examples=how[1],
        kinds=[how[0]],
    )


def _arguments(entry: Entry, track: Track) -> tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]:
    """The arguments for a data set that config.yaml does not name; else those for the track's own; else any."""
    config = entry.config
    build = config.build_for("") or config.build_for(track.default_dataset) or next(iter(config.build.values()))
    queries = config.queries_for("") or config.queries_for(track.default_dataset) or next(iter(config.query.values()))
    return build, queries[: track.query_configs]


def _result(check: Check, subject: Subject, report: Report) -> Result:
    began = time.monotonic()
    outcome, detail, finding = _verdict(check, subject, report)
    text = snippet(finding, subject, check.name) if finding else ""
    return Result(check.name, check.rule, outcome, detail, text, round(time.monotonic() - began, 2))


def _verdict(check: Check, subject: Subject, report: Report) -> tuple[str, str, Finding | None]:
    if check.needs and not getattr(subject.features, check.needs):
        return NOT_APPLICABLE, LACKS[check.needs], None
    if any(result.check == ordinary.name and result.outcome != PASSED for result in report.results):
        return NOT_RUN, f"needs `{ordinary.name}`", None
    try:
        found = check.run(subject)
        if isinstance(found, Finding) and found.case is not None and not found.sure:
            found = _again(check, subject, found)
    except TooManyHangs:
        return NOT_RUN, f"the entry hung {subject.bench.hangs + subject.single.hangs} times before", None
    if isinstance(found, Finding):
        return FAILED, found.text, found
    if isinstance(found, Skip):
        return NOT_APPLICABLE, found.why, None
    return PASSED, found, None


def _again(check: Check, subject: Subject, doubtful: Finding) -> Verdict:
    """The same check with a process for every case, as in a run.

    Where nothing fails then, the entry has passed, and the other checks go on in that way.
    """
    alone = subject.bench.alone
    subject.bench.alone = subject.single.alone = True
    found = doubtful if alone else check.run(subject)
    if isinstance(found, Finding):
        subject.bench.alone = subject.single.alone = alone
        return found
    if isinstance(found, Skip):
        return found
    return f"in processes of its own only: objects leave something behind for later ones ({doubtful.text[:100]})"
