"""A folder of results as it is after years: the good ones are shown, each of the others is named with its reason."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import h5py
import pytest

from ann_bench.cli import main
from ann_bench.results.store import Store
from tests.results import made

#: HTML, markdown, TeX, rich, mathtext, a formula, an end of a line, of a cell, of a script, what moves a cursor.
EVIL = "=<img src=x onerror=a>\"'&amp;</script> |a|b $x_1^2$ %#\\x{} [r]x[/] `c` **d** ü名\n# e\x1b[31m\u2028\u202ef"

GOOD = ("aa", EVIL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two good results, one of the first format, and everything else that may lie there."""
    place = tmp_path_factory.mktemp("bad") / "results"
    store = Store(place)
    for name in GOOD:
        store.write(made.bundle(0.95, 900, algorithm=name, query={name: name}, machine=name, dataset=EVIL))
    whole = store.write(made.bundle(0.95, 1, algorithm="victim"))
    content = whole.read_bytes()
    whole.unlink()
    bad = place / "bad"
    bad.mkdir()
    (bad / "empty.h5").write_bytes(b"")
    (bad / "cut.h5").write_bytes(content[:-1000])
    (bad / "flipped.h5").write_bytes(content[:500] + bytes([content[500] ^ 1]) + content[501:])
    (bad / "renamed.h5").write_bytes(content)
    (bad / "new\nline \x1b[31m.h5").write_bytes(b"x")
    with h5py.File(bad / "foreign.hdf5", "w") as file:
        file["train"] = [1]
    (bad / "folder.h5").mkdir()
    (bad / "loop.h5").symlink_to(bad / "loop.h5")
    (bad / "nowhere.h5").symlink_to(bad / "gone")
    (bad / "up").symlink_to(place)
    os.mkfifo(bad / "pipe.h5")
    (bad / "notes.txt").write_text("no result, and no file that looks like one")
    (bad / "again").mkdir()
    (bad / "again" / whole.name).symlink_to(Store(place).path(made.identity(algorithm="aa")).parent / "none")
    yield place


NAMED = ("empty.h5", "cut.h5", "flipped.h5", "renamed.h5", "new\\nline \\x1b[31m.h5", "foreign.hdf5", "folder.h5",
         "loop.h5", "nowhere.h5", "pipe.h5", "again/")  # fmt: skip

COMMANDS = {
    "csv": ["export"], "json": ["export", "--format", "json"], "markdown": ["export", "--format", "markdown"],
    "latex": ["export", "--format", "latex"], "board": ["leaderboard"],
    "board-csv": ["leaderboard", "--format", "csv"], "board-json": ["leaderboard", "--format", "json"],
    "board-markdown": ["leaderboard", "--format", "markdown"], "recommend": ["recommend"],
    "recommend-json": ["recommend", "--json"], "plot": ["plot", "--format", "svg"],
}  # fmt: skip


def run(words: list[str], folder: Path, tmp_path: Path) -> int:
    more = ["--output", str(tmp_path / "plots")] if words[0] == "plot" else []
    return main([*words, *more, "--results", str(folder)])


def values(found: object) -> Iterator[object]:
    """All values in JSON."""
    parts = found.values() if isinstance(found, dict) else found if isinstance(found, list) else None
    if parts is None:
        yield found
    else:
        for part in parts:
            yield from values(part)


@pytest.mark.parametrize("name", list(COMMANDS))
def test_what_is_good_is_shown_and_what_is_bad_is_named(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert run(COMMANDS[name], folder, tmp_path) == 1
    said = capsys.readouterr()
    for file in NAMED:
        assert sum(f"{folder}/bad/{file}" in line for line in said.err.splitlines()) == 1, file
    assert f"{len(NAMED)} damaged files left out" in said.err
    shown = said.out
    assert not {"\x1b", "\u2028"} & set(said.err if name.endswith(("csv", "json")) else said.err + shown)
    if name == "plot":
        files = sorted((tmp_path / "plots").iterdir())
        texts = " ".join(text for path in files for text in ET.parse(path).getroot().itertext())
        assert len(files) == len(GOOD) and "aa" in texts and "<img src=x" in texts
    elif name.endswith("json"):
        assert EVIL in set(values(json.loads(shown)))
    elif name.endswith("csv"):
        rows = list(csv.DictReader(io.StringIO(shown, newline="")))
        assert {row["algorithm"] for row in rows} == {"aa", f"'{EVIL}"}
        assert {row["dataset"] for row in rows} == {f"'{EVIL}"}
    elif "markdown" in name:
        assert not re.search(r"(?<!\\)(\\\\)*(<|`|\*\*|\[)", shown) and "\n# e" not in shown
        assert r"\<img src=x" in shown
    elif name == "latex":
        assert "\\x{}" not in shown and r"\textless{}img" in shown
    else:
        assert "[r]x[/]" in shown.replace("\n", "") and "\\x1b[31m" in shown.replace("\n", "").replace(" ", "")


def test_a_site_shows_it_too(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("plotly", reason="the site's pictures are drawn by plotly: pip install plotly")
    for _ in range(2):  # the second time nothing has changed
        assert main(["site", str(tmp_path / "out"), "--results", str(folder)]) == 1
        said = capsys.readouterr().err
        assert all(f"{folder}/bad/{file}" in said for file in NAMED)
    overview = (tmp_path / "out" / "data" / "overview.js").read_text()
    assert f'"damaged":{len(NAMED)}' in overview and "<img" not in overview


@pytest.mark.parametrize("words", [["export"], ["leaderboard"], ["recommend"], ["plot"], ["site", "out"]])
@pytest.mark.parametrize("what", ["none", "empty", "bad"])
def test_where_there_is_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str], what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if what != "none":
        (tmp_path / "r").mkdir()
    if what == "bad":
        (tmp_path / "r" / "x.h5").write_bytes(b"x")
    assert run(words, tmp_path / "r", tmp_path) == (2 if what != "bad" else 1)
    said = capsys.readouterr().err
    assert "ann-bench run --track" in said if what != "bad" else "x.h5: has no seal" in said


def test_what_may_not_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(tmp_path / "results")
    store.write(made.bundle(0.95, 900, algorithm="aa"))
    locked = store.write(made.bundle(0.95, 900, algorithm="bb"))
    closed = store.write(made.bundle(0.95, 900, algorithm="cc")).parent
    locked.chmod(0)
    closed.chmod(0)
    root = os.geteuid() == 0
    for place in (tmp_path, *tmp_path.parents[:3]) if root else ():
        place.chmod(place.stat().st_mode | 0o055)
    try:
        if root:
            os.seteuid(65534)  # nothing is closed to root
        assert main(["export", "--results", str(store.folder)]) == 1
    finally:
        if root:
            os.seteuid(0)
        closed.chmod(0o755)
    said = capsys.readouterr()
    assert f"{locked}: cannot be read (Permission denied)" in said.err
    assert f"{closed}: cannot be read (Permission denied)" in said.err
    assert said.out.count("debian-20k") == 1
