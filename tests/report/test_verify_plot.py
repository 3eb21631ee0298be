"""Pictures are held against results: their figures, and every line of the drawing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from PIL import Image, PngImagePlugin

from ann_bench.errors import ResultError, UsageError
from ann_bench.report import embedded
from ann_bench.report.paper import Paper
from ann_bench.report.plot import plot
from ann_bench.report.sheets import Wish
from ann_bench.report.verify_plot import check_plot
from ann_bench.results.figures import figures
from tests.report import scenes

RESULTS = {one.key: one for one in map(figures, scenes.four())}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("plots")
    return {path.suffix: path for path in plot(map(figures, scenes.four()), folder, ("png", "svg", "pdf"))}


def with_figures(svg: Path, folder: Path, change) -> Path:
    """The picture with other figures kept in it."""
    kept = embedded.take(svg)
    change(kept)
    text = re.sub(
        r"<dc:description>.*?</dc:description>",
        lambda _: f"<dc:description>{json.dumps(kept)}</dc:description>",
        svg.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    path = folder / "changed.svg"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_what_was_drawn_follows(drawn: dict[str, Path], suffix: str) -> None:
    assert check_plot(drawn[suffix], RESULTS) == []
    assert len(embedded.take(drawn[suffix])["points"]) == 17


@pytest.mark.parametrize("column", embedded.KEPT)
def test_a_changed_figure_is_named(drawn: dict[str, Path], tmp_path: Path, column: str) -> None:
    def change(kept) -> None:
        value = kept["points"][4][column]
        kept["points"][4][column] = value * 1.001 if isinstance(value, float) else f"{value}0"

    with pytest.raises(ResultError, match=rf"point 5 \(.*\), column {column}: found "):
        check_plot(with_figures(drawn[".svg"], tmp_path, change), RESULTS)


def test_a_moved_line_is_named(drawn: dict[str, Path], tmp_path: Path) -> None:
    lines = drawn[".svg"].read_text(encoding="utf-8").splitlines()
    number = next(n for n, line in enumerate(lines) if re.match(r'\s*<use xlink:href="#m.*x="\d+', line))
    lines[number] = re.sub(r'x="(\d)', lambda m: f'x="{(int(m[1]) + 1) % 10}', lines[number])
    path = tmp_path / "moved.svg"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(ResultError, match=rf"^line {number + 1}: found .* expected "):
        check_plot(path, RESULTS)


def test_a_changed_pixel_is_named(drawn: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "pixel.png"
    with Image.open(drawn[".png"]) as image:
        kept = PngImagePlugin.PngInfo()
        kept.add_text(embedded.FIELD, image.info[embedded.FIELD])
        image.putpixel((70, 50), (255, 0, 0, 255))
        image.save(path, pnginfo=kept)
    with pytest.raises(ResultError, match=r"1 pixels differ .* in row 50, column 70: found"):
        check_plot(path, RESULTS)


def test_points_that_are_left_out_are_told(tmp_path: Path) -> None:
    chosen = [one for one in scenes.four() if one.identity["algorithm"] != "hnswlib"]
    (path,) = plot(map(figures, chosen), tmp_path, ("svg",))
    assert check_plot(path, RESULTS) == ["4 results of the same conditions are not in it (hnswlib)"]


def test_points_of_unlike_conditions_are_refused(drawn: dict[str, Path], tmp_path: Path) -> None:
    (stranger,) = scenes.sweep("faiss-ivf", [(0.5, 99_000)], cpus=64)
    results = {**RESULTS, stranger.identity.key: figures(stranger)}

    def change(kept) -> None:
        kept["points"].append(embedded.kept_of(figures(stranger)))

    with pytest.raises(ResultError, match="not all measured under the same conditions"):
        check_plot(with_figures(drawn[".svg"], tmp_path, change), results)


def test_a_result_that_is_not_there_is_named(drawn: dict[str, Path]) -> None:
    key = embedded.take(drawn[".svg"])["points"][2]["key"]
    with pytest.raises(ResultError, match=rf"point 3 .*column key: found {key}, which is no verified result here"):
        check_plot(drawn[".svg"], {name: one for name, one in RESULTS.items() if name != key})


def test_another_matplotlib_is_told(drawn: dict[str, Path], tmp_path: Path) -> None:
    (said,) = check_plot(with_figures(drawn[".svg"], tmp_path, lambda kept: kept.update(matplotlib="0.1")), RESULTS)
    assert "drawn with matplotlib 0.1" in said and "lines were not" in said


def test_streams_are_drawn_again_too(tmp_path: Path) -> None:
    bundles = scenes.streams(40)
    (path,) = plot(map(figures, bundles), tmp_path, ("svg",))
    assert check_plot(path, {one.key: one for one in map(figures, bundles)}) == []


def test_what_is_no_picture_of_ours(tmp_path: Path) -> None:
    for name, content in [("a.svg", "<svg/>"), ("b.svg", "<dc:description>{}</dc:description>")]:
        (tmp_path / name).write_text(content, encoding="utf-8")
        with pytest.raises(ResultError, match="holds no figures"):
            check_plot(tmp_path / name, RESULTS)
    (tmp_path / "c.png").write_bytes(b"\x89PNG and no more")
    for name in ("c.png", "none.svg", "d.pdf"):
        with pytest.raises(UsageError):
            check_plot(tmp_path / name, RESULTS)
    broken = {"format": embedded.FORMAT, "points": [{"algorithm": "x"}]}
    (tmp_path / "e.svg").write_text(f"<dc:description>{json.dumps(broken)}</dc:description>", encoding="utf-8")
    with pytest.raises(ResultError, match="cannot be read"):
        check_plot(tmp_path / "e.svg", RESULTS)


@pytest.mark.parametrize("kind", ["build", "memory"])
def test_other_kinds_are_drawn_again_too(kind: str, tmp_path: Path) -> None:
    (path,) = plot(RESULTS.values(), tmp_path, ("svg",), Wish(kind))
    assert path.stem.endswith(kind)
    assert check_plot(path, RESULTS) == []
    changed = path.with_name("changed.svg")
    changed.write_text(path.read_text().replace("M ", "M 1", 1), encoding="utf-8")
    with pytest.raises(ResultError, match="line"):
        check_plot(changed, RESULTS)
    with pytest.raises(ResultError, match="do not make one picture"):
        check_plot(with_figures(path, tmp_path, lambda kept: kept["points"].append(kept["points"][0])), RESULTS)


@pytest.mark.parametrize("paper", [Paper("dark"), Paper("light", "column")], ids=["dark", "column"])
def test_the_paper_is_known_again(paper: Paper, tmp_path: Path) -> None:
    (path,) = plot(RESULTS.values(), tmp_path, ("svg",), Wish("build", paper, at_qps=3000))
    assert path.stem == f"filtered-debian-20k-build-at-3000{paper.suffix}"
    assert check_plot(path, RESULTS) == []
    with pytest.raises(ResultError, match=r"cannot be read .*unknown style 'grey'"):
        check_plot(with_figures(path, tmp_path, lambda kept: kept.update(style="grey")), RESULTS)
    with pytest.raises(ResultError, match="line"):
        check_plot(with_figures(path, tmp_path, lambda kept: kept["styles"].update(exact=["#222222", "o", 3])), RESULTS)
    with pytest.raises(ResultError, match="no style of ours"):
        check_plot(with_figures(path, tmp_path, lambda kept: kept["styles"].update(exact=["red", "o", 3])), RESULTS)


def test_a_changed_pdf_is_named(drawn: dict[str, Path], tmp_path: Path) -> None:
    content = drawn[".pdf"].read_bytes()
    place = content.index(b"stream\n") + 100
    path = tmp_path / "changed.pdf"
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    with pytest.raises(ResultError, match=f"byte {place:,} of"):
        check_plot(path, RESULTS)
