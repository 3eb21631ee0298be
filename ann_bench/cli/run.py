"""`ann-bench run`: measure the entries of a track on a data set."""

from __future__ import annotations

import dataclasses
import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from ann_bench.cli._challenge import challenge, challenge_options
from ann_bench.cli._mode import mode_options, say_shared, wish
from ann_bench.cli._options import Bytes, CpuSet, Seconds, Share, messages, quiet_option
from ann_bench.cli._progress import bars
from ann_bench.errors import StorageError, UsageError

if TYPE_CHECKING:
    from ann_bench.judge.plan import Options, Plan
    from ann_bench.judge.run import Tally
    from ann_bench.results.model import Bundle
    from ann_bench.tracks import Score

log = logging.getLogger(__name__)

EPILOG = """\b
Examples:
  ann-bench run --track filtered
  ann-bench run --track filtered --dataset yfcc-like-1M --algorithm faiss-ivf
  ann-bench run --track filtered --entry ../my-index --list
  ann-bench run --track dense --mode load --rate max --p99 10ms --recall 0.9
  ann-bench run --track dense --entry annbenchmarks:../ann-benchmarks/ann_benchmarks/algorithms/hnswlib
"""


#: Columns of the table where the output is no terminal, so that no row is broken.
WIDTH = 110


@dataclasses.dataclass(frozen=True)
class Request:
    """What was typed: names and paths, nothing of it looked up yet."""

    track: str
    dataset: str | None
    queries: str
    algorithm: tuple[str, ...]
    entry: tuple[str, ...]
    sandbox: str
    results: Path
    plots: Path
    force: bool
    as_json: bool


