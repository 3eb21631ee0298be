"""A picture is drawn again only where it would not be the same, byte by byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from ann_bench.report.plot import plot
from ann_bench.report.sheets import Wish
from ann_bench.results.figures import Figures, figures
from tests.report import scenes

FORMATS = ("svg", "pdf")


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.iterdir()}


@pytest.fixture
def shown() -> list[Figures]:
    return [figures(one) for one in scenes.high()]


def again(shown: list[Figures], folder: Path) -> list[Path]:
    return plot(shown, folder / "plots", FORMATS, Wish(), folder / "cache")


def test_what_is_there_is_left(shown: list[Figures], tmp_path: Path) -> None:
    paths = again(shown, tmp_path)
    before = state(tmp_path / "plots")
    assert again(shown, tmp_path) == paths
    assert state(tmp_path / "plots") == before


def test_a_changed_file_is_drawn_again(shown: list[Figures], tmp_path: Path) -> None:
    svg, pdf = again(shown, tmp_path)
    before = state(tmp_path / "plots")
    svg.write_bytes(svg.read_bytes().replace(b"M ", b"M 1", 1))
    again(shown, tmp_path)
    after = state(tmp_path / "plots")
    assert after[svg.name][1] == before[svg.name][1]
    assert after[pdf.name] == before[pdf.name], "only the file that had changed"
    pdf.unlink()
    again(shown, tmp_path)
    assert pdf.read_bytes() == before[pdf.name][1]


def test_another_figure_is_drawn(shown: list[Figures], tmp_path: Path) -> None:
    again(shown, tmp_path)
    before = state(tmp_path / "plots")
    again(shown[:-1], tmp_path)
    after = state(tmp_path / "plots")
    assert all(after[name][1] != content for name, (_, content) in before.items())


def test_a_broken_note_costs_no_picture(shown: list[Figures], tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "drawn.sqlite").write_bytes(b"no database at all, and no room for one" * 40)
    assert all(path.exists() for path in again(shown, tmp_path))
