"""Progress bars for work over a second: bars on a terminal, nothing elsewhere."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

from ann_bench.progress import Progress as Report
from ann_bench.progress import silent

#: Work that ends sooner shows no bar.
PATIENCE_SECONDS = 0.5


@contextmanager
def bars(console: Console) -> Iterator[Report]:
    """A report that draws one bar a task on this console; none where it is no terminal, or is to be quiet."""
    if not console.is_terminal or not logging.getLogger("ann_bench").isEnabledFor(logging.INFO):
        yield silent
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as display:
        yield _Bars(display)


class _Bars:
    def __init__(self, display: Progress) -> None:
        self.display = display
        self.tasks: dict[str, TaskID] = {}
        self.began: dict[str, float] = {}

    def __call__(self, task: str, done: int, total: int | None) -> None:
        began = self.began.setdefault(task, time.monotonic())
        if task not in self.tasks:
            if time.monotonic() - began < PATIENCE_SECONDS:
                return
            self.tasks[task] = self.display.add_task(task, total=total)
        self.display.update(self.tasks[task], completed=done, total=total)
