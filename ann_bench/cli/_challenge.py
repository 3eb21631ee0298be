"""The options of commands that may show the data in disguise."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from ann_bench.judge.disguise import Challenge

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--challenge",
        metavar="SEED",
        help="Measure on the data in disguise (docs/audit.md): the truth stays, what is known of the set is of no use.",
    ),
    click.option(
        "--challenge-by",
        type=click.Choice(["rows", "columns", "both"]),
        default="both",
        show_default=True,
        help="What a challenge changes: the numbers of rows, or coordinates, terms and tags.",
    ),
)


def challenge_options(command: Command) -> Command:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def challenge(options: dict[str, Any]) -> Challenge | None:
    """Take the options out of those of the command; None where no disguise is wanted."""
    from ann_bench.judge.disguise import Challenge

    seed, by = options.pop("challenge"), options.pop("challenge_by")
    return None if seed is None else Challenge(seed, rows=by != "columns", columns=by != "rows")
