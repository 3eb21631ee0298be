"""What a run shows while it goes on: a board on a terminal, plain lines elsewhere, nothing where it is to be quiet."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Sequence

from rich.console import Console

from ann_bench.cli._live.board import Board
from ann_bench.cli._live.forecast import Earlier, Forecast, Key, earlier, like
from ann_bench.cli._live.plain import Lines
from ann_bench.cli._live.screen import Screen
from ann_bench.cli._progress import bars
from ann_bench.errors import ResultError
from ann_bench.judge.events import Watch, unwatched
from ann_bench.judge.plan import Plan
from ann_bench.progress import Progress
from ann_bench.results.store import Store, read

#: So many earlier results of an entry are looked at, the newest ones.
LOOKED_AT = 20

_log = logging.getLogger("ann_bench")


@contextlib.contextmanager
def watching(console: Console, plan: Plan, store: Store) -> Iterator[tuple[Progress, Watch]]:
    """For `execute`: what draws its preparation, and what draws the measurement."""
    if not _log.isEnabledFor(logging.INFO):
        with bars(console) as progress:
            yield progress, unwatched
        return
    with contextlib.ExitStack() as preparing:
        if console.is_terminal and not console.is_dumb_terminal:
            progress = preparing.enter_context(bars(console))
            board = Board(Forecast(earlier_of(plan, store)))
            with Screen(console, board, preparing.close) as screen:
                yield progress, screen.take
        else:
            lines = Lines(Board())
            yield lines.progress, lines.take


def earlier_of(plan: Plan, store: Store) -> Earlier:
    """What the calls of earlier results of the same entries took, where they were measured alike."""
    found: dict[Key, Sequence[float]] = {}
    for job in plan.jobs:
        if not job.configs:
            continue
        identity = job.configs[0].identity
        folder = store.path(identity).parent
        paths = sorted(folder.glob("*.h5"), key=lambda path: -path.stat().st_mtime) if folder.is_dir() else []
        bundles = []
        for path in paths[:LOOKED_AT]:
            with contextlib.suppress(ResultError, OSError):
                bundles.append(read(path, answers=False))
        found |= earlier(bundle for bundle in bundles if like(bundle, identity.fields))
    return found


__all__ = ["watching"]
