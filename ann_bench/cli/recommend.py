"""`ann-bench recommend`: which index for my recall, memory and build time?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ann_bench.cli._options import Bytes, Number, Seconds
from ann_bench.cli._read import read_figures
from ann_bench.errors import ResultError

if TYPE_CHECKING:
    from ann_bench.report.recommend import Advice
    from ann_bench.results.figures import Figures


@click.command("recommend")
@click.option("--recall", type=Number(0, 1), default=0.9, show_default=True, help="Least recall.")
@click.option("--qps", type=Number(0, min_open=True), help="Least queries per second.")
@click.option("--memory", "memory_bytes", type=Bytes(), help="Most memory of the entry, such as 4g.")
@click.option("--build-time", "build_seconds", type=Seconds(), help="Longest build, such as 1h.")
@click.option("--updates", is_flag=True, help="Only what was measured while points came and went.")
@click.option("--results", type=click.Path(path_type=Path), multiple=True, default=(Path("results"),),
              show_default=True, help="Folder of results; may be given again.")  # fmt: skip
@click.option("--track", help="Only this track.")
@click.option("--dataset", help="Only this data set: the one that is most like yours.")
@click.option("--json", "as_json", is_flag=True, help="Print the advice as JSON.")
def command(results: tuple[Path, ...], track: str | None, dataset: str | None, as_json: bool, **needs: Any) -> int:
    """Name the entries and operating points that meet your needs, best first, with what each costs.

    Everything is taken from results that were measured: for data of yours, measure on it first (docs/own-data.md).
    Exit code 0 where something fits, 1 where nothing does; then the nearest is named, with what it lacks.

    \b
    Example: ann-bench recommend --recall 0.95 --memory 4g --build-time 1h
             ann-bench recommend --recall 0.9 --updates --track streaming
    """
    from ann_bench.report.recommend import Needs, recommend

    source = read_figures(results, track=track, dataset=dataset)
    found = recommend(source.figures, Needs(**needs))
    if not found:
        stream = " (none of them is of a stream)" if needs["updates"] and source.figures else ""
        raise source.empty(f"nothing to recommend from{stream}")
    if as_json:
        click.echo(json.dumps([_plain(one) for one in found], indent=1, ensure_ascii=False, allow_nan=False))
    else:
        _print(found)
    if source.damaged:
        raise ResultError(source.complaint())
    return 0 if any(one.fitting for one in found) else 1


def _plain(advice: Advice) -> dict[str, object]:
    from ann_bench.report.board_table import title

    def row(one: Figures) -> dict[str, object]:
        return {"algorithm": one.algorithm, **one.row()}

    nearest = None if advice.nearest is None else {**row(advice.nearest), "lacks": list(advice.missed)}
    first = advice.picture.points[0]
    machine = first.identity.fields.get("machine")
    where = {"title": title(first), "track": first.track, "dataset": first.dataset, "machine": machine}
    return {**where, "fitting": [row(one) for one in advice.fitting], "nearest": nearest}


def _print(found: list[Advice]) -> None:
    from rich.console import Console

    from ann_bench.cli._table import plain_table
    from ann_bench.report import format as show
    from ann_bench.report.board_table import title, where
    from ann_bench.report.recommend import built
    from ann_bench.results.text import visible

    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = 120
    for advice in found:
        first = advice.picture.points[0]
        console.print(visible(title(first)), style="bold", markup=False)
        console.print(visible(where(first)), style="dim", markup=False)
        shown = list(advice.fitting) if advice.nearest is None else [advice.nearest]
        if advice.nearest is not None:
            lacks = f"nothing fits; the nearest is {advice.nearest.algorithm}: {'; '.join(advice.missed)}"
            console.print(visible(lacks), markup=False)
        lines = [
            [
                f"{one.algorithm} (tuned)" if one.tuned else one.algorithm,
                show.recall(one.recall),
                show.short_rate(one.qps, one.qps_low, one.qps_high),
                show.seconds(built(one)),
                show.size(one.peak_memory_bytes),
                f"{show.config(one.build)}; {show.config(one.query)}",
            ]
            for one in shown
        ]
        build = "changes s" if first.changes else "build s"
        heads = ("algorithm", first.measured, "QPS", build, "memory", "build; query")
        console.print(plain_table(heads, lines, left={0, 5}))
        console.print()
