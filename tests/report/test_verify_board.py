"""Leaderboards are held against results."""

from __future__ import annotations

from pathlib import Path

import pytest

from ann_bench.errors import ResultError
from ann_bench.report.board_table import FORMATS
from ann_bench.report.leaderboard import boards
from ann_bench.report.verify_board import check_board
from ann_bench.results.figures import figures
from ann_bench.results.published import Published
from tests.report import scenes

RESULTS = {one.key: one for one in map(figures, scenes.four())}
SUFFIXES = {"markdown": "md", "csv": "csv", "json": "json"}


def written(folder: Path, form: str, change: tuple[str, str] = ("", ""), published: tuple[Published, ...] = ()) -> Path:
    path = folder / f"board.{SUFFIXES[form]}"
    text = FORMATS[form](boards(RESULTS.values()), published)
    assert change[0] in text
    path.write_text(text.replace(*change, 1), encoding="utf-8")
    return path


@pytest.mark.parametrize("form", FORMATS)
def test_a_board_follows(tmp_path: Path, form: str) -> None:
    notes = check_board(written(tmp_path, form), RESULTS)
    assert notes is not None and notes[0].endswith(" rows") and int(notes[0].split()[0]) >= 4


def test_what_differs_is_named(tmp_path: Path) -> None:
    text = written(tmp_path, "csv").read_text(encoding="utf-8").splitlines()
    first = text[1].split(",")
    with pytest.raises(ResultError, match=rf"row 1 \({first[7]}\), column rank: found 2, expected 1"):
        check_board(written(tmp_path, "csv", (",ranked,1,", ",ranked,2,")), RESULTS)
    with pytest.raises(ResultError, match=r"row 1 .*, column tier: found 7, expected 1"):
        check_board(written(tmp_path, "json", ('"tier": 1,', '"tier": 7,')), RESULTS)
    with pytest.raises(ResultError, match=r"line \d+: found '\| 9 \| 1 \|.*', which no board"):
        check_board(written(tmp_path, "markdown", ("| 1 | 1 |", "| 9 | 1 |")), RESULTS)
    with pytest.raises(ResultError, match=r"row 1 \(mine\): no board of these results has it as ranked"):
        check_board(written(tmp_path, "csv", (f",{first[7]},", ",mine,")), RESULTS)


def test_other_files_are_no_boards(tmp_path: Path) -> None:
    for content in (b"track,dataset\n", b"[]", b"{}", b"\xff\xfe", b"| a |\n"):
        (tmp_path / "x").write_bytes(content)
        assert check_board(tmp_path / "x", RESULTS) is None
