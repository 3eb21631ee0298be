"""`ann-bench new`: write an entry that works as it stands."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

EPILOG = """\b
Examples:
  ann-bench new filtered my-index
  ann-bench new streaming my-index --out algorithms/streaming
"""


@click.command("new", epilog=EPILOG, short_help="Write an entry that works as it stands.")
@click.argument("track", metavar="TRACK")
@click.argument("name", metavar="NAME")
@click.option(
    "--out", type=click.Path(path_type=Path), default=".", show_default=True, help="Where the entry's folder goes."
)
def command(track: str, name: str, out: Path) -> int:
    """Write an entry that works as it stands: a wrapper, its config, a README and a test.

    It is exact search in numpy and scipy; comments say what to change. Nothing that is there is written over.
    """
    from ann_bench.entries.scaffold import Wanted, write_scaffold
    from ann_bench.tracks import find_track

    found = find_track(track)
    for path in write_scaffold(Wanted(name, found.name, **vars(found.features)), out):
        click.echo(path)
    folder = shlex.quote(str(out / name))
    click.echo(f"try it:     ann-bench check {folder}")
    click.echo(f"measure it: ann-bench run --track {found.name} --entry {folder}")
    return 0
