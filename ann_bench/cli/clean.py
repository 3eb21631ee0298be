"""`ann-bench clean`: remove what this project has left on the machine."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ann_bench.cli._options import messages
from ann_bench.errors import EngineError

if TYPE_CHECKING:
    from ann_bench.engine.sweep import Cleaned

EPILOG = """\b
Examples:
  ann-bench clean --dry-run
  ann-bench clean
"""


@click.command(
    "clean", epilog=EPILOG, short_help="Remove images, containers, environments and folders of this project."
)
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(dry_run: bool, as_json: bool) -> int:
    """Remove this project's images, its containers, virtual environments, what pip has downloaded for them, and
    temporary folders of runs that have ended.

    Nothing else is touched: no results, no data sets, no image that was pulled, nothing of a run that goes on.
    """
    from ann_bench.environments.place import folders as environments
    from ann_bench.environments.place import in_use, wheel_store
    from ann_bench.sandbox.folders import abandoned

    console = messages()
    busy = {f"environment {folder}": why for folder in environments() if (why := in_use(folder))}
    unused = [folder for folder in environments() if f"environment {folder}" not in busy]
    downloads = [wheel_store()] if wheel_store().is_dir() and not busy else []
    folders, kept = _remove_folders([*abandoned(), *downloads], dry_run)
    removed, left_there = _remove_folders(unused, dry_run)
    cleaned, no_engine = _clean_engine(dry_run)
    left = {**kept, **busy, **left_there, **cleaned.left}
    if as_json:
        outcome = {
            "dry_run": dry_run,
            "engine": no_engine is None,
            "containers": cleaned.containers,
            "images": cleaned.images,
            "volumes": cleaned.volumes,
            "environments": removed,
            "folders": folders,
            "left": left,
        }
        click.echo(json.dumps(outcome, indent=2))
        return 0
    word = "would remove" if dry_run else "removed"
    tags = [name for name in cleaned.images if ":" in name]
    named = [*(f"image {tag}" for tag in tags), *(f"volume {name}" for name in cleaned.volumes)]
    named += [*(f"environment {folder}" for folder in removed)]
    for name in [*cleaned.containers, *named, *(f"folder {folder}" for folder in folders)]:
        click.echo(f"{word} {name}")
    for name, reason in left.items():
        click.echo(f"left {name}: {reason}")
    if no_engine is not None:
        console.print(f"only folders were looked at: {no_engine}", style="yellow", markup=False)
    layers = len(cleaned.images) - len(tags)
    click.echo(
        f"{word} {_count(len(cleaned.containers), 'container')}, {_count(len(tags), 'image')} "
        f"({_count(layers, 'layer')} of builds), {_count(len(cleaned.volumes), 'volume')}, "
        f"{_count(len(removed), 'environment')}, {_count(len(folders), 'folder')}"
    )
    return 0


def _clean_engine(dry_run: bool) -> tuple[Cleaned, str | None]:
    """What was removed from the engine, and why none answers, where that is so."""
    from ann_bench.engine.client import connect
    from ann_bench.engine.sweep import Cleaned, clean

    try:
        client = connect()
    except EngineError as error:
        return Cleaned(), str(error)
    return clean(client, dry_run=dry_run), None


def _remove_folders(folders: list[Path], dry_run: bool) -> tuple[list[str], dict[str, str]]:
    removed, left = [], {}
    for folder in folders:
        try:
            if not dry_run:
                shutil.rmtree(folder)
        except FileNotFoundError:
            continue
        except OSError as error:
            left[f"folder {folder}"] = error.strerror or str(error)
        else:
            removed.append(str(folder))
    return removed, left


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
