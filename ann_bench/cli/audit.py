"""`ann-bench audit`: does an entry do what its figures do not show?"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ann_bench.cli._options import Bytes, Seconds, messages
from ann_bench.cli._progress import bars
from ann_bench.errors import UsageError, unknown

if TYPE_CHECKING:
    from ann_bench.audit.audit import Report
    from ann_bench.judge.plan import Job, Options, Setting

EPILOG = """\b
Examples:
  ann-bench audit hnswlib --track dense
  ann-bench audit ../my-index --dataset yfcc-like-1M --config 3
  ann-bench audit ../my-index --only disguise --only threads --json
  ann-bench audit hnswlib --track streaming --search 4
"""

#: Columns of the table where the output is no terminal.
WIDTH = 130

_STYLES = {
    "pass": "green",
    "suspicious": "bold yellow",
    "fail": "bold red",
    "not applicable": "dim",
    "not run": "yellow",
}


@dataclasses.dataclass(frozen=True)
class Request:
    """What was typed."""

    entry: str
    track: str | None
    dataset: str | None
    queries: str
    config: int | None
    sandbox: str
    timeout: float | None
    only: tuple[str, ...]
    search: int | None
    cpus: int | None
    memory: int | None
    as_json: bool


@click.command("audit", epilog=EPILOG, short_help="Look for caches, memorised answers and untimed work.")
@click.argument("entry", metavar="PATH|NAME")
@click.option("--track", metavar="NAME", help="The track. Default: the first that the entry is for.")
@click.option("--dataset", metavar="NAME|FILE", help="A data set, or a manifest (.yaml). Default: the track's.")
@click.option("--queries", default="public", show_default=True, metavar="NAME", help="The query set.")
@click.option(
    "--config", type=click.IntRange(1), metavar="N", help="Which query config, counted from 1. Default: the middle one."
)
@click.option(
    "--sandbox",
    default="auto",
    show_default=True,
    metavar="KIND",
    envvar="ANN_BENCH_SANDBOX",
    help="Where the entry runs: docker, process, or auto: docker where it is ready.",
)
@click.option("--timeout", type=Seconds(), help="Longest time for a build, and for a batch. Default: the track's.")
@click.option("--cpus", type=click.IntRange(1), help="Whole CPUs that the entry may use. Default: the track's.")
@click.option("--memory", type=Bytes(), help="Memory that the entry may use, such as 16g. Default: the track's.")
@click.option("--only", multiple=True, metavar="PROBE", help="Only this probe; may be given again.")
@click.option(
    "--search", type=click.IntRange(1), metavar="N", help="Streams: at which search probes ask. Default: the last."
)
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(as_json: bool, **options: object) -> int:
    """Look for what figures do not show: caches, memorised answers, data sets that are recognised, untimed work.

    Each probe ends in pass, suspicious (with the figures) or fail; docs/audit.md says what each catches, and what none
    does. Exit code 0 when none failed (suspicions are for a person to judge), 1 when one failed, 2 for wrong usage.
    """
    from ann_bench.audit.audit import Wish, audit
    from ann_bench.audit.probes import PROBES
    from ann_bench.audit.registry import Verdict

    request = Request(**options, as_json=as_json)  # type: ignore[arg-type]
    names = [probe.name for probe in PROBES]
    for name in request.only:
        if name not in names:
            raise unknown("probe", name, names)
    console = messages()
    setting, job = _subject(request, console)
    with bars(console) as progress:
        wish = Wish(request.only, None if request.search is None else request.search - 1)
        reports = audit(setting, job, wish, progress)
    if as_json:
        click.echo(json.dumps([report.to_json() for report in reports], indent=2))
    else:
        _show(reports, setting)
    return 1 if any(report.verdict is Verdict.FAIL for report in reports) else 0


def _options(request: Request) -> Options:
    from ann_bench.judge.plan import Options

    return Options(cpus=request.cpus, memory_bytes=request.memory, timeout_seconds=request.timeout)


def _subject(request: Request, console: Console) -> tuple[Setting, Job]:
    """Everything that has a name, looked up; one query config is left of the entry."""
    from ann_bench.datasets.home import home
    from ann_bench.datasets.prepare import prepare
    from ann_bench.datasets.registry import find_manifest
    from ann_bench.entries.discovery import resolve
    from ann_bench.judge.plan import plan, setting
    from ann_bench.sandbox import choose_sandbox
    from ann_bench.tracks import find_track

    entry = resolve(request.entry, home(), find_track(request.track).name if request.track else None)[0]
    track = find_track(entry.track)
    manifest = find_manifest(request.dataset or track.default_dataset, track.name)
    place = choose_sandbox(request.sandbox, [entry])
    if place.line:
        console.print(place.line, style="dim")
    with bars(console) as progress:
        place.sandbox.prepare([entry], Path("results") / "logs", progress)
        dataset = prepare(manifest, request.queries, progress)
    common = setting(track, dataset, place.sandbox, _options(request))
    (job,) = plan(common, [entry]).jobs
    if job.refusal is not None:
        raise UsageError(f"{entry.name}: {job.refusal.status.value}: {job.refusal.detail}")
    number = request.config or (len(job.configs) + 1) // 2
    if number > len(job.configs):
        raise UsageError(f"{entry.name} has {len(job.configs)} query configs for {manifest.name}, there is no {number}")
    return common, dataclasses.replace(job, configs=job.configs[number - 1 : number])


def _show(reports: Sequence[Report], setting: Setting) -> None:
    from ann_bench.report.format import query_text

    screen = Console()
    screen = screen if screen.is_terminal else Console(width=WIDTH)
    for report in reports:
        where = f"{setting.track.name}, {setting.dataset.name}, {setting.sandbox.name}"
        table = Table(title=f"{report.entry} {query_text(report.query)} ({where})", box=None, pad_edge=False)
        table.title_justify = "left"
        for column in ("probe", "verdict", "figures"):
            table.add_column(column, overflow="fold")
        for result in report.results:
            verdict = result.finding.verdict.value
            table.add_row(result.probe, f"[{_STYLES[verdict]}]{verdict}[/]", escape(result.finding.text))
        screen.print(table)
        grave = [result for result in report.results if result.finding.verdict.value in ("suspicious", "fail")]
        for result in grave:
            screen.print(f"{result.finding.verdict.value}: {result.probe}: {result.rule}", markup=False)
        click.echo(f"{report.entry}: {report.verdict.value}")
