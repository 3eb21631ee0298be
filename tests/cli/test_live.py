"""What a run shows while it goes on: what the judge tells, the board of it, its lines on terminals of any size."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from ann_bench.cli._live import words
from ann_bench.cli._live.board import Board
from ann_bench.cli._live.draw import lines
from ann_bench.cli._live.forecast import Forecast, earlier
from ann_bench.cli._live.plain import Lines
from ann_bench.cli._live.screen import Screen
from ann_bench.judge.events import Began, Ended, Event, GoesOn, Kept, Left, Planned, TakesTurns, Work
from ann_bench.judge.repeat import Repeat
from tests.judge.planned import told
from tests.support import bench, write_entry

ODD = "[bold]x[/bold] \x1b[31m\n"
ASKS = "def query(self, q, k, t=None):\n    __import__('time').sleep(0.3); return self.exact(q, k, t)\n"


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Event]]:
    """Of two entries that take turns; one builds, and answers, for longer than it takes to hear that it goes on."""
    folder = tmp_path_factory.mktemp("live")
    slow = write_entry(folder / "slow", ASKS, query={"default": [{"effort": ODD}]})
    text = (slow / "wrapper.py").read_text(encoding="utf-8")
    text = text.replace("self.base, self.tags =", "import time; time.sleep(0.4); self.base, self.tags =")
    (slow / "wrapper.py").write_text(text, encoding="utf-8")
    quick = write_entry(folder / "quick", query={"default": [{"effort": 1}, {"effort": 2}]})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANN_BENCH_CACHE", str(folder / "cache"))
        patch.setattr("ann_bench.judge.exchange.PAUSE_SECONDS", 0.1)
        yield told(bench(folder), [slow, quick], runs=2, repeat=Repeat(warmups=1))


def test_the_judge_tells_what_begins_and_ends(events: list[Event]) -> None:
    assert isinstance(events[0], Planned)
    assert dict(events[0].wanted).keys() == {"slow", "quick"}
    assert isinstance(events[1], TakesTurns)
    began = [event.work for event in events if isinstance(event, Began)]
    assert [work.kind for work in began if work.entry == "slow"] == [
        "start", "build", "warmup", "search", "search", "control", "score",
    ]  # fmt: skip
    runs = [(work.number, work.total) for work in began if work.kind == "search" and work.entry == "quick"]
    assert sorted(runs) == [(1, 2), (1, 2), (2, 2), (2, 2)]
    ended = [event for event in events if isinstance(event, Ended)]
    assert all(step.seconds > 0 for event in ended for step in event.steps)
    assert [event.work for event in ended if event.work.kind == "search"] == [w for w in began if w.kind == "search"]
    assert sorted(event.figures.algorithm for event in events if isinstance(event, Kept)) == ["quick", "quick", "slow"]
    assert {event.entry for event in events if isinstance(event, Left)} == {"slow", "quick"}


def test_long_calls_are_told_of_and_batches_never(events: list[Event]) -> None:
    going = [event for event in events if isinstance(event, GoesOn)]
    assert {event.work.kind for event in going} <= {"start", "build"}
    building = [event for event in going if event.work == Work("slow", "build", None, 1, 1)]
    assert building
    assert all(event.memory_bytes > 0 for event in building)
    for event, following in pairwise(events):
        if isinstance(event, Began) and event.work.kind in ("search", "warmup"):
            assert isinstance(following, Ended)  # 0.3 s without a word
            assert following.work == event.work


def test_the_board_counts_down(events: list[Event]) -> None:
    now = [0.0]
    board = Board(clock=lambda: now[0])
    left = []
    for event in events:
        now[0] += 0.01
        board.take(event)
        left.append(board.left)
    assert left[2] == (0.0, False)  # nothing is known yet
    assert left[-1] == (0.0, True)
    assert max(seconds for seconds, _ in left) > 0.3
    assert len(board.results) == board.total == 3
    assert not board.workers
    assert not board.waiting
    rows = board.best(5)
    assert [row.recall for row in rows] == [1.0, 1.0, 1.0]
    assert [row.qps for row in rows] == sorted((row.qps for row in rows), reverse=True)


def test_earlier_results_tell_how_long_it_takes(events: list[Event], tmp_path: Path) -> None:
    place = bench(tmp_path)
    told(place, [write_entry(tmp_path / "quick")], runs=2)
    forecast = Forecast(earlier(place.bundles()))
    assert 0 < (forecast.of(Work("quick", "build")) or 0) < 60
    assert 0 < (forecast.of(Work("quick", "search", {"effort": 99})) or 0) < 60  # as its other query configs
    assert forecast.of(Work("other", "build")) is None


@settings(max_examples=60, deadline=None)
@given(width=st.integers(1, 200), share=st.floats(0, 1))
def test_no_line_is_wider_than_the_terminal(events: list[Event], width: int, share: float) -> None:
    board = Board()
    for event in events[: int(share * len(events)) + 1]:
        board.take(event)
    drawn = lines(board, width)
    assert all(line.cell_len <= width for line in drawn)
    assert all(line.plain.isprintable() for line in drawn)
    if width >= 120 and share > 0.9:
        assert any("effort=[bold]x[/bold] ?[31m?" in line.plain for line in drawn)


def test_a_screen_is_left_as_it_was(events: list[Event]) -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=80, height=6, color_system=None, emoji=False)
    ready = []
    try:
        with Screen(console, Board(), lambda: ready.append(1)) as screen:
            for event in events[:-4]:
                screen.take(event)
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        console.print("interrupted")
    text = file.getvalue()
    assert ready == [1]
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1  # the cursor is there again
    assert "filtered on tiny" in text
    frames = text.split("filtered on tiny")
    assert max(frame.count("\n") for frame in frames[1:-1]) <= 6  # it fits: nothing scrolls
    assert re.search(r"\x1b\[2K[^\n]*interrupted\n$", text)  # on a cleared line


class _Said(logging.Handler):
    """Keeps lines of the log."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def said(events: list[Event], pause: float) -> list[str]:
    """The plain lines of these events."""
    handler, logger = _Said(), logging.getLogger("ann_bench.cli.run")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        drawn = Lines(Board(), pause)
        for event in events:
            drawn.take(event)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
    return handler.lines


def test_plain_lines_are_few(events: list[Event]) -> None:
    assert said(events, 30.0) == ["taking turns: quick, slow", "quick: builds", "slow: builds"]
    every = said(events, 0.0)
    assert any(re.fullmatch(r"slow: builds, [\d.]+ of 256 MiB", line) for line in every)


def test_quiet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = bench(tmp_path)
    assert place.run(write_entry(tmp_path / "mine"), "--runs", "1", "--quiet") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "mine" in captured.out
    bad = write_entry(tmp_path / "bad", "def query(self, q, k, t=None):\n    raise ValueError('no')")
    assert place.run(bad, "--runs", "1", "--quiet") == 1
    assert "bad effort=1: crashed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (99.4, "99 s"), (185, "3 min 05 s"), (7799, "2 h 10 min")],
)
def test_times_in_words(seconds: float, text: str) -> None:
    assert words.time(seconds) == text


def test_memory_in_words() -> None:
    assert words.memory(2**28, 2**34) == "0.25 of 16 GiB"
    assert words.memory(2**20, 2**28) == "1 of 256 MiB"
