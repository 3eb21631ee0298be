"""`ann-bench convert`: a wrapper folder of another benchmark as native entries."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ann_bench.cli._options import messages
from ann_bench.errors import UsageError

EPILOG = """\b
Examples:
  ann-bench convert bigann:../big-ann-benchmarks/neurips23/filter/faiss
  ann-bench convert bigann:../big-ann-benchmarks/neurips23/filter/faiss@yfcc-10M --out algorithms/filtered
  ann-bench convert 'annbenchmarks:../ann-benchmarks/ann_benchmarks/algorithms/hnswlib#hnswlib-M-1?'
"""


@click.command("convert", epilog=EPILOG, short_help="Make native entries of another benchmark's wrapper.")
@click.argument("place")
@click.option(
    "--out", type=click.Path(path_type=Path), default=".", show_default=True, help="Where the entries' folders go."
)
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(place: str, out: Path, as_json: bool) -> None:
    """Make native entries of a wrapper of big-ann-benchmarks (bigann:PATH) or ann-benchmarks (annbenchmarks:PATH).

    Each build that its config stands for becomes a folder with a config.yaml, to be completed there. PATH@SECTION takes
    the part for one data set (of ann-benchmarks: one metric) for all data sets, PATH#NAME some of the entries.
    `run --entry` takes the same words and needs no conversion.
    """
    from ann_bench.entries.dialects.convert import DIALECTS, entries, foreign
    from ann_bench.entries.dialects.written import write

    messages()
    wanted = foreign(place)
    if wanted is None:
        raise UsageError(f"{place}: no wrapper; write {' or '.join(f'{name}:PATH' for name in DIALECTS)}")
    found = {entry.name: entry for entry in entries(wanted)}
    folders = write(list(found.values()), out)
    if as_json:
        rows = [
            {
                "name": name,
                "folder": str(folder),
                "tracks": one.config.tracks,
                "requires": one.config.requires,
            }
            for (name, one), folder in zip(found.items(), folders, strict=True)
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    for folder in folders:
        click.echo(str(folder))
    tracks = next(iter(found.values())).config.tracks
    click.echo(
        f"{len(folders)} written for {', '.join(tracks)}; look over requires and open_source in config.yaml, then: "
        f"ann-bench run --track {tracks[0]} --entry {folders[0]}"
    )
