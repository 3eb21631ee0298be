"""Where entries come from: the folders under `algorithms/`, and folders named by their path.

An entry lies in the folder of one track, `algorithms/<track>/<name>/`; its `tracks` may name others that it serves too.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from ann_bench import yamlfile
from ann_bench.entries.config import EntryConfig
from ann_bench.entries.entry import CONFIG, Entry
from ann_bench.errors import UsageError, unknown

log = logging.getLogger(__name__)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def discover(track: str, home: Path) -> list[Entry]:
    """All entries of `home/algorithms/` for this track, by name.

    Hidden folders, folders whose name begins with `_`, and folders without a config.yaml are no entries.
    Raises UsageError at the first config.yaml in the track's own folder that cannot be used.
    """
    return [_load(folder, track, "algorithms") for folder in _folders(track, home)]


def entry_at(path: Path, track: str) -> Entry:
    """The entry in this folder (or the one that this config.yaml belongs to)."""
    folder = (path.parent if path.name == CONFIG else path).resolve()
    if not (folder / CONFIG).is_file():
        raise UsageError(f"{path}: no entry, there is no {CONFIG} in it")
    return _load(folder, track, "path")


def choose(track: str, home: Path, names: Sequence[str] = (), paths: Sequence[Path] = ()) -> list[Entry]:
    """The entries that a run is to measure, by name.

    Without `names` and `paths`: all of `algorithms/<track>/`. Otherwise those of these names and those at these
    paths, and no other config.yaml is read: a broken one hinders nobody but who asks for it.
    """
    if not names and not paths:
        return discover(track, home)
    folders = _folders(track, home)
    at_paths = _once(entry_at(path, track) for path in paths)
    _refuse_two_of_one_name(at_paths, folders)
    known = [folder.name for folder in folders] + [entry.name for entry in at_paths]
    for name in names:
        if name not in known:
            raise _not_here(name, known, track, home)
    taken = {entry.folder for entry in at_paths}
    wanted = [f for f in folders if f.name in names and f.resolve() not in taken]
    return sorted([*at_paths, *(_load(f, track, "algorithms") for f in wanted)], key=lambda entry: entry.name)


def _folders(track: str, home: Path) -> list[Path]:
    """The entries' folders, sorted by name: all of `algorithms/<track>/`, and those beside it that name the track.

    The track's own entry goes before one of the same name from elsewhere.
    """
    found: dict[str, Path] = {}
    for config in sorted((home / "algorithms").glob(f"*/*/{CONFIG}"), key=lambda path: path.parts[-3] != track):
        folder = config.parent
        if not folder.name.startswith((".", "_")) and (folder.parent.name == track or _serves(config, track)):
            found.setdefault(folder.name, folder)
    return [found[name] for name in sorted(found)]


def _serves(config: Path, track: str) -> bool:
    """Whether an entry of another track's folder is for this track too; one that cannot be read is left out."""
    try:
        return track in yamlfile.load(config, EntryConfig).tracks
    except UsageError as error:
        log.warning("left out an entry: %s", error)
        return False


def _load(folder: Path, track: str, source: Literal["algorithms", "path"]) -> Entry:
    path = folder / CONFIG
    if not _NAME.fullmatch(folder.name):
        raise UsageError(f"{folder}: an entry's name is letters, digits, `.`, `_` and `-`; rename the folder")
    config = yamlfile.load(path, EntryConfig)
    if track not in config.tracks:
        tracks = ", ".join(config.tracks)
        raise UsageError(f"{path}: the entry is for {tracks}, not for the track {track!r}; add it to `tracks`")
    if not (folder / f"{config.module}.py").is_file() and not (folder / config.module / "__init__.py").is_file():
        raise UsageError(f"{path}: class {config.class_!r} needs a file {config.module}.py in {folder}")
    return Entry(folder.name, track, folder.resolve(), config, source)


def _once(entries: Iterable[Entry]) -> list[Entry]:
    """The entries, each folder once; two folders of one name are an error."""
    by_name: dict[str, Entry] = {}
    for entry in entries:
        other = by_name.setdefault(entry.name, entry)
        if other.folder != entry.folder:
            raise _two_of_one_name(entry.name, other.folder, entry.folder)
    return list(by_name.values())


def _refuse_two_of_one_name(at_paths: Iterable[Entry], folders: Iterable[Path]) -> None:
    by_name = {folder.name: folder for folder in folders}
    for entry in at_paths:
        other = by_name.get(entry.name)
        if other is not None and other.resolve() != entry.folder:
            raise _two_of_one_name(entry.name, other, entry.folder)


def _two_of_one_name(name: str, one: Path, other: Path) -> UsageError:
    return UsageError(f"two entries are called {name!r}: {one} and {other}; rename one of the folders")


def _not_here(name: str, known: Sequence[str], track: str, home: Path) -> UsageError:
    folder = home / "algorithms" / track / name
    if _NAME.fullmatch(name) and folder.is_dir():
        return UsageError(f"{folder}: no entry, there is no {CONFIG} in it")
    return unknown("algorithm", name, known)
