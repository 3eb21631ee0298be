"""The options that bring tables published elsewhere beside the results of this place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from ann_bench.results.published import Published

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--published", type=click.Path(path_type=Path, dir_okay=False), multiple=True,
                 help="A result table of big-ann-benchmarks (csv) to show beside; may be given again."),
    click.option("--published-on", default="machine not named", show_default=True, metavar="MACHINE",
                 help="The machine on which the published results were measured."),
)  # fmt: skip


def published_options(command: Command) -> Command:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_all(paths: tuple[Path, ...], machine: str) -> list[Published]:
    """The rows of all tables that were named; UsageError where one is none."""
    from ann_bench.results.published import read_published

    return [row for path in paths for row in read_published(path, machine)]
