"""`ann-bench compare`: which of two is faster at the same recall, and what has changed over time."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from ann_bench.cli._options import Bytes, CpuSet, Seconds, messages
from ann_bench.cli._progress import bars
from ann_bench.errors import AnnBenchError, UsageError

if TYPE_CHECKING:
    from ann_bench.compare.verdict import Compared, Side
    from ann_bench.entries.entry import Entry
    from ann_bench.judge.plan import Options, Setting

EPILOG = """\b
Examples:
  ann-bench compare hnswlib faiss-hnsw --track dense --recall 0.95
  ann-bench compare my-index@main my-index --track filtered --at-most 5%
  ann-bench compare results-main results-mine --format markdown
  ann-bench compare --history nightly
"""


class Share(click.ParamType):  # type: ignore[type-arg]
    """A share such as `5%` or `0.05`, below 1."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse, or say how to write it."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", str(value).strip())
        share = float(match[1]) / (100 if match[2] else 1) if match else 1.0
        if share >= 1:
            self.fail(f"{value!r} is no share; write 5% or 0.05", param, ctx)
        return share


@dataclass(frozen=True)
class Request:
    """What was typed: names and paths, nothing of it looked up yet."""

    places: tuple[str, ...]
    history: tuple[Path, ...]
    track: str | None
    dataset: str | None
    queries: str
    algorithm: tuple[str, ...]
    recall: float | None
    at_most: float
    sandbox: str
    results: Path
    form: str
    as_json: bool


@click.command("compare", epilog=EPILOG, short_help="Which of two is faster at the same recall; history.")
@click.argument("places", metavar="[A B]", nargs=-1)
@click.option("--recall", type=click.FloatRange(0, 1, min_open=True), help="The recall. Default: the track's bound.")
@click.option(
    "--at-most",
    type=Share(),
    default="0%",
    show_default=True,
    metavar="SHARE",
    help="How much slower B may be before the exit code is 1, such as 5%.",
)
@click.option("--format", "form", type=click.Choice(["text", "markdown"]), default="text", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@click.option(
    "--history",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FOLDER",
    help="Instead: find the steps in results of many days; may be given again.",
)
@click.option(
    "--algorithm", multiple=True, metavar="NAME", help="Of results folders: only this one; may be given again."
)
@click.option("--track", metavar="NAME", help="Of entries: the track; needed where both serve several.")
@click.option("--dataset", metavar="NAME|FILE", help="Of entries: the data set. Default: the track's.")
@click.option("--queries", default="public", show_default=True, metavar="NAME", help="The query set.")
@click.option("--k", type=click.IntRange(1, 10_000), help="Neighbours to a query. Default: the track's.")
@click.option("--builds", type=click.IntRange(1, 1000), default=5, show_default=True, help="Builds of each index.")
@click.option("--runs", type=click.IntRange(1, 1000), default=3, show_default=True, help="Runs of each build.")
@click.option(
    "--sandbox",
    default="auto",
    show_default=True,
    metavar="KIND",
    envvar="ANN_BENCH_SANDBOX",
    help="docker or process.",
)
@click.option("--cpus", type=click.IntRange(1), help="Whole CPUs that an entry may use. Default: the track's.")
@click.option("--cpuset", type=CpuSet(), default=(), help="Which CPUs, such as 0-7. Default: the first that are free.")
@click.option("--memory", type=Bytes(), help="Memory of each entry, such as 16g. Default: the track's.")
@click.option("--build-limit", type=Seconds(), help="Longest time for one build. Default: the track's.")
@click.option("--timeout", type=Seconds(), help="Longest time for one batch, and for a build without --build-limit.")
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default="results-compare",
    show_default=True,
    help="Where the measurements of two entries are kept, in the folders a and b.",
)
def command(**options: Any) -> int:
    """Which of two is faster at the same recall: faster, slower, or cannot tell, with ratio and interval.

    A and B are entries (names, folders, `bigann:` and `annbenchmarks:` places, `FOLDER@REVISION` of git), which are
    measured in turn, batch by batch; or two folders of results, which are read. With --history: the steps in results of
    many days, with their dates.

    Exit code 0: B is not shown to be slower than A (by more than --at-most). 1: it is, or it does not reach the recall,
    or it failed; with --history, the last step of a series made it worse. 2: wrong usage, results of unlike conditions,
    or A does not reach the recall.
    """
    from ann_bench.judge.plan import Options

    choice = Options(
        memory_bytes=options.pop("memory"),
        build_seconds=options.pop("build_limit"),
        timeout_seconds=options.pop("timeout"),
        **{name: options.pop(name) for name in ("k", "runs", "builds", "cpus", "cpuset")},
    )
    request = Request(**options)
    console = messages()
    if request.history:
        if request.places:
            raise UsageError("--history goes without A and B")
        return _history(request)
    if len(request.places) != 2:
        raise UsageError("name two to compare, A and B: entries or folders of results; or --history FOLDER")
    return _say(request, *_compared(request, _sides(request, choice, console)))


def _sides(request: Request, choice: Options, console: Console) -> list[tuple[Side, Side]]:
    """The pairs to compare: read from two folders, or measured now."""
    from ann_bench.compare.folders import pairs
    from ann_bench.compare.places import is_results

    stored = [is_results(word) for word in request.places]
    if all(stored):
        return pairs(Path(request.places[0]), Path(request.places[1]), request.algorithm)
    if any(stored):
        folder = request.places[stored.index(True)]
        raise UsageError(f"{folder} is a folder of results and the other is not; name two of one kind")
    return [_measured(request, choice, console)]


