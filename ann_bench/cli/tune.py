"""`ann-bench tune`: the same time for every entry, to find its best arguments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from ann_bench.cli._options import Bytes, Number, Seconds, messages
from ann_bench.cli._progress import bars
from ann_bench.errors import AnnBenchError, StorageError, UsageError

if TYPE_CHECKING:
    from ann_bench.entries.entry import Entry
    from ann_bench.tune.model import Measured, Tuning, Wish
    from ann_bench.tune.search import Place

EPILOG = """\b
Examples:
  ann-bench tune faiss-ivf --track dense --budget 10m
  ann-bench tune faiss-ivf faiss-hnsw hnswlib --track dense --budget 30m --out tuned
  ann-bench tune ../my-index --budget 30m --recall 0.9
"""

#: Columns of the table where the output is no terminal.
WIDTH = 130


@click.command("tune", epilog=EPILOG, short_help="Find an entry's best arguments, in a given time.")
@click.argument("entry", metavar="ENTRY...", nargs=-1, required=True)
@click.option("--budget", type=Seconds(), required=True, help="The time that each entry has, builds included: 30m.")
@click.option("--track", metavar="NAME", help="The track. Default: the first that the entry is for.")
@click.option("--dataset", metavar="NAME|FILE", help="A data set, or a manifest (.yaml). Default: the track's.")
@click.option(
    "--recall", "recalls", multiple=True, type=Number(0, 1), metavar="R",
    help="Most queries per second at this recall; may be given again. Default: 0.8 0.9 0.95 0.99.",
)  # fmt: skip
@click.option("--runs", type=click.IntRange(1, 100), default=3, show_default=True, help="Repeats of each batch.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of the search, and of the halves.")
@click.option(
    "--sandbox", default="auto", show_default=True, metavar="KIND", envvar="ANN_BENCH_SANDBOX",
    help="Where entries run: docker, process, or auto: docker where it is ready.",
)  # fmt: skip
@click.option("--cpus", type=click.IntRange(1), help="Whole CPUs that an entry may use. Default: the track's.")
@click.option("--memory", type=Bytes(), help="Memory that an entry may use, such as 16g. Default: the track's.")
@click.option(
    "--out", type=click.Path(path_type=Path), default="tuned", show_default=True, help="Where tuned copies go."
)
@click.option(
    "--results", type=click.Path(path_type=Path), default="results", show_default=True,
    help="The results folder, where nobody else measures meanwhile; nothing is stored there.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the outcome, with all that was tried, as JSON.")
def command(entry: tuple[str, ...], out: Path, as_json: bool, **options: Any) -> int:
    """Search the space that an entry's config.yaml declares, and write a copy of the entry with what was found.

    The search sees half of the data set's sample queries, or of its query set where there are none; what it chose is
    then measured on the other half, beside the entry's own arguments. Several entries get the same time, each. What is
    interrupted goes on with what is left of its time when the same command is given again. Exit code 0, 1 where an
    entry failed, 2 for wrong usage. docs/tune.md has the rest.
    """
    from ann_bench.judge.run import measuring
    from ann_bench.tune.model import RECALLS, Wish
    from ann_bench.tune.write import folder_of, is_tuned, write_entry

    console = messages()
    wish = Wish(
        options["budget"],
        tuple(options["recalls"]) or RECALLS,
        options["seed"],
        options["runs"],
        options["cpus"],
        options["memory"],
    )
    places = _places(entry, options, console)
    done = [place for place in places if is_tuned(place.entry, wish, out)]
    if len(done) < len(places):
        for place in done:
            places.remove(place)
            console.print(f"{place.entry.name}: was tuned with this budget and seed before; left as it is", style="dim")
    for place in places:
        folder_of(place.entry, out)
    _make(options["results"])
    found: list[Tuning] = []
    failed: list[AnnBenchError] = []
    for place in places:
        try:
            with measuring(options["results"]):
                tuning = _tune(place, options["dataset"], wish, console)
            found.append(tuning)
            folder = write_entry(place.entry, tuning, wish, out)
        except AnnBenchError as error:
            if len(entry) == 1:
                raise
            failed.append(error)
            console.print(f"error: {error}", style="yellow", markup=False)
            continue
        if not as_json:
            _show(tuning, folder)
    if as_json:
        click.echo(json.dumps([tuning.to_json() for tuning in found], indent=2))
    return 1 if failed else 0


def _make(folder: Path) -> None:
    """The results folder: its lock keeps others from measuring at the same time."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{folder}: cannot be made ({error.strerror or error})") from error


def _places(words: Sequence[str], options: dict[str, Any], console: Console) -> list[Place]:
    from ann_bench.datasets.home import home
    from ann_bench.entries.discovery import resolve
    from ann_bench.sandbox import choose_sandbox
    from ann_bench.tracks import find_track
    from ann_bench.tune.search import Place

    track = find_track(options["track"]).name if options["track"] else None
    entries: list[Entry] = [resolve(word, home(), track)[0] for word in words]
    for entry in entries:
        if entry.config.space is None:
            raise UsageError(f"{entry.config_file}: declares no `space:` to search; docs/tune.md says how")
    place = choose_sandbox(options["sandbox"], entries)
    if place.line:
        console.print(place.line, style="dim")
    with bars(console) as progress:
        place.sandbox.prepare(entries, Path("results") / "logs", progress)
    return [Place(entry, find_track(entry.track), place.sandbox) for entry in entries]


def _tune(place: Place, dataset: str | None, wish: Wish, console: Console) -> Tuning:
    from ann_bench.datasets.prepare import prepare
    from ann_bench.datasets.registry import find_manifest
    from ann_bench.tune.search import tune

    manifest = find_manifest(dataset or place.track.default_dataset, place.track.name)
    with bars(console) as progress:
        return tune(place, prepare(manifest, "public", progress), wish, progress)


def _show(tuning: Tuning, folder: Path) -> None:
    """The table of one entry, what it took, and what to do with the copy."""
    from ann_bench.report.format import query_text

    screen = Console()
    screen = screen if screen.is_terminal else Console(width=WIDTH)
    table = Table(title=f"{tuning.entry} on {tuning.dataset} ({tuning.track})", title_justify="left", box=None)
    for head in ("recall >=", "query", "recall seen", "unseen", "QPS seen", "unseen", "own QPS", "gain"):
        table.add_column(head, justify="left" if head == "query" else "right", overflow="fold")
    for row in tuning.rows:
        query = query_text(dict(row.seen.query)) if row.seen else "none reaches it"
        values = (_recall(row.seen), _recall(row.unseen), _qps(row.seen), _qps(row.unseen), _qps(row.own))
        table.add_row(f"{row.recall:.2f}", query, *values, f"{row.gain:.2f}" if row.gain else "-")
    screen.print(table)
    spent = tuning.spent
    click.echo(f"build: {query_text(dict(tuning.choice.build)) or 'no arguments'}")
    click.echo(
        f"searched {spent.seconds:.0f} s: {spent.builds} builds, {len(tuning.trials)} configurations, "
        f"{spent.failed} failed; seen and unseen: the two halves, {tuning.queries}"
    )
    click.echo(f"measure it: ann-bench run --track {tuning.track} --entry {folder}")


def _recall(one: Measured | None) -> str:
    return "-" if one is None else f"{one.recall:.4f}"


def _qps(one: Measured | None) -> str:
    return "-" if one is None else f"{one.qps:,.0f}"
