"""Leaderboards held against results: every row must be what the results rank."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ann_bench.errors import ResultError, UsageError
from ann_bench.report.board_table import COLUMNS, FORMATS, HEADS
from ann_bench.report.leaderboard import Board, boards
from ann_bench.results.figures import Figures

Row = Mapping[str, Any]

#: What tells the rows of boards apart.
_TELLING = ("track", "dataset", "queries", "k", "standing", "algorithm")


def check_board(path: Path, results: Mapping[str, Figures]) -> list[str] | None:
    """Hold a board (csv, json, markdown) against results; what is to be said of it, or None where it is no board.

    Rows of published results are no results of anybody here, and are not looked at. Raises ResultError at the first
    row (of markdown: line) that differs; UsageError where the file cannot be read.
    """
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError:
        return None
    found = boards(results.values())
    if _is_markdown(text):
        return _check_lines(text, found)
    rows = _rows(text)
    if rows is None:
        return None
    expected = _rows(FORMATS["csv" if text.startswith(COLUMNS[0]) else "json"](found, ())) or []
    mine = [row for row in rows if row.get("standing") != "published"]
    for number, row in enumerate(rows, start=1):
        if row in mine:
            _check_row(number, row, expected)
    published = len(rows) - len(mine)
    return [f"{len(mine)} rows", *[f"{published} published ones were not looked at"] * bool(published)]


def _rows(text: str) -> list[Row] | None:
    """The rows of a board as csv or json; None where it is none."""
    if text.startswith(",".join(COLUMNS[:6])):
        return list(csv.DictReader(io.StringIO(text, newline="")))
    try:
        whole = json.loads(text)
        return [row for board in whole["boards"] for row in board["rows"]]
    except (ValueError, KeyError, TypeError):
        return None


def _check_row(number: int, row: Row, expected: Sequence[Row]) -> None:
    name = f"row {number} ({row.get('algorithm', '?')})"
    rivals = [one for one in expected if all(one[column] == row.get(column) for column in _TELLING)]
    if not rivals:
        raise ResultError(f"{name}: no board of these results has it as {row.get('standing')}")
    wrong = min(([column for column in row if row[column] != one.get(column)] for one in rivals), key=len)
    if wrong:
        should = next(one for one in rivals if row[wrong[0]] != one.get(wrong[0]))
        raise ResultError(f"{name}, column {wrong[0]}: found {row[wrong[0]]}, expected {should.get(wrong[0])}")


def _is_markdown(text: str) -> bool:
    return f"| {' | '.join(HEADS)} |" in text


def _check_lines(text: str, found: Sequence[Board]) -> list[str]:
    """Every line must be one that these boards have; those of boards that are not in the file do not count."""
    lines = text.splitlines()
    shown = [board for board in found if FORMATS["markdown"]([board], ()).splitlines()[0] in lines]
    known = set(FORMATS["markdown"](shown, ()).splitlines())
    for number, line in enumerate(lines, start=1):
        if line.strip() and line not in known:
            raise ResultError(f"line {number}: found {line[:100]!r}, which no board of these results says")
    tables = sum(line.startswith("| ---") for line in lines)
    return [f"{sum(line.startswith('| ') for line in lines) - 2 * tables} rows"]