def _compared(request: Request, sides: list[tuple[Side, Side]]) -> tuple[list[Compared], list[AnnBenchError]]:
    """Every pair compared; what kept one from it. What is wrong with all alike is raised."""
    from ann_bench.compare.verdict import compare

    found: list[Compared] = []
    problems: list[AnnBenchError] = []
    for a, b in sides:
        try:
            found.append(compare(a, b, _recall(request, str(a.bundles[0].identity["track"]))))
        except AnnBenchError as error:
            if len(sides) == 1 and not (request.as_json or request.form == "markdown"):
                raise
            problems.append(error)
    return found, problems


def _recall(request: Request, track: str) -> float:
    from ann_bench.report.ranking import least_recall

    recall = request.recall if request.recall is not None else least_recall(track)
    if recall is None:
        raise UsageError(f"the track {track!r} has no bound on recall; name one, such as --recall 0.95")
    return recall


def _measured(request: Request, choice: Options, console: Console) -> tuple[Side, Side]:
    """Both entries measured in turn."""
    from ann_bench.compare.pair import measure_pair
    from ann_bench.compare.verdict import Side
    from ann_bench.judge.plan import plan
    from ann_bench.judge.run import ask_all, measuring
    from ann_bench.results.model import Bundle
    from ann_bench.results.store import Store

    stores = [Store(request.results / side) for side in ("a", "b")]
    kept: tuple[list[Bundle], list[Bundle]] = ([], [])
    with ExitStack() as stack:
        entries = _entries(request, stack)
        common = _setting(request, choice, entries, console)
        one, other = (plan(common, [entry]).jobs[0] for entry in entries)
        for store in stores:
            store.check_writable()
        with bars(console) as progress:
            questions = ask_all(common.dataset, common.workload, progress)

        def keep(side: int, bundle: Bundle) -> None:
            stores[side].write(bundle)
            kept[side].append(stores[side].get(bundle.identity, answers=False))

        with measuring(request.results):
            measure_pair(common, (one, other), questions, keep)
    a, b = (Side(word, entry.name, bundles) for word, entry, bundles in zip(request.places, entries, kept, strict=True))
    return a, b


def _entries(request: Request, stack: ExitStack) -> tuple[Entry, Entry]:
    """A and B for one track."""
    from ann_bench.compare.places import apart, entries_of
    from ann_bench.datasets.home import home

    found = [entries_of(word, home(), request.track, stack) for word in request.places]
    for word, entries in zip(request.places, found, strict=True):
        if len({entry.name for entry in entries}) > 1:
            names = ", ".join(dict.fromkeys(entry.place for entry in entries))
            raise UsageError(f"{word} holds several entries; name one of {names}")
    tracks = [entry.track for entry in found[0] if any(entry.track == other.track for other in found[1])]
    if len(tracks) != 1:
        both = f"both serve {', '.join(tracks)}; name one with --track" if tracks else "they serve no track together"
        raise UsageError(f"{request.places[0]} and {request.places[1]}: {both}")
    a, b = (next(entry for entry in entries if entry.track == tracks[0]) for entries in found)
    return apart(a, b)


def _setting(request: Request, choice: Options, entries: tuple[Entry, Entry], console: Console) -> Setting:
    from ann_bench.datasets.prepare import prepare
    from ann_bench.datasets.registry import find_manifest
    from ann_bench.judge.plan import setting
    from ann_bench.sandbox import choose_sandbox
    from ann_bench.tracks import find_track

    track = find_track(entries[0].track)
    name = request.dataset or track.default_dataset
    manifest = find_manifest(name, track.name)
    place = choose_sandbox(request.sandbox, entries)
    if place.line:
        console.print(place.line, style="dim")
    with bars(console) as progress:
        place.sandbox.prepare(entries, request.results / "logs", progress)
        dataset = prepare(manifest, request.queries, progress)
    source = str(manifest.origin) if name.endswith((".yaml", ".yml")) else name
    return setting(track, dataset, place.sandbox, choice, source)


def _say(request: Request, compared: list[Compared], problems: list[AnnBenchError]) -> int:
    from ann_bench.compare.summary import markdown, text

    slower = [one for one in compared if one.fails(request.at_most)]
    codes = [error.exit_code for error in problems]
    if request.as_json:
        summary = {
            "comparisons": [one.to_json() for one in compared],
            "problems": [str(error) for error in problems],
            "at_most": request.at_most,
            "slower": bool(slower),
        }
        click.echo(json.dumps(summary, indent=2))
    elif request.form == "markdown":
        click.echo(markdown(compared, [str(error) for error in problems]), nl=False)
    else:
        click.echo("\n\n".join(text(one) for one in compared))
        for error in problems:
            click.echo(f"not compared: {error}", err=True)
    return max([1] * bool(slower) + codes, default=0)


def _history(request: Request) -> int:
    from ann_bench.compare.history import history

    found = history(request.history)
    if request.as_json:
        steps = [change.to_json() for change in found.changes]
        click.echo(json.dumps({"series": found.series, "short": found.short, "steps": steps}, indent=2))
    else:
        for change in found.changes:
            click.echo(change)
        short = f"; {found.short} have too few results for any" * bool(found.short)
        click.echo(f"{len(found.changes)} steps in {found.series} series{short}")
    return 1 if found.ends_worse else 0
