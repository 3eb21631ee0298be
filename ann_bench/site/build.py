"""A site from figures: every page, its data, the scripts and the library."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import ann_bench
from ann_bench.report.board_table import homeless
from ann_bench.results.figures import Figures
from ann_bench.results.newest import date
from ann_bench.results.published import Published
from ann_bench.site.boards import page_data, pages
from ann_bench.site.details import raw_details
from ann_bench.site.embed import script
from ann_bench.site.entries import by_algorithm, entry_data, entry_file
from ann_bench.site.library import NAME, plotly
from ann_bench.site.overview import overview
from ann_bench.site.shell import ASSETS, PAGES, assets, html
from ann_bench.truth.look import known


@dataclass(frozen=True)
class Content:
    """What a site is made of: figures, where their bundles lie (by key), how many files were damaged; `published`
    results stand beside them."""

    figures: Sequence[Figures]
    paths: Mapping[str, Path]
    damaged: int = 0
    published: Sequence[Published] = ()


@dataclass(frozen=True)
class Made:
    """Every file of a site, by its path in it: bytes, or a file to copy. `unknown` are truths that the cache lacked,
    `homeless` says which published results have no board."""

    files: dict[str, bytes | Path]
    unknown: tuple[str, ...] = ()
    homeless: tuple[str, ...] = ()


def make(content: Content) -> Made:
    """A site; equal content, and an equal cache of truths, give equal bytes."""
    figures = sorted(content.figures, key=lambda one: (one.algorithm, date(one), one.identity.key))
    found = pages(figures)
    entries = by_algorithm(figures)
    keys = [one.identity.key for one in figures]
    raw = dict(zip(keys, raw_details(content.paths[key] for key in keys), strict=True))
    files: dict[str, bytes | Path] = {path.name: path for path in assets()}
    files |= {f"{page}.html": html(page) for page in PAGES}
    files[f"lib/{NAME}"] = plotly()
    for page in found:
        files |= _data(f"board-{page.file}", page_data(page, content.published))
    for name, results in entries.items():
        files |= _data(entry_file(name), entry_data(name, results, found, raw))
    files |= _data("overview", overview(found, entries, content.damaged))
    truths = {one["truth"] for one in raw.values() if one.get("truth")}
    unknown = tuple(sorted(key for key in truths if not known(key)))
    return Made(files, unknown, tuple(homeless([page.board for page in found if page.board], content.published)))


def _data(name: str, value: Any) -> dict[str, bytes | Path]:
    return {f"data/{name}.js": script(name, value)}


def stamp(paths: Iterable[Path], published: Iterable[Published] = ()) -> str:
    """A hash of all that a site follows from: result files (by size and time of change), tables, code and library."""
    digest = hashlib.sha256(_code().encode())
    for path in sorted(paths):
        try:
            facts = path.stat()
            digest.update(f"{path.absolute()}\0{facts.st_size}\0{facts.st_mtime_ns}\n".encode(errors="replace"))
        except OSError as error:  # it is named where it is read
            digest.update(f"{path.absolute()}\0{error.errno}\n".encode(errors="replace"))
    for row in published:
        digest.update(f"{row}\n".encode())
    library = plotly()
    digest.update(f"{library}\0{library.stat().st_size}\0{library.stat().st_mtime_ns}".encode())
    return digest.hexdigest()


@cache
def _code() -> str:
    """A hash over the code that derives and shows figures."""
    root = Path(ann_bench.__file__).parent
    rooms = [root, root / "stats", root / "results", root / "report", root / "tracks", root / "truth", root / "site"]
    files = [path for room in rooms for path in room.glob("*.py")]
    digest = hashlib.sha256()
    for path in [*sorted(files), ASSETS / "page.html", *assets()]:
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
