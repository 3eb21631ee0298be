"""`ann-bench export`: the figures of all results, for machines and papers."""

from __future__ import annotations

from pathlib import Path

import click

from ann_bench.cli._read import read_figures
from ann_bench.errors import ResultError, UsageError
from ann_bench.results.export import FORMATS, export, render
from ann_bench.results.newest import newest


@click.command("export")
@click.option("--results", type=click.Path(path_type=Path), multiple=True, default=[Path("results")],
              show_default=True, help="Folder of results; may be given again.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="csv", show_default=True,
              help="What to write; markdown and latex are rounded, the others are not.")  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path), help="File to write; without it, standard output.")
@click.option("--all", "everything", is_flag=True, help="Also results of older versions of an entry or its packages.")
def command(results: tuple[Path, ...], form: str, output: Path | None, everything: bool) -> None:
    """Write the figures of results, one row each.

    Of results that differ in the version of the entry or of its packages only, the newest is written. A result
    that failed has its status, and no figures where nothing was measured. Files are only read; damaged ones are
    named and left out, and the exit code is 1. Several folders are put together only where their results were
    measured under the same conditions; otherwise the field that differs is named.

    \b
    Example: ann-bench export --format csv --output results.csv
             ann-bench export --format json | jq '.[] | select(.recall >= 0.9)'
    """
    if form == "parquet" and output is None:
        raise UsageError("parquet is no text; name a file: --output results.parquet")
    source = read_figures(results, alike=None)
    rows = source.figures
    shown = rows if everything else newest(rows)
    if older := len(rows) - len(shown):
        click.echo(f"{older} older result{'s' * (older > 1)} left out; --all writes them too", err=True)
    if output is None:
        click.echo(render(shown, form), nl=False)
    else:
        export(shown, form, output)
        click.echo(f"{len(shown)} result{'s' * (len(shown) != 1)} written to {output}", err=True)
    if source.damaged:
        raise ResultError(source.complaint())
