"""Where entries come from: the folders under `algorithms/`, and folders named by their path.

An entry lies in the folder of one track, `algorithms/<track>/<name>/`; its `tracks` may name others that it serves too.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import ann_bench
from ann_bench import yamlfile
from ann_bench.entries.config import EntryConfig
from ann_bench.entries.dialects.convert import entries as converted
from ann_bench.entries.dialects.convert import for_data, foreign
from ann_bench.entries.entry import CONFIG, Entry
from ann_bench.errors import UsageError, unknown

log = logging.getLogger(__name__)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

#: A class that begins so runs in the worker without a file of the entry's: it knows how to run what is in the folder.
ADAPTERS = "ann_bench.adapters."
_ADAPTERS = Path(ann_bench.__file__).parent / "adapters"


def discover(track: str, home: Path) -> list[Entry]:
    """All entries of `home/algorithms/` for this track, by name.

    Hidden folders, folders whose name begins with `_`, and folders without a config.yaml are no entries.
    Raises UsageError at the first config.yaml in the track's own folder that cannot be used.
    """
    return [_load(folder, track, "algorithms") for folder in _folders(track, home)]


def entry_at(path: Path, track: str) -> Entry:
    """The entry in this folder (or the one that this config.yaml belongs to)."""
    return entries_at(path, track)[0]


def resolve(text: str | Path, home: Path, track: str | None = None) -> list[Entry]:
    """The entries that a word of the command line means, each for `track`, or once for every track that it serves.

    A word is what `entries_at` takes, or the name of an entry under `home/algorithms/`. Where both could be meant, the
    folder in this place goes first. Raises UsageError where it means none.
    """
    path = Path(text)
    if len(path.parts) != 1 or ":" in str(text) or (path / CONFIG).is_file() or path.is_file():
        return entries_at(text, track)
    folders = sorted(file.parent for file in (home / "algorithms").glob(f"*/*/{CONFIG}"))
    if track is not None:
        folders = _folders(track, home)
    known = [folder.name for folder in folders]
    if str(text) not in known:
        raise unknown("algorithm", str(text), known)
    return [entry for folder in folders if folder.name == str(text) for entry in _each(folder, track, "algorithms")]


def entries_at(text: str | Path, track: str | None = None) -> list[Entry]:
    """The entries at a place, each for `track`, or once for every track that it serves.

    A place is an entry's folder, or its config.yaml; or the wrapper folder of another benchmark, `bigann:PATH` or
    `annbenchmarks:PATH` (see `ann_bench.entries.dialects.convert.foreign`), which may hold several entries. Raises
    UsageError where there is none.
    """
    if (wanted := foreign(str(text))) is not None:
        return converted(wanted, track)
    path = Path(text)
    folder = (path.parent if path.name == CONFIG else path).resolve()
    if not (folder / CONFIG).is_file():
        raise UsageError(f"{path}: no entry, there is no {CONFIG} in it")
    return _each(folder, track, "path")


@dataclass(frozen=True)
class Data:
    """The data set that entries are chosen for, by its name, and its metric."""

    name: str
    metric: str


def choose(
    track: str, home: Path, names: Sequence[str] = (), paths: Sequence[str | Path] = (), data: Data | None = None
) -> list[Entry]:
    """The entries that a run is to measure, by name.

    Without `names` and `paths`: all of `algorithms/<track>/`. Otherwise those of these names and those at these
    paths, and no other config.yaml is read: a broken one hinders nobody but who asks for it. Of a wrapper folder of
    another benchmark only what is for `data` is taken, where that is known.
    """
    if not names and not paths:
        return discover(track, home)
    folders = _folders(track, home)
    at_paths = _once(entry for path in paths for entry in _at(path, track, data))
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


def _at(path: str | Path, track: str, data: Data | None) -> list[Entry]:
    found = entries_at(path, track)
    return for_data(found, data.name, data.metric) if data is not None and found[0].dialect else found


def _each(folder: Path, track: str | None, source: Literal["algorithms", "path"]) -> list[Entry]:
    """The entry of a folder, once for every track that it serves, or for the one that is asked for."""
    tracks = yamlfile.load(folder / CONFIG, EntryConfig).tracks if track is None else [track]
    return [_load(folder, one, source) for one in tracks]


def _load(folder: Path, track: str, source: Literal["algorithms", "path"]) -> Entry:
    path = folder / CONFIG
    if not _NAME.fullmatch(folder.name):
        raise UsageError(f"{folder}: an entry's name is letters, digits, `.`, `_` and `-`; rename the folder")
    config = yamlfile.load(path, EntryConfig)
    if track not in config.tracks:
        tracks = ", ".join(config.tracks)
        raise UsageError(f"{path}: the entry is for {tracks}, not for the track {track!r}; add it to `tracks`")
    _check_class(path, config)
    return Entry(folder.name, track, folder.resolve(), config, source)


def _check_class(path: Path, config: EntryConfig) -> None:
    """UsageError where no file can hold the class: one of the entry's, or one of the adapters that come with us."""
    folder = path.parent
    if config.class_ is None:
        return  # a program: whether it is there depends on where it is to run
    if config.class_.startswith(ADAPTERS):
        known = sorted(file.stem for file in _ADAPTERS.glob("[a-z]*.py"))
        module = config.class_.removeprefix(ADAPTERS).partition(".")[0]
        if module not in known:
            raise unknown(f"adapter in {path}", module, known)
    elif not (folder / f"{config.module}.py").is_file() and not (folder / config.module / "__init__.py").is_file():
        raise UsageError(f"{path}: class {config.class_!r} needs a file {config.module}.py in {folder}")


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
