"""`ann-bench plot`: pictures of results."""

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
@click.option("--mode", type=click.Choice(["batch", "latency", "concurrent", "load"]),
              help="Only results whose queries were put so.")  # fmt: skip
@click.option("--kind", default="front", show_default=True, metavar="KIND",
              help="front (recall against speed), build, memory, size or scaling (speed against those), selectivity or "
                   "difficulty (recall by those of the queries), latency, load (latency against the rate), or all.",
              )  # fmt: skip
@click.option("--at-qps", type=click.FloatRange(min=0), metavar="QPS",
              help="Of build, memory, size: draw the best recall at so many queries a second, not speed.")  # fmt: skip
@click.option("--style", default="light", show_default=True, metavar="STYLE", help="light or dark.")
@click.option("--width", default="page", show_default=True, metavar="WIDTH",
              help="What it is to stand in: page (7.2 inches), or column (3.33) of a paper.")  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path), default=Path("plots"), show_default=True,
              help="Folder for the pictures.")  # fmt: skip
@click.option("--format", "formats", default="png,svg", show_default=True, help="Any of png, svg, pdf, with commas.")
@click.option("--json", "as_json", is_flag=True, help="Print the files, and the damaged results, as JSON.")
def command(
    results: tuple[Path, ...], track: str | None, dataset: str | None, mode: str | None, kind: str,
    at_qps: float | None, style: str, width: str, output: Path, formats: str, as_json: bool,
) -> None:  # fmt: skip
    """Draw recall against queries per second, one picture for each track and data set; or what --kind says.

    A stream is drawn step by step instead: recall, time of searches and changes, live points and memory.
    Only results that are ok and were measured under the same conditions share a picture. Result files are only
    read; damaged ones are named and left out, and the exit code is 1. Several folders are put together only where
    their results were measured under the same conditions; otherwise the field that differs is named.
    What is drawn already is left as it is.

    \b
    Example: ann-bench plot --track filtered --dataset debian-20k --format pdf
             ann-bench plot --kind build --style dark
             ann-bench plot --kind all --width column
    """
    from ann_bench.datasets.cache import cache_root
    from ann_bench.report.paper import Paper
    from ann_bench.report.plot import plot
    from ann_bench.report.sheets import NEEDS, Wish
    from ann_bench.results.store import Finder

    wish = Wish(kind, Paper(style, width), at_qps, Finder(results))
    source = read_figures(results, track=track, dataset=dataset, alike=None)
    if mode is not None:
        source.wanted["mode"] = mode
        source.figures = [one for one in source.figures if (one.mode.split(" ")[0].strip(",") == mode)]
    forms = tuple(part.strip() for part in formats.split(",") if part.strip())
    written = plot(source.figures, output, forms, wish, cache_root() / ".figures")
    if as_json:
        click.echo(json.dumps({"written": list(map(str, written)), "damaged": [str(d.path) for d in source.damaged]}))
    else:
        for path in written:
            click.echo(path)
    if not written:
        lacking = kind in NEEDS and any(one.ok for one in source.figures)
        raise UsageError(f"nothing to draw: {NEEDS[kind]}") if lacking else source.empty("nothing to draw")
    if source.damaged:
        raise ResultError(source.complaint())
