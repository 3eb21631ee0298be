"""`ann-bench leaderboard`: ranks and tiers, from results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ann_bench.cli._published import published_options, read_all
from ann_bench.cli._read import read_figures
from ann_bench.cli._table import plain_table
from ann_bench.errors import ResultError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from ann_bench.report.leaderboard import Board
    from ann_bench.results.published import Published


@click.command("leaderboard")
@click.option("--results", type=click.Path(path_type=Path), multiple=True, default=(Path("results"),),
              show_default=True, help="Folder of results; may be given again.")  # fmt: skip
@click.option("--track", help="Only this track.")
@click.option("--dataset", help="Only this data set.")
@click.option("--format", "form", type=click.Choice(["table", "markdown", "csv", "json"]), default="table",
              show_default=True, help="What to print.")  # fmt: skip
@published_options
def command(
    results: tuple[Path, ...], track: str | None, dataset: str | None, form: str, published: tuple[Path, ...],
    published_on: str,
) -> None:  # fmt: skip
    """Rank entries by the official score of each track, in tiers of those that cannot be told apart.

    Only results under the same limits, on the same machine and data stand in one table; others are named below it with
    what differs. Published results are shown beside, and never ranked with measured ones.

    \b
    Example: ann-bench leaderboard --track filtered --format markdown
             ann-bench leaderboard --published filter.csv --published-on "Azure D8lds v5"
    """
    from ann_bench.report.board_table import FORMATS, homeless
    from ann_bench.report.leaderboard import at_rates, boards
    from ann_bench.results.text import visible

    beside = read_all(published, published_on)
    source = read_figures(results, track=track, dataset=dataset)
    found = boards(source.figures)
    for line in at_rates(source.figures):
        click.echo(visible(line), err=True)
    if not found:
        raise source.empty("nothing to rank")
    if form == "table":
        _print(found, beside)
    else:
        click.echo(FORMATS[form](found, beside).encode(), nl=False)  # as bytes, so that no sign of a name is lost
    for line in homeless(found, beside):
        click.echo(visible(line), err=True)
    if source.damaged:
        raise ResultError(source.complaint())


def _print(found: Sequence[Board], beside: Sequence[Published]) -> None:
    from rich.console import Console

    from ann_bench.report.board_table import OVERALL, overall_cells

    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = WIDTH
    for board in found:
        _print_board(console, board, beside)
    if summed := overall_cells(found):
        console.print("Overall, by mean rank (a board without the entry counts as its last rank)", style="bold")
        console.print(plain_table(OVERALL, summed, left={0}))


#: Columns where the output is no terminal.
WIDTH = 120


def _print_board(console: Console, board: Board, beside: Sequence[Published]) -> None:
    from ann_bench.report.board_table import HEADS, cells, conditions, head, remarks, rows
    from ann_bench.results.text import visible

    shown = rows(board, beside)
    console.print(visible(head(board)), style="bold", markup=False)
    console.print(visible(conditions(board)), style="dim", markup=False)
    console.print(plain_table(HEADS, [cells(row) for row in shown if row["standing"] == "ranked"], left={2, 3, 8}))
    for line in remarks(shown):
        console.print(visible(line), style="dim", markup=False)
    console.print()
