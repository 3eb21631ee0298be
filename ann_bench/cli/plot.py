"""`ann-bench plot`: recall against queries per second, from results."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ann_bench.cli._read import read_figures
from ann_bench.errors import ResultError, UsageError


@click.command("plot")
@click.option("--results", type=click.Path(path_type=Path), multiple=True, default=[Path("results")],
              show_default=True, help="Folder of results; may be given again.")  # fmt: skip
@click.option("--track", help="Only results of this track.")
@click.option("--dataset", help="Only results on this data set.")
@click.option("--kind", default="front", show_default=True, metavar="KIND",
              help="front (recall against speed), build, memory, or scaling (speed against those).")  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path), default=Path("plots"), show_default=True,
              help="Folder for the pictures.")  # fmt: skip
@click.option("--format", "formats", default="png,svg", show_default=True, help="Any of png, svg, pdf, with commas.")
@click.option("--json", "as_json", is_flag=True, help="Print the files written, and the damaged ones, as JSON.")
def command(
    results: tuple[Path, ...], track: str | None, dataset: str | None, kind: str, output: Path, formats: str,
    as_json: bool,
) -> None:  # fmt: skip
    """Draw recall against queries per second, one picture for each track and data set.

    A stream is drawn step by step instead: recall, time of searches and changes, live points and memory.
    Only results that are ok and were measured under the same conditions share a picture. Result files are only
    read; damaged ones are named and left out, and the exit code is 1. Several folders are put together only where
    their results were measured under the same conditions; otherwise the field that differs is named.

    \b
    Example: ann-bench plot --track filtered --dataset debian-20k --format pdf
             ann-bench plot --kind build
    """
    from ann_bench.report.plot import plot

    source = read_figures(results, track=track, dataset=dataset, alike=None)
    written = plot(source.figures, output, tuple(part.strip() for part in formats.split(",") if part.strip()), kind)
    if as_json:
        click.echo(json.dumps({"written": list(map(str, written)), "damaged": [str(d.path) for d in source.damaged]}))
    else:
        for path in written:
            click.echo(path)
    if source.damaged:
        raise ResultError(source.complaint())
    if not written:
        raise UsageError(f"nothing to draw: {source.nothing()}")
