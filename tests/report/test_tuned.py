"""Tuned entries and others are told apart wherever they stand beside each other."""

from __future__ import annotations

from ann_bench.report.board_table import cells, rows
from ann_bench.report.leaderboard import boards
from ann_bench.results.figures import figures
from tests.report import scenes
from tests.report.test_table import printed
from tests.results import made

TUNED = {"dataset": "tiny", "queries": "half of the public queries", "budget_seconds": 60.0, "seed": 1, "version": "1"}


def both():
    return [made.bundle(0.95, 900, algorithm="plain"), made.bundle(0.95, 1800, algorithm="other", tuned=TUNED)]


def test_a_table_says_which() -> None:
    lines = printed(both())
    assert "tuned" in lines[0]
    assert any(line.startswith("plain") and line.rstrip().endswith("no") for line in lines)
    assert any(line.startswith("other") and line.rstrip().endswith("yes") for line in lines)


def test_there_is_no_such_column_where_none_is_tuned() -> None:
    assert "tuned" not in printed(scenes.four())[0]


def test_a_leaderboard_says_which() -> None:
    (board,) = boards([figures(bundle) for bundle in both()])
    found = {row["algorithm"]: (row["tuned"], cells(row)[2]) for row in rows(board)}
    assert found == {"plain": (False, "plain"), "other (tuned)": (True, "other (tuned)")}
