"""`ann-bench install`: build the images that entries run in."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ann_bench.cli._options import messages
from ann_bench.cli._progress import bars
from ann_bench.errors import UsageError

if TYPE_CHECKING:
    from ann_bench.engine.images import Outcome
    from ann_bench.entries.entry import Entry

EPILOG = """\b
Examples:
  ann-bench install --track filtered
  ann-bench install --track filtered --algorithm hnswlib -j 4
  ann-bench install --entry ../my-index
  ann-bench install --make-base          where no registry of images can be reached
"""


@click.command("install", epilog=EPILOG, short_help="Build the images that entries run in.")
@click.option("--track", metavar="NAME", help="Only the entries of this track. Default: of all tracks.")
@click.option("--algorithm", multiple=True, metavar="NAME", help="Only this entry; may be given again. Default: all.")
@click.option("--entry", multiple=True, metavar="PLACE", help="The folder of an entry anywhere; may be given again.")
@click.option("-j", "--jobs", type=click.IntRange(1, 64), metavar="N", help="Builds at a time. Default: CPUs, up to 4.")
@click.option("--force", is_flag=True, help="Build again what is there already, with the newest packages.")
@click.option("--make-base", is_flag=True, help="First make the base image from Debian packages (root, debootstrap).")
@click.option(
    "--logs", type=click.Path(path_type=Path), default="results/logs", show_default=True, help="Where logs are kept."
)
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(
    track: str | None,
    algorithm: tuple[str, ...],
    entry: tuple[str, ...],
    jobs: int | None,
    force: bool,
    make_base: bool,
    logs: Path,
    as_json: bool,
) -> int:
    """Build the images that entries run in: one for each entry, on top of a common one.

    An image is named by the hash of all that went into it: a changed entry is built again, an unchanged one is not.
    Exit code 0 when every image is there, 1 when any could not be built; each build has its log.
    """
    from ann_bench.engine.base import make_base as run_script
    from ann_bench.engine.client import connect
    from ann_bench.engine.images import Images

    console = messages()
    entries = _entries(track, algorithm, entry)
    client = connect()
    if make_base:
        run_script()
    with bars(console) as progress:
        outcomes = Images(client).install(
            entries, jobs=jobs or min(4, os.cpu_count() or 1), logs=logs, progress=progress, force=force
        )
    return _show(outcomes, as_json)


def _entries(track: str | None, names: Sequence[str], paths: Sequence[str]) -> list[Entry]:
    """The entries that are asked for; one that serves several tracks has an image for each."""
    from ann_bench.datasets.home import home
    from ann_bench.entries.discovery import choose, entries_at, resolve
    from ann_bench.tracks import find_track, list_tracks

    if track is not None:
        found = choose(find_track(track).name, home(), names, paths)
    else:
        tracks = [known.name for known in list_tracks()]
        found = [] if names or paths else [entry for name in tracks for entry in choose(name, home())]
        found += [entry for name in names for entry in resolve(name, home())]
        found += [entry for path in paths for entry in entries_at(path)]
    if not found:
        raise UsageError(
            f"there is no entry under {home() / 'algorithms'}: set ANN_BENCH_HOME, or name one with --entry"
        )
    return found


def _show(outcomes: Sequence[Outcome], as_json: bool) -> int:
    failures = [one for one in outcomes if one.failure is not None]
    if as_json:
        rows = [
            {
                "track": one.entry.track,
                "algorithm": one.entry.name,
                "image": one.image.tag if one.image else None,
                "id": one.image.id if one.image else None,
                "base": one.image.base if one.image else None,
                "built": one.built,
                "failure": one.failure,
            }
            for one in outcomes
        ]
        click.echo(json.dumps(rows, indent=2))
        return 1 if failures else 0
    width = max(len(f"{one.entry.track}/{one.entry.name}") for one in outcomes)
    for one in outcomes:
        if one.image is not None:
            state = "built        " if one.built else "there already"
            click.echo(f"{f'{one.entry.track}/{one.entry.name}':<{width}}  {state}  {one.image.tag}")
    for one in failures:
        click.echo(f"failed: {one.entry.track}/{one.entry.name}: {one.failure}", err=True)
    built = sum(one.built for one in outcomes)
    there = len(outcomes) - built - len(failures)
    click.echo(f"{built} built, {there} there already, {len(failures)} failed")
    return 1 if failures else 0
