"""`ann-bench site`: a static web page of results."""

from __future__ import annotations

from pathlib import Path

import click

from ann_bench.errors import ResultError


@click.command("site")
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--results", type=click.Path(path_type=Path), multiple=True, default=(Path("results"),),
              show_default=True, help="Folder of results; may be given again.")  # fmt: skip
def command(out: Path, results: tuple[Path, ...]) -> None:
    """Write a site of all results into the folder OUT: open OUT/index.html with a browser.

    It needs no server and no network. OUT is replaced as a whole, and only where it is new, empty or such a site.
    Where nothing has changed nothing is done.

    \b
    Example: ann-bench site site --results results
    """
    from ann_bench.results.store import Store
    from ann_bench.site.build import Content, make, stamp
    from ann_bench.site.folder import check_place, is_whole, mark_of, replace
    from ann_bench.truth.look import known

    check_place(out)
    paths = {path.stem: path for folder in reversed(results) for path in Store(folder).paths()}
    now = stamp(path for folder in results for path in Store(folder).paths())
    mark = mark_of(out)
    if mark and mark.get("stamp") == now and is_whole(out, mark) and not any(map(known, mark["unknown"])):
        for reason in mark["damaged"]:
            click.echo(f"left out: {reason}", err=True)
        click.echo(f"{out / 'index.html'} (nothing has changed)")
        _complain(len(mark["damaged"]))
        return
    from ann_bench.cli._read import read_figures

    source = read_figures(results)
    content = Content(source.figures, paths, len(source.damaged))
    made = make(content)
    damaged = [one.reason for one in source.damaged]
    replace(out, made.files, {"stamp": now, "damaged": damaged, "unknown": made.unknown})
    click.echo(out / "index.html")
    _complain(len(source.damaged))


def _complain(damaged: int) -> None:
    if damaged:
        raise ResultError(f"{damaged} damaged file{'s' * (damaged > 1)} left out; measure again or remove them")
