"""The board of a run as lines of text, none of them wider than the terminal."""

from __future__ import annotations

from rich.text import Text

from ann_bench.cli._live import words
from ann_bench.cli._live.board import Board, Worker
from ann_bench.report.format import recall

#: Results that are shown.
BEST = 5

_NAME, _BAR, _NARROW = 18, 10, 70
_FULL, _EMPTY = "━", "─"


def lines(board: Board, width: int) -> list[Text]:
    """All the lines, cut to the width; names and arguments stand as they are, whatever characters they hold."""
    rows = [_head(board), _clock(board)]
    rows += [_worker(board, name, worker, width) for name, worker in board.workers.items()]
    if board.is_before and board.planned is not None and board.planned.setting.repeat.canary:
        rows.append(Text("  the canary: how fast is the machine now", "dim"))
    if board.waiting:
        rows.append(Text(f"  then {', '.join(board.waiting)}", "dim"))
    rows += _best(board)
    for row in rows:
        row.no_wrap, row.overflow = True, "ellipsis"
        row.plain = "".join(c if c.isprintable() else "?" for c in row.plain)  # as many as before: styles stay in place
        row.truncate(max(1, width), overflow="ellipsis")
    return rows


def _head(board: Board) -> Text:
    planned = board.planned
    if planned is None:
        return Text("")
    limits = planned.setting.limits
    given = f"{limits.cpus} CPU{'s' * (limits.cpus > 1)} and {words.size(limits.memory_bytes)} each"
    return Text.assemble(
        (f"{planned.setting.track.name} on {planned.setting.dataset.name}", "bold"),
        (f", {len(planned.wanted)} entr{'ies' if len(planned.wanted) != 1 else 'y'}, {given}", "dim"),
    )


def _clock(board: Board) -> Text:
    seconds, whole = board.left
    to_go = f"about {words.time(seconds)} to go" if whole else f"at least {words.time(seconds)} to go"
    to_go = to_go if whole or seconds else "? to go"
    failed = sum(not one.ok for one in board.results)
    found = f", {board.planned.found} there before" if board.planned and board.planned.found else ""
    line = Text(f"{len(board.results)} of {board.total} results{found}")
    if failed:
        line.append(f", {failed} not ok", "yellow")
    return line.append(f", {words.time(board.elapsed)} so far, {to_go}")


def _worker(board: Board, name: str, worker: Worker, width: int) -> Text:
    setting = board.planned.setting if board.planned else None
    limit = setting.limits.memory_bytes if setting else 0
    active = worker.work is not None
    line = Text("▸ " if active else "  ", "bold")
    shown = name if len(name) <= _NAME else name[: _NAME - 1] + "…"
    line.append(f"{shown:<{min(_NAME, max(map(len, board.workers)))}}  ", "bold" if active else "dim")
    held = words.memory(worker.memory_bytes, limit) if worker.memory_bytes else ""
    bar = _bar(worker.memory_bytes / limit) if held and width >= _NARROW else ""
    right = Text.assemble(held, " " if bar else "", (bar, "yellow" if worker.memory_bytes > 0.9 * limit else "dim"))
    left = Text(_state(board, worker), "" if active else "dim")
    room = width - len(line) - len(right) - 2
    if held and room >= 12:
        left.truncate(room, overflow="ellipsis", pad=True)
        return line.append_text(left).append("  ").append_text(right)
    return line.append_text(left)


def _state(board: Board, worker: Worker) -> str:
    """What a worker does, and how long it takes."""
    if worker.work is None:
        return "waits"
    text = words.doing(worker.work, board.planned.setting if board.planned else None)
    expected, elapsed = board.forecast.of(worker.work), board.clock() - worker.since
    if expected is not None and max(expected, elapsed) >= 1:
        passed = f"{words.time(elapsed)} of " if elapsed >= 1 else ""
        return f"{text}, {passed}~{words.time(expected)}"
    return f"{text}, {words.time(elapsed)}" if elapsed >= 1 else text


def _bar(share: float) -> str:
    full = min(_BAR, round(_BAR * share))
    return _FULL * full + _EMPTY * (_BAR - full)


def _best(board: Board) -> list[Text]:
    rows = board.best(BEST)
    if not rows:
        return []
    stream = board.planned is not None and board.planned.setting.workload.mutates
    found = [Text(f"  {'recall':>8}  {'' if stream else 'QPS':>10}", "dim")]
    for row in rows:
        known = row.recall is not None
        line = Text(f"  {recall(row.recall) if row.recall is not None else '...':>8}  ")
        line.append("" if stream else f"{row.qps:>10,.0f}").append(f"  {row.entry} {row.query}")
        runs = f"  {row.runs} run{'s' * (row.runs != 1)} so far"
        found.append(line if known else line.append(runs, "dim"))
    return found
