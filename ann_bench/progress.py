"""How long work tells that it goes on: the library reports, the command line draws."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called as work goes on: `done` of `total` units (bytes, rows, queries) of the task with this name."""

    def __call__(self, task: str, done: int, total: int | None) -> None:
        """Report; must be cheap."""


def silent(task: str, done: int, total: int | None) -> None:
    """Report nothing."""
