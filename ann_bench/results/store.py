"""A folder of bundles."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from ann_bench.errors import ResultError, UsageError
from ann_bench.results import bundle as files
from ann_bench.results.atomic import storage_error, sweep, write_atomically
from ann_bench.results.model import Bundle, Identity

log = logging.getLogger(__name__)

#: Bundles that a Finder keeps at hand.
_FEW = 64

#: Temporary files older than this belong to nobody who is still alive.
STALE_SECONDS = 24 * 3600.0


@dataclass(frozen=True)
class Damaged:
    """A file in a results folder that is no bundle, or no longer; `reason` is one line that names it."""

    path: Path
    reason: str


class Keyed(Protocol):
    """Anything with the key of a result."""

    @property
    def key(self) -> str:
        """The hash of its identity."""
        ...


class Store:
    """The bundles in a folder. Files are written once and otherwise only read."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    def path(self, identity: Identity) -> Path:
        """Where the bundle of this identity lies, or would."""
        return files.bundle_path(self.folder, identity)

    def has(self, identity: Identity) -> bool:
        """Whether there is an undamaged bundle of this identity; a damaged one is reported and does not count."""
        path = self.path(identity)
        if not path.is_file():
            return False
        try:
            files.check_seal(path)
        except ResultError as error:
            log.warning("%s; it does not count", error)
            return False
        return True

    def get(self, identity: Identity, *, answers: bool = True) -> Bundle:
        """The bundle of this identity, with its ids if `answers`; ResultError where there is none or it is damaged."""
        return read(self.path(identity), answers=answers)

    def write(self, bundle: Bundle) -> Path:
        """Keep a bundle (in the place of an earlier one of the same identity); StorageError where it cannot be."""
        path = files.write(bundle, self.folder)
        sweep(path.parent.iterdir(), STALE_SECONDS)
        return path

    def check_writable(self) -> None:
        """Make the folder and try to write, before hours of measuring; StorageError where it cannot be written."""
        probe = self.folder / ".probe"
        write_atomically(probe, (b"ann-bench looks whether it can write here\n",))
        try:
            probe.unlink(missing_ok=True)
        except OSError as error:
            raise storage_error(self.folder, error) from error
        sweep(self.folder.rglob(".*"), STALE_SECONDS)

    def scan(self, *, answers: bool = False) -> Iterator[Bundle | Damaged]:
        """Every bundle and every damaged or foreign HDF5 file, one by one, in the order of their paths.

        Without `answers` the bundles come without their ids, which figures do not need: a thousand results
        pass through little memory. Raises UsageError where the folder does not exist or holds no result.
        """
        for path in self.paths():
            try:
                yield read(path, answers=answers)
            except ResultError as error:
                yield Damaged(path, str(error))

    def load(self, *, answers: bool = True) -> tuple[list[Bundle], list[Damaged]]:
        """All the good bundles, and all the files that are none with the reason; errors as `scan`."""
        found = list(self.scan(answers=answers))
        good = [item for item in found if isinstance(item, Bundle)]
        return good, [item for item in found if isinstance(item, Damaged)]

    def paths(self) -> list[Path]:
        """Every file that should be a bundle, sorted; UsageError where the folder does not exist or holds none.

        What goes by such a name and is no file, and folders that cannot be read, are among them: to read them says why.
        Links to folders are followed, each folder once.
        """
        paths = sorted(_walk(self.folder))
        if not paths:
            state = "holds no results" if self.folder.is_dir() else "does not exist"
            raise UsageError(f"results folder {self.folder} {state}; make some with `ann-bench run --track NAME`")
        return paths


def _walk(folder: Path) -> Iterator[Path]:
    """All that looks like a bundle, in a folder and those within it, and the folders that cannot be read."""
    closed: list[OSError] = []
    seen = set()
    for place, folders, names in os.walk(folder, onerror=closed.append, followlinks=True):
        facts = Path(place).stat()
        if (facts.st_dev, facts.st_ino) in seen:
            folders.clear()  # a link has led here before: back again it would go on for ever
            continue
        seen.add((facts.st_dev, facts.st_ino))
        for name in (*folders, *names):
            if name.endswith((files.SUFFIX, ".hdf5")) and not name.startswith("."):
                yield Path(place, name)
    yield from (Path(error.filename) for error in closed if error.errno not in (errno.ENOENT, errno.ENOTDIR))


class Finder:
    """Finds the bundle of figures again, by key, in some folders; without its ids. None where it is gone or damaged."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self.folders = list(folders)
        self._read: dict[str, Bundle | None] = {}  # several pictures show the same results

    @cached_property
    def _paths(self) -> dict[str, Path]:
        return {path.stem: path for folder in reversed(self.folders) for path in Store(folder).paths()}

    def __call__(self, one: Keyed) -> Bundle | None:
        """The bundle of a result."""
        if one.key not in self._read:
            if len(self._read) >= _FEW:
                self._read.pop(next(iter(self._read)))
            self._read[one.key] = self._look(one.key)
        return self._read[one.key]

    def _look(self, key: str) -> Bundle | None:
        path = self._paths.get(key)
        try:
            return None if path is None else read(path, answers=False)
        except ResultError as error:
            log.warning("%s; it is not drawn", error)
            return None


def read(path: Path, *, answers: bool = True) -> Bundle:
    """The bundle in a file; ResultError where it is damaged or goes by another name than its own."""
    bundle = files.read(path, answers=answers)
    if path.stem != bundle.identity.key:
        # a copy would count twice
        raise ResultError(f"{path}: is the result {bundle.identity.key} under another name; rename or remove it")
    return bundle
