"""`ann-bench compare`: which of two is faster at the same recall, and what has changed over time."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from ann_bench.cli._challenge import challenge, challenge_options
from ann_bench.cli._mode import put_options, say_shared, wish
from ann_bench.cli._options import Bytes, CpuSet, Number, Seconds, messages
from ann_bench.cli._progress import bars
from ann_bench.errors import AnnBenchError, UsageError

if TYPE_CHECKING:
    from ann_bench.compare.match import Terms
    from ann_bench.compare.verdict import Compared, Side
    from ann_bench.compare.wanted import Wanted
    from ann_bench.judge.plan import Options

EPILOG = """\b
Examples:
  ann-bench compare hnswlib faiss-hnsw --track dense --recall 0.95
  ann-bench compare my-index@main my-index --track filtered --at-most 5%
  ann-bench compare mine theirs --track dense --mode latency --figure p50
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
class Shown:
    """How the outcome is said, and by how much B may be worse."""

    form: str
    as_json: bool
    at_most: float


@click.command("compare", epilog=EPILOG, short_help="Which of two is faster at the same recall; history.")
@click.argument("places", metavar="[A B]", nargs=-1)
@click.option("--recall", type=Number(0, 1, min_open=True), help="The recall. Default: the track's bound.")
@click.option(
    "--figure",
    metavar="NAME",
    help="qps, p50 to p999 (of --mode), and of streams recall, total_seconds. Default: what fits the mode or track.",
)
@click.option(
    "--at-most",
    type=Share(),
    default="0%",
    show_default=True,
    metavar="SHARE",
    help="How much worse B may be before the exit code is 1, such as 5%.",
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
    "--warmups",
    type=click.IntRange(0, 100),
    default=1,
    show_default=True,
    envvar="ANN_BENCH_WARMUPS",
    help="Batches before the runs of each query config, in no figure.",
)
@click.option(
    "--canary/--no-canary",
    default=True,
    show_default=True,
    envvar="ANN_BENCH_CANARY",
    help="Measure the machine itself before and after (docs/repeats.md).",
)
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
@put_options
@challenge_options
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default="results-compare",
    show_default=True,
    help="Where the measurements of two entries are kept, in the folders a and b.",
)
def command(places: tuple[str, ...], history: tuple[Path, ...], **options: Any) -> int:
    """Which of two is faster at the same recall: faster, slower, or cannot tell, with ratio and interval.

    A and B are entries (names, folders, `bigann:` and `annbenchmarks:` places, `FOLDER@REVISION` of git), which are
    measured in turn, batch by batch; or two folders of results, which are read. Streams are compared by recall, then by
    speed. With --history: the steps in results of many days, with their dates.

    Exit code 0: B is not shown to be worse than A (by more than --at-most). 1: it is, or it does not reach the recall,
    or it failed; with --history, the last step of a series made it worse. 2: wrong usage, results of unlike conditions,
    or A does not reach the recall.
    """
    from ann_bench.compare.match import Terms
    from ann_bench.compare.wanted import Wanted

    shown = Shown(*(options.pop(name) for name in ("form", "as_json", "at_most")))
    wanted = Wanted(options.pop("recall"), options.pop("figure"))
    algorithms, console = options.pop("algorithm"), messages()
    if history:
        if places:
            raise UsageError("--history goes without A and B")
        return _history(history, shown)
    if len(places) != 2:
        raise UsageError("name two to compare, A and B: entries or folders of results; or --history FOLDER")
    choice = _choice(options)
    terms = Terms((places[0], places[1]), **options)
    return _say(*_compared(_sides(terms, choice, algorithms, console), wanted, shown), shown)


def _choice(options: dict[str, Any]) -> Options:
    """What is said of how to measure, taken out of the options."""
    from ann_bench.judge.plan import Options
    from ann_bench.judge.repeat import Repeat

    return Options(
        repeat=Repeat(options.pop("warmups"), canary=options.pop("canary")),
        memory_bytes=options.pop("memory"),
        build_seconds=options.pop("build_limit"),
        timeout_seconds=options.pop("timeout"),
        wish=wish(options, ranked=False),
        challenge=challenge(options),
        **{name: options.pop(name) for name in ("k", "runs", "builds", "cpus", "cpuset")},
    )


def _sides(terms: Terms, choice: Options, algorithms: tuple[str, ...], console: Console) -> list[tuple[Side, Side]]:
    """The pairs to compare: read from two folders, or measured now."""
    from ann_bench.compare.folders import pairs
    from ann_bench.compare.match import match
    from ann_bench.compare.places import is_results

    stored = [is_results(word) for word in terms.places]
    if all(stored):
        return pairs(Path(terms.places[0]), Path(terms.places[1]), algorithms)
    if any(stored):
        folder = terms.places[stored.index(True)]
        raise UsageError(f"{folder} is a folder of results and the other is not; name two of one kind")
    drawn = partial(bars, console)
    with match(terms, choice, drawn) as ready:
        say_shared(ready.setting)
        return [ready.measure(drawn)]


def _compared(
    sides: list[tuple[Side, Side]], wanted: Wanted, shown: Shown
) -> tuple[list[Compared], list[AnnBenchError]]:
    """Every pair compared; what kept one from it. What is wrong with all alike is raised."""
    from ann_bench.compare.verdict import compare

    found: list[Compared] = []
    problems: dict[str, AnnBenchError] = {}
    for a, b in sides:
        try:
            questions = wanted.questions(a, b)
        except AnnBenchError as error:
            problems.setdefault(str(error), error)
            continue
        for recall, figure in questions:
            try:
                found.append(compare(a, b, recall, figure))
            except AnnBenchError as error:
                problems.setdefault(str(error), error)
    if len(problems) == 1 and not found and not (shown.as_json or shown.form == "markdown"):
        raise next(iter(problems.values()))
    return found, list(problems.values())


def _say(compared: list[Compared], problems: list[AnnBenchError], shown: Shown) -> int:
    from ann_bench.compare.summary import markdown, text

    worse = [one for one in compared if one.fails(shown.at_most)]
    codes = [error.exit_code for error in problems]
    if shown.as_json:
        summary = {
            "comparisons": [one.to_json() for one in compared],
            "problems": [str(error) for error in problems],
            "at_most": shown.at_most,
            "slower": bool(worse),
        }
        click.echo(json.dumps(summary, indent=2))
    elif shown.form == "markdown":
        click.echo(markdown(compared, [str(error) for error in problems]), nl=False)
    else:
        click.echo("\n\n".join(text(one) for one in compared))
        for error in problems:
            click.echo(f"not compared: {error}", err=True)
    return max([1] * bool(worse) + codes, default=0)


def _history(folders: tuple[Path, ...], shown: Shown) -> int:
    from ann_bench.compare.history import history

    found = history(folders)
    if shown.as_json:
        steps = [change.to_json() for change in found.changes]
        click.echo(json.dumps({"series": found.series, "short": found.short, "steps": steps}, indent=2))
    else:
        for change in found.changes:
            click.echo(change)
        short = f"; {found.short} have too few results for any" * bool(found.short)
        click.echo(f"{len(found.changes)} steps in {found.series} series{short}")
    return 1 if found.ends_worse else 0
