"""One entry: what it is called, where it lies, what it needs, and the hash of its code."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from packaging.requirements import Requirement

from ann_bench.entries.config import EntryConfig
from ann_bench.entries.pins import applying
from ann_bench.errors import UsageError

CONFIG = "config.yaml"


@dataclass(frozen=True)
class Entry:
    """An index that can be measured on a track.

    `name` is the folder's name; `source` tells whether it was found under `algorithms/` or named by its path. With a
    `dialect` the folder is laid out for another benchmark: `config` was made of what the file `written` says there,
    `metric` is the only one that it is for (empty: any), `section` the part of that file that was asked for (empty:
    all), and a Dockerfile in it is for that benchmark's images.
    """

    name: str
    track: str
    folder: Path
    config: EntryConfig
    source: Literal["algorithms", "path"]
    dialect: str = ""
    written: str = CONFIG
    metric: str = ""
    section: str = ""

    @property
    def config_file(self) -> Path:
        """Where its config lies."""
        return self.folder / self.written

    @property
    def place(self) -> str:
        """What `--entry` takes for it."""
        if not self.dialect:
            return str(self.folder)
        section = f"@{self.section}" if self.section else ""
        return f"{self.dialect}:{self.folder}{section}#{self.name.removeprefix(f'{self.dialect}-')}"


def plan_configs(entry: Entry, dataset: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The build arguments and the query configs of the entry on this data set.

    Raises UsageError where config.yaml has nothing for the data set.
    """
    build = entry.config.build_for(dataset)
    queries = entry.config.queries_for(dataset)
    if build is None:
        raise _nothing_for(entry, "build", dataset, list(entry.config.build))
    if queries is None:
        raise _nothing_for(entry, "query", dataset, list(entry.config.query))
    return build, queries


def _nothing_for(entry: Entry, key: str, dataset: str, given: list[str]) -> UsageError:
    return UsageError(
        f"{entry.config_file}: {key!r} has nothing for the data set {dataset!r}, only for {', '.join(given)}; "
        f"add `default` or {dataset!r}"
    )


def required(entry: Entry) -> list[str]:
    """The names of the packages that the entry requires on this Python."""
    return [need.name for need in applying(entry.config.requires)]


def installed(entry: Entry) -> dict[str, str]:
    """The versions here of the packages that the entry requires; one that is not here is left out."""
    return installed_here(*required(entry))


def installed_here(*packages: str) -> dict[str, str]:
    """The versions here of these packages; one that is not here is left out."""
    found = {name: _version(name) for name in packages}
    return {name: version for name, version in found.items() if version is not None}


def missing(entry: Entry) -> list[str]:
    """The requirements that this environment does not meet: not there, or there in another version."""
    return [str(need) for need in applying(entry.config.requires) if not _met(need)]


def _met(need: Requirement) -> bool:
    version = _version(need.name)
    return version is not None and need.specifier.contains(version, prereleases=True)


def _version(package: str) -> str | None:
    try:
        # The metadata of a half-removed package has no version, whatever the annotation says.
        version: str | None = metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
    return version


def entry_hash(entry: Entry) -> str:
    """SHA-256 over all that the entry runs on: the names and bytes of its files, `class` (or `command`) and `requires`.

    The rest of config.yaml does not count: arguments are in the identity of a result by themselves, so that one
    more query config leaves the others as they are. Left out are README.md, hidden files and `__pycache__`.
    Raises UsageError where a file cannot be read or lies elsewhere: then the hash could not tell one version of
    the entry from another.
    """
    whole = hashlib.sha256(_config_digest(entry.config))
    for name, path in files(entry):
        # Two digests of fixed length for each file: no choice of names and bytes can look like another.
        whole.update(hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest())
        whole.update(_file_digest(path))
    return whole.hexdigest()


def files(entry: Entry) -> list[tuple[str, Path]]:
    """The files that the entry runs on, which `entry_hash` covers: names relative to its folder, sorted, and paths.

    Raises UsageError like `entry_hash`.
    """
    return sorted((name, path) for name, path in _files(entry.folder) if name != entry.written)


def _config_digest(config: EntryConfig) -> bytes:
    """Of what config.yaml says about what runs."""
    return hashlib.sha256(json.dumps([config.class_ or config.command, config.requires]).encode()).digest()


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    root = folder.resolve()
    for parent, folders, names in os.walk(folder, onerror=_refuse_unreadable):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "__pycache__"]
        for name in folders:
            if (Path(parent) / name).is_symlink():
                raise UsageError(f"{Path(parent) / name}: a symbolic link to a folder; put the files themselves there")
        for name in names:
            path = Path(parent) / name
            if not (name.startswith(".") or name == "README.md"):
                _refuse_special(path, root)
                yield path.relative_to(folder).as_posix(), path


def _refuse_unreadable(error: OSError) -> None:
    raise UsageError(f"{error.filename}: cannot be read ({error.strerror})") from error


def _refuse_special(path: Path, root: Path) -> None:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    if not path.resolve().is_relative_to(root):
        raise UsageError(f"{path}: a symbolic link out of the entry's folder; put the file itself there")
    if not stat.S_ISREG(mode):
        raise UsageError(f"{path}: no plain file; an entry is made of plain files")


def _file_digest(path: Path) -> bytes:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    return digest.digest()
