"""Which pictures need not be drawn again: a note of what was drawn, beside the data sets' cache.

A picture is known by a hash over all that goes into it: figures, style, the code, and matplotlib's version. The note
says which bytes came of it; a file that has these bytes is left as it is. It may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import sqlite3
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

import ann_bench

log = logging.getLogger(__name__)

_TABLE = "CREATE TABLE IF NOT EXISTS drawn (print TEXT, form TEXT, code TEXT, sha256 TEXT, PRIMARY KEY (print, form))"


class Drawn:
    """The notes in a folder (None: none are kept); new ones are written at the end, if all went well."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.known: dict[tuple[str, str], str] = {}
        self.new: list[tuple[str, str, str, str]] = []

    def __enter__(self) -> Drawn:
        if self.folder is not None and (self.folder / "drawn.sqlite").exists():
            with contextlib.suppress(sqlite3.Error, OSError), contextlib.closing(self._open(self.folder)) as base:
                rows = base.execute("SELECT print, form, sha256 FROM drawn WHERE code = ?", (_code(),))
                self.known = {(print_of, form): digest for print_of, form, digest in rows}
        return self

    def __exit__(self, *_: object) -> None:
        if not self.new or self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with contextlib.closing(self._open(self.folder)) as base, base:
                base.execute("DELETE FROM drawn WHERE code != ?", (_code(),))
                base.executemany("INSERT OR REPLACE INTO drawn VALUES (?, ?, ?, ?)", self.new)
        except (sqlite3.Error, OSError) as error:
            log.info("no note of what was drawn is kept in %s (%s)", self.folder, error)

    def fingerprint(self, content: str) -> str:
        """The hash of a picture: of its content, and of what draws it."""
        return hashlib.sha256(f"{_code() if self.folder else ''}{content}".encode()).hexdigest()

    def stands(self, print_of: str, form: str, path: Path) -> bool:
        """Whether a file has the very bytes that came of a picture before."""
        digest = self.known.get((print_of, form))
        if digest is None:
            return False
        try:
            return hashlib.sha256(path.read_bytes()).hexdigest() == digest
        except OSError:
            return False

    def note(self, print_of: str, form: str, content: bytes) -> None:
        """Keep what came of a picture."""
        self.new.append((print_of, form, _code(), hashlib.sha256(content).hexdigest()))

    @staticmethod
    def _open(folder: Path) -> sqlite3.Connection:
        base = sqlite3.connect(folder / "drawn.sqlite", timeout=10)
        try:
            base.execute(_TABLE)
        except sqlite3.DatabaseError:
            base.close()
            raise
        return base


@cache
def _code() -> str:
    """A hash over what draws: the code, matplotlib's version and Python's."""
    root = Path(ann_bench.__file__).parent
    digest = hashlib.sha256(f"{version('matplotlib')} {version('numpy')} {sys.version}".encode())
    rooms = ("stats", "results", "report", "tracks", "truth")
    for path in sorted([*root.glob("*.py"), *(file for room in rooms for file in root.glob(f"{room}/*.py"))]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