@click.command("run", epilog=EPILOG, short_help="Measure the entries of a track on a data set.")
@click.option("--track", required=True, metavar="NAME", help="The track, such as filtered.")
@click.option(
    "--dataset", metavar="NAME|FILE", help="A data set, or a manifest of your own (.yaml). Default: the track's."
)
@click.option("--algorithm", multiple=True, metavar="NAME", help="Only this entry; may be given again. Default: all.")
@click.option(
    "--entry",
    multiple=True,
    metavar="PLACE",
    help="The folder of an entry anywhere (docs/adapters.md: of a wrapper); may be given again.",
)
@click.option("--queries", default="public", show_default=True, metavar="NAME", help="The query set.")
@click.option("--k", type=click.IntRange(1, 10_000), help="Neighbours to a query. Default: the track's.")
@click.option("--runs", type=click.IntRange(1, 1000), help="Repeats of each batch of queries. Default: the track's.")
@click.option("--builds", type=click.IntRange(1, 1000), default=1, show_default=True, help="Builds of each index.")
@click.option(
    "--until",
    type=Share(),
    metavar="SHARE",
    help="Go on until intervals are this narrow, such as 2%; --runs (--builds, where there are several) is the most.",
)
@click.option(
    "--for",
    "for_seconds",
    type=Seconds(),
    metavar="TIME",
    help="With --until: begin nothing more once the turns of an entry took so long, such as 30m.",
)
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
    help="Where entries run: docker (images that are missing are built), process, or auto: docker where it is ready.",
)
@click.option("--cpus", type=click.IntRange(1), help="Whole CPUs that an entry may use. Default: the track's.")
@click.option("--cpuset", type=CpuSet(), default=(), help="Which CPUs, such as 0-7. Default: the first that are free.")
@click.option("--memory", type=Bytes(), help="Memory that an entry may use, such as 16g. Default: the track's.")
@click.option("--build-limit", type=Seconds(), help="Longest time for one build, such as 12h. Default: the track's.")
@click.option(
    "--timeout",
    type=Seconds(),
    help="Longest time for one batch (a stream: for all of it), and for a build without --build-limit.",
)
@click.option(
    "--results", type=click.Path(path_type=Path), default="results", show_default=True, help="Where results are kept."
)
@click.option(
    "--plots", type=click.Path(path_type=Path), default="plots", show_default=True, help="Where plots are drawn."
)
@mode_options
@click.option("--force", is_flag=True, help="Measure again what is there already.")
@challenge_options
@click.option("--list", "only_list", is_flag=True, help="Show what would run, and run nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@quiet_option
def command(only_list: bool, quiet: bool, **options: Any) -> int:
    """Measure the entries of a track on a data set: a table, a plot, and result files.

    What is in the results folder already is not measured again. Exit code 0 when every result is ok, 1 when any
    entry failed (each failure is a result too, with its name), 2 for wrong usage.
    """
    from ann_bench.cli._live import watching
    from ann_bench.judge.plan import Options
    from ann_bench.judge.repeat import Repeat
    from ann_bench.judge.run import execute
    from ann_bench.results.store import Store

    names = {field.name for field in dataclasses.fields(Options)}
    renamed = {
        "challenge": challenge(options),
        "repeat": Repeat(
            options.pop("warmups"), options.pop("until"), options.pop("canary"), options.pop("for_seconds")
        ),
        "memory_bytes": options.pop("memory"),
        "wish": wish(options),
        "build_seconds": options.pop("build_limit"),
        "timeout_seconds": options.pop("timeout"),
        **options,
    }
    request = Request(**{name: value for name, value in renamed.items() if name not in names})
    choice = Options(**{name: value for name, value in renamed.items() if name in names})
    console = messages(quiet=quiet)
    store = Store(request.results)
    if not only_list:
        store.check_writable()
    plan = _plan(request, choice, console, build=not only_list)
    if only_list:
        return _list(plan, store, request)
    with watching(console, plan, store) as (progress, watch):
        tally = execute(plan, store, force=request.force, progress=progress, watch=watch)
    return _show(plan, tally, store, request, console)


def _plan(request: Request, choice: Options, console: Console, *, build: bool) -> Plan:
    from ann_bench.datasets.home import home
    from ann_bench.datasets.prepare import prepare
    from ann_bench.datasets.registry import find_manifest
    from ann_bench.entries.discovery import Data, choose
    from ann_bench.judge.plan import plan, setting
    from ann_bench.sandbox import choose_sandbox
    from ann_bench.tracks import find_track

    track = find_track(request.track)
    _refuse_without_a_home(request, home())
    name = request.dataset or track.default_dataset
    manifest = find_manifest(name, track.name)
    data = Data(manifest.name, manifest.metric)
    entries = choose(track.name, home(), request.algorithm, request.entry, data)
    place = choose_sandbox(request.sandbox, entries)
    if place.line:
        log.info("%s", place.line)
    with bars(console) as progress:
        if build:
            place.sandbox.prepare(entries, request.results / "logs", progress)
        dataset = prepare(manifest, request.queries, progress)
        source = str(manifest.origin) if name.endswith((".yaml", ".yml")) else name
        common = setting(track, dataset, place.sandbox, choice, source)
        _say_limits(common.limits, track.limits, choice)
        say_shared(common)
        named = bool(request.algorithm or request.entry)
        return plan(common, entries, wanted=named or place.sandbox.makes)


def _refuse_without_a_home(request: Request, folder: Path) -> None:
    """What is not named on the command line comes from a checkout of the project."""
    if not (folder / "algorithms").is_dir() and not (request.entry and request.dataset):
        raise UsageError(
            f"{folder} is no checkout of ann-bench, which holds entries and data sets: go to one, set ANN_BENCH_HOME "
            "to it, or name both with --entry PATH and --dataset FILE"
        )


def _say_limits(limits: Any, wanted: Any, choice: Options) -> None:
    """One line where the machine has less than the track gives."""
    cpus, memory = choice.cpus or wanted.cpus, choice.memory_bytes or wanted.memory_bytes
    cut = []
    if limits.cpus < cpus:
        cut.append(f"{limits.cpus} of {cpus} CPUs")
    if limits.memory_bytes < memory:
        cut.append(f"{limits.memory_bytes / 2**30:.3g} of {memory / 2**30:.3g} GiB")
    if cut:
        log.info("limits cut to this machine: %s", ", ".join(cut))


def _say_left_out(plan: Plan) -> None:
    """One line for the entries that nobody named and that are not installed."""
    from ann_bench.sandbox.remedy import how_to_make

    if plan.left_out:
        names = ", ".join(entry.name for entry in plan.left_out)
        remedy = how_to_make(plan.left_out, plan.setting.sandbox.name)
        log.info("not installed, and so left out: %s; %s brings them", names, remedy)


def _list(plan: Plan, store: Any, request: Request) -> int:
    from ann_bench.judge.run import wanted
    from ann_bench.report.format import query_text

    rows: list[dict[str, Any]] = []
    for job in plan.jobs:
        missing = {config.identity.key for config in wanted(job, store, force=request.force)}
        for config in job.configs:
            state = "to run" if config.identity.key in missing else "done"
            if job.refusal is not None and state == "to run":
                state = job.refusal.status.value
            rows.append({"algorithm": job.entry.name, "query": config.query, "state": state})
    if request.as_json:
        click.echo(json.dumps(rows, indent=2))
        return 0
    for row in rows:
        click.echo(f"{row['state']:<14} {row['algorithm']:<16} {query_text(row['query'])}")
    for entry in plan.left_out:
        click.echo(f"{'left out':<14} {entry.name:<16} not installed")
    count = sum(row["state"] == "to run" for row in rows)
    click.echo(f"{count} of {len(rows)} to run")
    return 0


def _show(plan: Plan, tally: Tally, store: Any, request: Request, console: Console) -> int:
    """The table, the plot, and one line that says what was done."""
    from ann_bench.report.challenge import beside
    from ann_bench.report.plot import plot
    from ann_bench.report.table import results_table
    from ann_bench.results.figures import figures
    from ann_bench.results.model import Bundle

    rows = [figures(bundle) for bundle in tally.bundles]
    screen = Console()
    screen = screen if screen.is_terminal else Console(width=WIDTH)
    if not request.as_json:
        screen.print(results_table(rows, plan.setting.k, _score(plan)))
    failed = sum(not row.ok for row in rows)
    if failed:
        console.print(f"{failed} of {len(rows)} results are not ok: exit code 1", style="yellow")
    mine = [figures(b) for b in store.scan() if isinstance(b, Bundle) and _place_of(b) == _place(plan)]
    if plan.setting.challenge and not request.as_json:
        screen.print(beside(rows, mine))
    drawn: list[Path] = []
    try:
        drawn = plot(mine, request.plots)
    except StorageError as error:
        console.print(f"no plot: {error}", style="yellow")
        failed += 1
    _say_left_out(plan)
    log.info("results in %s/; %s", request.results, f"plots: {', '.join(map(str, drawn))}" if drawn else "no plot")
    if request.as_json:
        summary = {
            "track": plan.setting.track.name,
            "dataset": plan.setting.dataset.name,
            "measured": tally.made,
            "found": tally.found,
            "ok": tally.all_ok,
            "left_out": [entry.name for entry in plan.left_out],
            "plots": [str(path) for path in drawn],
            "results": [{**row.row(), "detail": row.detail, "notes": list(row.notes)} for row in rows],
        }
        click.echo(json.dumps(summary, indent=2))
    return 1 if failed else 0


def _score(plan: Plan) -> Score | None:
    """What the results of a run are ranked by: of a search for a rate that rate, of a given rate nothing."""
    from ann_bench.tracks import Score

    score, mode = plan.setting.track.score, plan.setting.mode
    if mode is None:
        return score
    least = score.least_recall if plan.setting.least_recall is None else plan.setting.least_recall
    if mode.kind == "load":
        return Score("rate", least) if mode.searches else None
    return Score("qps", least)


def _place(plan: Plan) -> tuple[str, str]:
    return plan.setting.track.name, plan.setting.dataset.name


def _place_of(bundle: Bundle) -> tuple[str, str]:
    return bundle.identity["track"], bundle.identity["dataset"]
