"""`ann-bench export`: the figures of all results, for machines and papers."""

from __future__ import annotations

from pathlib import Path

import click

from ann_bench.errors import ResultError, UsageError
from ann_bench.results.export import FORMATS, export, render
from ann_bench.results.figures import figures
from ann_bench.results.store import Damaged, Store


@click.command("export")
@click.option("--results", type=click.Path(path_type=Path), default=Path("results"), show_default=True,
              help="Folder of results.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="csv", show_default=True,
              help="What to write; markdown is rounded, the others are not.")  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path), help="File to write; without it, standard output.")
def command(results: Path, form: str, output: Path | None) -> None:
    """Write the figures of all results, one row each.

    A result that failed has its status, and no figures where nothing was measured. Files are only read;
    damaged ones are named and left out, and the exit code is 1.

    \b
    Example: ann-bench export --format csv --output results.csv
             ann-bench export --format json | jq '.[] | select(.recall >= 0.9)'
    """
    if form == "parquet" and output is None:
        raise UsageError("parquet is no text; name a file: --output results.parquet")
    rows, damaged = [], 0
    for item in Store(results).scan():
        if isinstance(item, Damaged):
            click.echo(f"left out: {item.reason}", err=True)
            damaged += 1
        else:
            rows.append(figures(item))
    if output is None:
        click.echo(render(rows, form), nl=False)
    else:
        export(rows, form, output)
        click.echo(f"{len(rows)} result{'s' * (len(rows) != 1)} written to {output}", err=True)
    if damaged:
        raise ResultError(f"{damaged} damaged file{'s' * (damaged > 1)} left out; measure again or remove them")
