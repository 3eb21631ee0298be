"""Figures of results, kept beside the data sets' cache so that what has not changed is not derived again.

Figures are never stored with results: what is kept here is a copy under the hash of the bundle's bytes and of the
code that derives figures. It may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import logging
import os
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

import ann_bench
from ann_bench.errors import ResultError
from ann_bench.results import bundle as files
from ann_bench.results.figures import Figures, figures
from ann_bench.results.store import Damaged, Store, read

log = logging.getLogger(__name__)

#: From so many bundles on it pays to read them by several processes.
FEW = 64

_TABLE = "CREATE TABLE IF NOT EXISTS kept (seal TEXT, code TEXT, seen TEXT, figures TEXT, PRIMARY KEY (seal, code))"


def cached_figures(store: Store, folder: Path) -> Iterator[tuple[Path, Figures | Damaged]]:
    """The figures of every bundle of a store with its path, in the order of the paths, and every damaged file.

    `folder` is where a copy of them is kept; where it cannot be written, everything is derived. A bundle whose size and
    time of change are as they were is believed to have the bytes that it had; else its seal is checked. Errors as
    `Store.scan`.
    """
    paths = store.paths()
    with _Kept(folder) as kept:
        found = [kept.look(path) for path in paths]
        missing = [path for path, one in zip(paths, found, strict=True) if one is None]
        derived = iter(_derive(missing))
        for path, one in zip(paths, found, strict=True):
            shown = next(derived) if one is None else one
            if one is None and isinstance(shown, Figures):
                kept.add(path, shown)
            yield path, shown


def _derive(paths: list[Path]) -> Iterator[Figures | Damaged]:
    """From the bundles themselves; many of them by all cores."""
    workers = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 8)
    if len(paths) < FEW or workers < 2:
        yield from map(_of, paths)
        return
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(_of, paths, chunksize=8)


def _of(path: Path) -> Figures | Damaged:
    try:
        return figures(read(path, answers=False))
    except ResultError as error:
        return Damaged(path, str(error))


class _Kept:
    """The copies; what is new is written when all is read, in one piece."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.code = _code()
        self.new: list[tuple[str, str, str, str]] = []
        self.known: dict[str, tuple[str, str]] = {}
        self.looked: dict[Path, tuple[str, str]] = {}

    def __enter__(self) -> _Kept:
        with contextlib.suppress(sqlite3.Error, OSError), contextlib.closing(self._open()) as base:
            rows = base.execute("SELECT seal, seen, figures FROM kept WHERE code = ?", (self.code,))
            self.known = {seal: (seen, text) for seal, seen, text in rows}
        return self

    def __exit__(self, *_: object) -> None:
        if not self.new:
            return
        try:
            with contextlib.closing(self._open()) as base, base:
                base.execute("DELETE FROM kept WHERE code != ?", (self.code,))
                base.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)", self.new)
        except (sqlite3.Error, OSError) as error:
            log.info("no copy of the figures is kept in %s (%s)", self.folder, error)

    def look(self, path: Path) -> Figures | Damaged | None:
        """What is known of a bundle; None where it must be read."""
        try:
            seal, seen = _seal(path)
        except ResultError as error:
            return Damaged(path, str(error))
        before, text = self.known.get(seal, ("", ""))
        if before == seen:
            with contextlib.suppress(ValueError):
                return _take(text)
        self.looked[path] = seal, seen
        return None

    def add(self, path: Path, found: Figures) -> None:
        """Keep the figures of a bundle that was read."""
        seal, seen = self.looked[path]
        self.new.append((seal, self.code, seen, _give(found)))

    def _open(self) -> sqlite3.Connection:
        self.folder.mkdir(parents=True, exist_ok=True)
        base = sqlite3.connect(self.folder / "figures.sqlite", timeout=10)
        try:
            base.execute(_TABLE)
        except sqlite3.DatabaseError:
            base.close()
            raise
        return base


def _seal(path: Path) -> tuple[str, str]:
    """What a file says of its bytes, and what the file system says of them."""
    try:
        files.check_file(path)
        with path.open("rb") as file:
            facts = os.fstat(file.fileno())
            file.seek(max(0, facts.st_size - files.SEAL_BYTES))
            seal = file.read(files.SEAL_BYTES)
    except OSError as error:
        raise ResultError(f"{path}: cannot be read ({error.strerror})") from error
    return seal.hex(), f"{path.name} {facts.st_size} {facts.st_mtime_ns}"


@cache
def _code() -> str:
    """A hash over the code that derives figures."""
    root = Path(ann_bench.__file__).parent
    digest = hashlib.sha256()
    for path in sorted([*root.glob("*.py"), *root.glob("stats/*.py"), *root.glob("results/*.py")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@cache
def _adapter() -> TypeAdapter[Figures]:
    return TypeAdapter(Figures)


def _give(found: Figures) -> str:
    """As JSON, in which NaN is allowed."""
    plain = dataclasses.asdict(found)
    return json.dumps({**plain, "identity": {"fields": dict(found.identity.fields)}})


def _take(text: str) -> Figures:
    return _adapter().validate_python(json.loads(text))
