"""The board on a terminal: drawn between timed calls and once a second in long ones, by no thread of its own."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from ann_bench.cli._live.board import Board
from ann_bench.cli._live.draw import lines
from ann_bench.judge.events import Began, Event, GoesOn, Kept, TakesTurns

#: The least time between two drawings, but for what lasts longer than this, or changes more than a number.
PAUSE_SECONDS = 0.5


class Screen:
    """A display that stays in its place; `ready` is called before it is drawn first."""

    def __init__(self, console: Console, board: Board, ready: Callable[[], None]) -> None:
        self.console, self.board = console, board
        self._ready = ready
        self._live: Live | None = None
        self._drawn = 0.0

    def __enter__(self) -> Screen:
        for handler in logging.getLogger("ann_bench").handlers:
            handler.addFilter(_unreported)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for handler in logging.getLogger("ann_bench").handlers:
            handler.removeFilter(_unreported)
        if self._live is not None:
            self._live.update(Text(""))
            self._live.stop()

    def take(self, event: Event) -> None:
        """Take notice of an event, and draw where it is time to."""
        self.board.take(event)
        if isinstance(event, TakesTurns) and self._live is None:
            self._ready()
            self._live = Live(console=self.console, auto_refresh=False, transient=True, redirect_stdout=False)
            self._live.start()
        if self._live is not None and self._is_due(event):
            self._drawn = time.monotonic()
            shown = lines(self.board, self.console.width)[: max(1, self.console.height - 1)]
            self._live.update(Group(*shown), refresh=True)

    def _is_due(self, event: Event) -> bool:
        if isinstance(event, Kept | GoesOn | TakesTurns):
            return True
        if not isinstance(event, Began):
            return False  # at once something else begins
        if time.monotonic() - self._drawn >= PAUSE_SECONDS:
            return True
        expected = self.board.forecast.of(event.work)  # what is drawn now stands as long as the call lasts
        return expected is None or expected >= PAUSE_SECONDS


def _unreported(record: logging.LogRecord) -> bool:
    """Whether the display does not show what a line of the log says."""
    return not getattr(record, "reported", False)
