"""`ann-bench outdated`: newer versions of what entries pin."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ann_bench.cli._entries import entries_asked
from ann_bench.cli._options import messages
from ann_bench.cli._progress import bars

if TYPE_CHECKING:
    from ann_bench.environments.newest import Pinned

EPILOG = """\b
Examples:
  ann-bench outdated
  ann-bench outdated --track filtered --json
"""

HEAD = ("package", "pinned", "newest", "requires", "entries")


@click.command("outdated", epilog=EPILOG, short_help="List newer versions of what entries pin.")
@click.option("--track", metavar="NAME", help="Only the entries of this track. Default: of all tracks.")
@click.option("--algorithm", multiple=True, metavar="NAME", help="Only this entry; may be given again. Default: all.")
@click.option("--entry", multiple=True, metavar="PLACE", help="The folder of an entry anywhere; may be given again.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(track: str | None, algorithm: tuple[str, ...], entry: tuple[str, ...], as_json: bool) -> int:
    """List newer versions of what entries pin, as pip's index offers them for this Python.

    Exit code 0 when every pin is the newest version, 1 when any is not (or the index cannot be reached), 2 for wrong
    usage.
    """
    from ann_bench.environments.newest import pinned

    console = messages()
    with bars(console) as progress:
        rows = pinned(entries_asked(track, algorithm, entry), progress)
    newer = [row for row in rows if row.outdated]
    if as_json:
        click.echo(json.dumps([_fields(row) for row in rows], indent=2))
    elif newer:
        _table(newer)
    if not as_json:
        click.echo(f"{len(rows)} pinned, {len(newer)} with a newer version")
        for row in rows:
            if row.newest is None:
                click.echo(f"no version for this Python: {row.package} ({', '.join(row.entries)})")
    return 1 if newer else 0


def _fields(row: Pinned) -> dict[str, object]:
    return {
        "package": row.package,
        "pinned": row.version,
        "newest": row.newest,
        "outdated": row.outdated,
        "entries": list(row.entries),
        "held_back": list(row.held_back),
    }


def _table(rows: Sequence[Pinned]) -> None:
    cells = [HEAD]
    for row in rows:
        allows = f"not {', '.join(row.held_back)}" if row.held_back else "allows it"
        cells.append((row.package, row.version, str(row.newest), allows, ", ".join(row.entries)))
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEAD))]
    for line in cells:
        click.echo("  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip())
