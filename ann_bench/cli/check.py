"""`ann-bench check`: does an entry keep the contract, also on data that trips it?"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from ann_bench.cli._options import messages
from ann_bench.cli._progress import bars
from ann_bench.errors import StorageError, unknown

if TYPE_CHECKING:
    from ann_bench.check.kit import Report
    from ann_bench.entries.entry import Entry
    from ann_bench.progress import Progress

EPILOG = """\b
Examples:
  ann-bench check ../my-index
  ann-bench check hnswlib --track filtered
  ann-bench check ../my-index --only twins --only zeros --snippets /tmp
"""

#: Scripts of more lines are not printed.
LONGEST = 100

#: Columns of the table where the output is no terminal.
WIDTH = 130

_STYLES = {"passed": "green", "failed": "bold red", "not applicable": "dim", "not run": "yellow"}


@click.command("check", epilog=EPILOG, short_help="Try an entry on tiny and nasty data.")
@click.argument("entry", metavar="PATH|NAME")
@click.option("--track", metavar="NAME", help="Only on this track. Default: on every track that the entry is for.")
@click.option(
    "--sandbox",
    default="auto",
    show_default=True,
    metavar="KIND",
    envvar="ANN_BENCH_SANDBOX",
    help="Where the entry runs: docker, process, or auto: docker where it is ready.",
)
@click.option("--only", multiple=True, metavar="CHECK", help="Only this check; may be given again.")
@click.option(
    "--examples", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Cases that each check tries."
)
@click.option("--recall/--no-recall", default=True, show_default=True, help="Estimate recall on the track's data set.")
@click.option("--snippets", type=click.Path(path_type=Path), metavar="DIR", help="Keep the scripts of failed checks.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(
    entry: str,
    track: str | None,
    sandbox: str,
    only: tuple[str, ...],
    examples: int,
    recall: bool,
    snippets: Path | None,
    as_json: bool,
) -> int:
    """Try an entry on tiny and nasty data: a table of what passed and what failed, and an estimate of its recall.

    It runs as it would be measured, in the same sandbox, and its answers go through the judge's own tests. What fails
    comes with the smallest case that was found, as a script. docs/check.md has the rules. Exit code 0 when all that
    applies has passed, 1 when anything failed, 2 for wrong usage.
    """
    from ann_bench.check.checks import CHECKS
    from ann_bench.check.kit import Options

    for name in only:
        if name not in {check.name for check in CHECKS}:
            raise unknown("check", name, [check.name for check in CHECKS])
    console = messages()
    entries = _entries(entry, track)
    with bars(console) as progress:
        reports = _reports(entries, sandbox, Options(examples, only, recall), (console, progress))
    if snippets is not None:
        _keep(reports, snippets)
    if as_json:
        click.echo(json.dumps([report.to_json() for report in reports], indent=2))
    else:
        for report in reports:
            _show(report, snippets)
    return 0 if all(report.passed for report in reports) else 1


def _entries(word: str, track: str | None) -> list[Entry]:
    from ann_bench.datasets.home import home
    from ann_bench.entries.discovery import resolve
    from ann_bench.tracks import find_track

    return resolve(word, home(), find_track(track).name if track else None)


def _reports(entries: Sequence[Entry], sandbox: str, options: object, screen: tuple[Console, Progress]) -> list[Report]:
    from ann_bench.check.kit import Options, examine
    from ann_bench.sandbox import choose_sandbox
    from ann_bench.tracks import find_track

    assert isinstance(options, Options)
    console, progress = screen
    place = choose_sandbox(sandbox, entries)
    if place.line:
        console.print(place.line, style="dim")
    place.sandbox.prepare(entries, Path("results") / "logs", progress)
    return [examine(entry, find_track(entry.track), place.sandbox, options, progress) for entry in entries]


def _keep(reports: Sequence[Report], folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for report in reports:
            for result in report.results:
                if result.snippet:
                    _path(folder, report, result.check).write_text(result.snippet, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written ({error.strerror})") from error


def _path(folder: Path, report: Report, check: str) -> Path:
    return folder / re.sub(r"\W", "_", f"{report.track}_{report.entry}_{check}.py").replace("_py", ".py")


def _show(report: Report, snippets: Path | None) -> None:
    screen = Console()
    screen = screen if screen.is_terminal else Console(width=WIDTH)
    table = Table(title=f"{report.entry} on {report.track}", title_justify="left", box=None, pad_edge=False)
    for column in ("check", "", ""):
        table.add_column(column, overflow="fold")
    for result in report.results:
        style = _STYLES[result.outcome]
        table.add_row(result.check, f"[{style}]{result.outcome}[/]", _plain(result.detail or "", result.outcome))
    screen.print(table)
    failed = [result for result in report.results if result.outcome == "failed"]
    for result in failed:
        screen.print(f"\n{result.check}: {_plain(result.rule, '')}", style="bold")
        if result.snippet and snippets is not None:
            screen.print(f"  python {_path(snippets, report, result.check)}", markup=False)
        elif result.snippet.count("\n") > LONGEST:
            screen.print("  its script is long; keep it with --snippets DIR", markup=False)
        elif result.snippet:
            click.echo(result.snippet)
    _recall(report)
    counts = {outcome: sum(result.outcome == outcome for result in report.results) for outcome in _STYLES}
    text = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    click.echo(f"{report.entry} on {report.track}: {text} ({report.sandbox}, {report.seconds:.0f} s)")


def _plain(text: str, outcome: str) -> str:
    from rich.markup import escape

    return escape(text) if outcome != "passed" else f"[dim]{escape(text)}[/]"


def _recall(report: Report) -> None:
    from ann_bench.report.format import query_text

    if report.recall.note:
        click.echo(f"recall: {report.recall.note}")
    for query, recall, outcome in report.recall.rows:
        shown = f"{recall:.4f}" if recall is not None else outcome
        click.echo(f"recall on {report.recall.dataset}, {query_text(dict(query)) or 'no arguments'}: {shown}")
