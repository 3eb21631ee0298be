"""A site as it is written: its data, its place, its speed when nothing has changed."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ann_bench.cli import main
from ann_bench.results.figures import figures
from ann_bench.results.model import Bundle
from ann_bench.results.store import Store
from ann_bench.site.axes import axes_of
from ann_bench.site.boards import page_data, pages
from ann_bench.site.details import detail
from ann_bench.site.drill import drill
from ann_bench.site.embed import file_name, plain, script
from ann_bench.site.folder import MARK
from ann_bench.site.shell import ASSETS, PAGES, assets, html
from ann_bench.truth.kept import Block, Outline, Part
from tests.results import made
from tests.site import scenes

pytest.importorskip("plotly", reason="the site's pictures are drawn by plotly: pip install plotly")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return scenes.store(tmp_path / "results").folder


def site(out: Path, results: Path) -> int:
    return main(["site", str(out), "--results", str(results)])


def data(path: Path) -> Any:
    """What a script of data gives."""
    text = path.read_text(encoding="ascii")
    assert text.count("\n") == 1
    found = re.fullmatch(r'annBench\.give\("([^"]+)",(.*)\);\n', text)
    assert found and found[1] == path.stem
    return json.loads(found[2])


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_a_site_holds(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert site(out, results) == 0
    assert capsys.readouterr().out == f"{out / 'index.html'}\n"
    overview = data(out / "data" / "overview.js")
    assert [board["title"] for board in overview["boards"]] == [
        "filtered, debian-20k", "streaming, tiny-stream", "unheard-of, debian-20k",
    ]  # fmt: skip
    first = overview["boards"][0]
    assert first["leaders"] == ["hnswlib"] and first["ranked"] == 3 and not first["official"]
    assert overview["results"] == 24
    assert {entry["name"] for entry in overview["entries"]} >= {scenes.EVIL, "gone", "broken", "other"}
    assert len({tuple(style) for style in overview["styles"].values()}) == len(overview["styles"])
    board = data(out / "data" / f"board-{first['file']}.js")
    assert [len(one["points"]) for one in board["sets"]] == [18, 1]
    assert {row[1] for row in board["sets"][0]["failures"]} == {"broken", "gone"}
    assert [row[1] for row in board["places"]] == [1, 2, 3]
    assert set(board["axes"]) >= {"recall", "qps", "build_seconds", "peak_memory_bytes"}
    stream = data(out / "data" / f"board-{overview['boards'][1]['file']}.js")
    assert [row[1] for row in stream["steps"]["hnswlib"]] == ["insert", "search", "delete", "search"]
    (file,) = (entry["file"] for entry in overview["entries"] if entry["name"] == scenes.EVIL)
    entry = data(out / "data" / f"{file}.js")
    assert entry["name"] == scenes.EVIL and len(entry["results"]) == 6
    one = entry["results"][0]
    assert one["provenance"]["machine"]["cores"] == 2 and one["identity"]["data_hash"]["base"] == "b"
    assert one["place"] == "filtered, debian-20k"
    assert one["drill"]["queries"] == 1000 and one["board"] == first["file"]


def test_nothing_changed_nothing_done(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    site(out, results)
    before = tree(out)
    times = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    assert site(out, results) == 0
    assert "nothing has changed" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == times
    (out / "data" / "overview.js").unlink()
    assert site(out, results) == 0
    assert tree(out) == before, "a site that lost a file is made again, with the same bytes"
    Store(results).write(made.bundle(0.97, 9e4, algorithm="new"))
    assert site(out, results) == 0
    assert data(out / "data" / "overview.js")["boards"][0]["leaders"] == ["new"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_damaged_results_are_named_each_time(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = Store(results).paths()[0]
    path.write_bytes(path.read_bytes()[:-3])
    for _ in range(2):
        assert site(tmp_path / "out", results) == 1
        said = capsys.readouterr().err
        assert str(path) in said and "1 damaged file left out" in said
    assert data(tmp_path / "out" / "data" / "overview.js")["damaged"] == 1


def test_what_is_no_site_is_not_replaced(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("years")
    assert site(tmp_path / "full", results) == 2
    assert "holds thesis.tex" in capsys.readouterr().err
    assert site(tmp_path / "full" / "thesis.tex", results) == 2
    assert "is a file" in capsys.readouterr().err
    assert site(results, results) == 2
    out = tmp_path / "out"
    out.mkdir()
    assert site(out, results) == 0
    (out / "notes").mkdir()
    (out / "notes" / "mine.txt").write_text("mine")
    Store(results).write(made.bundle(0.97, 9e4, algorithm="new"))
    before = tree(out)
    assert site(out, results) == 2
    assert "holds notes" in capsys.readouterr().err
    assert tree(out) == before


def test_no_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert site(tmp_path / "out", tmp_path / "none") == 2
    assert "ann-bench run" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_only_failures_make_a_site_too(tmp_path: Path) -> None:
    Store(tmp_path / "results").write(made.failed())
    assert site(tmp_path / "out", tmp_path / "results") == 0
    overview = data(tmp_path / "out" / "data" / "overview.js")
    assert overview["boards"] == [] and overview["entries"][0]["failed"] == 1


def test_a_site_that_cannot_be_written_leaves_the_old_one(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    site(out, results)
    before = tree(out)
    Store(results).write(made.bundle(0.97, 9e4, algorithm="new"))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfile", full)
    assert site(out, results) == 1
    assert "the disk is full" in capsys.readouterr().err
    assert tree(out) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "results"]


def test_what_killed_processes_left_goes_after_a_day(results: Path, tmp_path: Path) -> None:
    old, young, others = (tmp_path / f".out.{name}" for name in ("7-0123abcd.new", "8-0123abcd.old", "7-0123abcd.part"))
    for folder in (old, young, others):
        (folder / "data").mkdir(parents=True)
    for folder in (old, others):
        os.utime(folder, (0, 0))
    assert site(tmp_path / "out", results) == 0
    assert [folder.exists() for folder in (old, young, others)] == [False, True, True]


def test_without_the_library(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ann_bench.site.library.find_spec", lambda _: None)
    assert site(tmp_path / "out", results) == 2
    assert "pip install plotly" in capsys.readouterr().err


@settings(max_examples=40)
@given(
    st.recursive(
        st.none() | st.integers() | st.floats() | st.text(), lambda one: st.lists(one) | st.dictionaries(st.text(), one)
    )
)
def test_data_is_safe_in_any_script(value: Any) -> None:
    found = script("name", plain(value))
    assert not set("<>&\u2028\u2029") & set(found.decode("ascii"))
    assert json.loads(found.decode().removeprefix('annBench.give("name",').removesuffix(");\n")) == plain(value)


@settings(max_examples=50)
@given(st.text(), st.text())
def test_names_of_files(one: str, other: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9.-]+", file_name(one))
    assert (file_name(one) == file_name(other)) == (one == other)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)).map(sorted), min_size=1, max_size=40), st.integers(1, 3)
)
def test_drill_counts_every_query_once(queries: list[list[int]], runs: int) -> None:
    hits, possible = np.array(queries).T
    base = made.bundle(queries=len(queries), shape=(1, runs, 1))
    bundle = Bundle(**{**vars(base), "scores": (made.score(hits, possible),)})
    found = drill(bundle)
    known = possible > 0
    if not known.any():
        assert found is None
        return
    assert found is not None
    assert sum(found["bins"]) + found["empty"] == found["queries"] == len(queries)
    assert found["bins"][10] == int((hits == possible)[known].sum())
    assert sum(row[1] for row in found["matches"]) in (0, known.sum())
    shares = [row[1] / row[3] for row in found["worst"]]
    assert shares == sorted(shares) and all(share < 1 for share in shares)
    assert len(shares) == min(50, int((hits < possible).sum()))
    for number, got, _, could in found["worst"]:
        assert (got, could) == (runs * hits[number], runs * possible[number])


@pytest.mark.parametrize("filtered", [False, True])
def test_difficulty_comes_from_the_cache(tmp_path: Path, own_cache: Path, filtered: bool) -> None:
    key, queries, out = "ab" * 32, 1000, tmp_path / "out"
    bundle = made.bundle(recall=0.8, queries=queries)
    Store(tmp_path / "results").write(Bundle(**{**vars(bundle), "truths": (key,)}))
    assert site(out, tmp_path / "results") == 0
    assert groups(out, "distance") == groups(out, "selectivity") == []
    outline = Outline(key, ((key, queries, 10),))
    part = Part(own_cache / "truth" / f"{key}.truth", outline, ((0,),))
    ids = np.broadcast_to(np.arange(10, dtype=np.int32), (queries, 10))
    distances = np.sort(np.random.default_rng(1).random((queries, 10)), axis=1)
    part.write(Block(0, 0, queries), [(0, ids, distances)])
    part.finish()
    if filtered:
        np.save(own_cache / "truth" / f"{key}.matching.npy", np.repeat([5, 5000], queries // 2))
    assert site(out, tmp_path / "results") == 0, "the cache knows more than before, and so the site is made again"
    rows = groups(out, "distance")
    assert [row[1] for row in rows] == [100] * 10
    assert float(rows[0][0].split(" to ")[0]) == pytest.approx(distances[:, 0].min(), rel=1e-3)
    hits = bundle.scores[0].hits
    nearest = np.argsort(distances[:, 0])[:100]
    assert rows[0][2:] == [pytest.approx(hits[nearest].mean() / 10), int((hits[nearest] < 10).sum())]
    rows = groups(out, "selectivity")
    assert [row[:2] for row in rows] == ([["1-9", 500], ["1,000-9,999", 500]] if filtered else [])
    assert site(out, tmp_path / "results") == 0


def groups(out: Path, name: str) -> Any:
    (path,) = (out / "data").glob("entry-*.js")
    return data(path)["results"][0]["drill"][name]


def test_pages_reach_nothing_outside() -> None:
    """No address of a network, no HTML from text, no handler in an element; every script is strict and in a page."""
    pages = "".join(html(page).decode() for page in PAGES)
    for path in [*assets(), ASSETS / "page.html"]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(?<!\w)(https?:)?//[a-z]", text.replace("http://www.w3.org/2000/svg", "")), path.name
        if path.suffix == ".js":
            assert text.startswith('"use strict";\n/* ')
            assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|fetch\(|XMLHttp", text)
            assert f'<script src="{path.name}"></script>' in pages
            assert len(text.splitlines()) <= 250
        if path.suffix == ".html":
            assert "default-src 'none'" in text and not re.search(r"\son[a-z]+=", text)
    for source in re.findall(r'<script src="([^"]+)">', pages):
        assert (ASSETS / source).is_file()
    assert MARK not in {path.name for path in assets()}


def test_latencies_get_axes_and_conditions_their_names() -> None:
    batch = figures(made.bundle(0.93, 1000))
    single = replace(batch, p99=0.01, p99_low=0.009, p99_high=0.012, mode="concurrent 8", challenge="5")
    assert "p99" not in axes_of([batch])
    axes = axes_of([batch, single])
    assert axes["p99"] == {"label": "Latency, 99th percentile", "kind": "seconds", "better": -1, "log": True}
    assert not {"k", "cpus", "runs", "rate", "recall_low", "challenge", "mode", "key"} & set(axes)
    assert next(iter(axes)) == "recall"
    (page,) = pages([single])
    shown = page_data(page)
    assert shown["sets"][0]["conditions"].endswith("process, concurrent 8, in disguise (5)")
    row = dict(zip(shown["columns"], shown["sets"][0]["points"][0], strict=True))
    assert (row["p99"], row["p99_low"], row["p99_high"]) == (0.01, 0.009, 0.012)
    assert shown["configs"][row["query"]] == {"nprobe": 4}


def test_no_place_of_a_machine_is_published() -> None:
    one = figures(made.bundle())
    shown = detail(replace(one, provenance={**one.provenance, "manifest": "/home/somebody/data/mine.yaml"}), {}, None)
    assert shown["provenance"]["manifest"] == "mine.yaml"
