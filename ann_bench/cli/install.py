"""`ann-bench install`: make what entries run in, images or virtual environments."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ann_bench.cli._entries import entries_asked
from ann_bench.cli._options import messages, quiet_option
from ann_bench.cli._progress import bars
from ann_bench.errors import UsageError

if TYPE_CHECKING:
    from ann_bench.entries.entry import Entry
    from ann_bench.progress import Progress

EPILOG = """\b
Examples:
  ann-bench install --track filtered
  ann-bench install --track filtered --algorithm hnswlib -j 4
  ann-bench install --entry ../my-index
  ann-bench install --sandbox process    virtual environments, no container engine
  ann-bench install --make-base          where no registry of images can be reached
"""


#: So many of the last lines of a log are shown with a failure.
LINES = 8


@dataclass(frozen=True)
class Request:
    """How to make things: what the options say."""

    jobs: int
    logs: Path
    force: bool
    progress: Progress


@dataclass(frozen=True)
class Row:
    """What became of one entry: its state and the place that it will run in, or why there is none; more for JSON."""

    entry: Entry
    state: str
    place: str
    failure: str | None
    log: Path | None
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What people call it."""
        return f"{self.entry.track}/{self.entry.name}"


BUILT, THERE, HERE, FAILED = "built", "there already", "this Python", "failed"


@click.command("install", epilog=EPILOG, short_help="Make what entries run in: images, or virtual environments.")
@click.option("--track", metavar="NAME", help="Only the entries of this track. Default: of all tracks.")
@click.option("--algorithm", multiple=True, metavar="NAME", help="Only this entry; may be given again. Default: all.")
@click.option("--entry", multiple=True, metavar="PLACE", help="The folder of an entry anywhere; may be given again.")
@click.option(
    "--sandbox",
    type=click.Choice(["docker", "process"]),
    default="docker",
    show_default=True,
    help="Images for containers, or virtual environments for entries whose requirements this Python does not meet.",
)
@click.option("-j", "--jobs", type=click.IntRange(1, 64), metavar="N", help="Builds at a time. Default: CPUs, up to 4.")
@click.option("--force", is_flag=True, help="Build again what is there already, with the newest of what is not pinned.")
@click.option("--make-base", is_flag=True, help="First make the base image from Debian packages (root, debootstrap).")
@click.option(
    "--logs", type=click.Path(path_type=Path), default="results/logs", show_default=True, help="Where logs are kept."
)
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@quiet_option
def command(
    track: str | None,
    algorithm: tuple[str, ...],
    entry: tuple[str, ...],
    sandbox: str,
    jobs: int | None,
    force: bool,
    make_base: bool,
    logs: Path,
    as_json: bool,
    quiet: bool,
) -> int:
    """Make what entries run in: an image for each on top of a common one, or a virtual environment where it needs one.

    Images and environments are named by the hash of all that goes into them: what has changed is built again, the rest
    is not. Exit code 0 when everything is there, 1 when any could not be built; each build has its log.
    """
    if make_base and sandbox != "docker":
        raise UsageError("--make-base makes an image; leave it out, or take --sandbox docker")
    console = messages(quiet=quiet)
    entries = entries_asked(track, algorithm, entry)
    make = _images if sandbox == "docker" else _environments
    if make_base:
        from ann_bench.engine.base import make_base as run_script
        from ann_bench.engine.client import connect

        connect()
        run_script()
    with bars(console) as progress:
        rows = make(entries, Request(jobs or min(4, os.cpu_count() or 1), logs, force, progress))
    return _show(rows, as_json)


def _images(entries: Sequence[Entry], request: Request) -> list[Row]:
    from ann_bench.engine.client import connect
    from ann_bench.engine.images import Images

    outcomes = Images(connect()).install(
        entries, jobs=request.jobs, logs=request.logs, progress=request.progress, force=request.force
    )
    rows = []
    for one in outcomes:
        state = FAILED if one.image is None else BUILT if one.built else THERE
        more = {
            "image": one.image.tag if one.image else None,
            "id": one.image.id if one.image else None,
            "base": one.image.base if one.image else None,
        }
        rows.append(Row(one.entry, state, one.image.tag if one.image else "", one.failure, one.log, more))
    return rows


def _environments(entries: Sequence[Entry], request: Request) -> list[Row]:
    from ann_bench.environments.make import install

    outcomes = install(entries, jobs=request.jobs, logs=request.logs, progress=request.progress, force=request.force)
    rows = []
    for one in outcomes:
        made = one.environment
        state = HERE if one.here else FAILED if made is None else BUILT if one.built else THERE
        place = str(made.folder) if made else sys.prefix if one.here else ""
        more = {"environment": str(made.folder) if made else None, "packages": made.packages() if made else None}
        rows.append(Row(one.entry, state, place, one.failure, one.log, more))
    return rows


def _show(rows: Sequence[Row], as_json: bool) -> int:
    failed = [row for row in rows if row.failure is not None]
    if as_json:
        shown = [
            {
                "track": row.entry.track,
                "algorithm": row.entry.name,
                **row.more,
                "state": row.state,
                "built": row.state == BUILT,
                "failure": row.failure,
                "log": str(row.log) if row.log else None,
            }
            for row in rows
        ]
        click.echo(json.dumps(shown, indent=2))
        return 1 if failed else 0
    width = max(len(row.name) for row in rows)
    for row in rows:
        if row.failure is None:
            click.echo(f"{row.name:<{width}}  {row.state:<{len(THERE)}}  {row.place}")
    for row in failed:
        click.echo(f"failed: {row.name}: {row.failure}", err=True)
        for line in _last_lines(row.log):
            click.echo(f"    {line}", err=True)
    counted = {state: sum(row.state == state for row in rows) for state in (BUILT, THERE, HERE, FAILED)}
    click.echo(", ".join(f"{count} {state}" for state, count in counted.items() if count or state != HERE))
    return 1 if failed else 0


def _last_lines(log: Path | None) -> list[str]:
    """The end of what was said while an entry was built."""
    if log is None or not log.is_file():
        return []
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line.rstrip()[:500] for line in lines if line.strip()][-LINES:]
