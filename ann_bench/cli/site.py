"""`ann-bench site`: a static web page of results."""

from __future__ import annotations

from pathlib import Path

import click

from ann_bench.cli._published import published_options, read_all
from ann_bench.errors import ResultError


@click.command("site")
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--results", type=click.Path(path_type=Path), multiple=True, default=(Path("results"),),
              show_default=True, help="Folder of results; may be given again.")  # fmt: skip
@published_options
def command(out: Path, results: tuple[Path, ...], published: tuple[Path, ...], published_on: str) -> None:
    """Write a site of all results into the folder OUT: open OUT/index.html with a browser.

    It needs no server and no network. OUT is replaced as a whole, and only where it is new, empty or such a site.
    Where nothing has changed nothing is done. Published results stand beside the measured ones and are never ranked
    with them.

    \b
    Example: ann-bench site site --results results
             ann-bench site site --published filter.csv --published-on "Azure D8lds v5"
    """
    from ann_bench.results.store import Store
    from ann_bench.site.build import Content, make, stamp
    from ann_bench.site.folder import check_place, is_whole, mark_of, replace
    from ann_bench.truth.look import known

    check_place(out)
    beside = read_all(published, published_on)
    now = stamp([path for folder in results for path in Store(folder).paths()], beside)
    mark = mark_of(out)
    if mark and mark.get("stamp") == now and is_whole(out, mark) and not any(map(known, mark["unknown"])):
        _say(mark["damaged"], mark["homeless"])
        click.echo(f"{out / 'index.html'} (nothing has changed)")
        _complain(len(mark["damaged"]))
        return
    from ann_bench.cli._read import read_figures

    source = read_figures(results)
    made = make(Content(source.figures, source.paths, len(source.damaged), beside))
    said = {"damaged": [one.reason for one in source.damaged], "homeless": made.homeless}
    replace(out, made.files, {"stamp": now, "unknown": made.unknown, **said})
    _say((), made.homeless)
    click.echo(out / "index.html")
    _complain(len(source.damaged))


def _say(damaged: list[str] | tuple[str, ...], homeless: list[str] | tuple[str, ...]) -> None:
    from ann_bench.results.text import visible

    for line in (*(f"left out: {reason}" for reason in damaged), *homeless):
        click.echo(visible(line), err=True)


def _complain(damaged: int) -> None:
    if damaged:
        raise ResultError(f"{damaged} damaged file{'s' * (damaged > 1)} left out; measure again or remove them")
