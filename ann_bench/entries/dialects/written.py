"""A converted wrapper as a folder of its own: a native entry that whoever brought it can complete."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import yaml

from ann_bench.entries.config import EntryConfig
from ann_bench.entries.entry import CONFIG, Entry, files
from ann_bench.errors import StorageError, UsageError

#: What the other benchmark's Dockerfile is called here: it begins from an image that is not ours.
THEIR_DOCKERFILE = "Dockerfile.theirs"

_HEAD = """\
# Made by `ann-bench convert` of {place}.
# The class runs their wrapper as it is; `arguments` may hold @metric and @dimension, @count, @nan and @inf.
# Look over: requires (what pip installs), open_source, description, tracks; data sets of your own need a key of their
# own below `build` and `query`, or `default`.
"""


def write(entries: Sequence[Entry], out: Path) -> list[Path]:
    """Write each entry into a folder of its name below `out`; returns the folders.

    Raises UsageError where one is there already, and then writes none; StorageError where it cannot be written.
    """
    unique = {entry.name: entry for entry in entries}
    folders = [out / name for name in unique]
    if taken := [folder for folder in folders if folder.exists()]:
        raise UsageError(f"{taken[0]} is there already; name another folder with --out, or remove it")
    try:
        out.mkdir(parents=True, exist_ok=True)
        for entry, folder in zip(unique.values(), folders, strict=True):
            with tempfile.TemporaryDirectory(prefix=".converting-", dir=out) as made:
                _fill(entry, Path(made) / "entry")
                (Path(made) / "entry").rename(folder)
    except OSError as error:
        raise StorageError(f"{error.filename or out}: cannot be written ({error.strerror})") from error
    return folders


def _fill(entry: Entry, folder: Path) -> None:
    folder.mkdir()
    for name, path in files(replace(entry, dialect="")):
        target = folder / (THEIR_DOCKERFILE if name == "Dockerfile" else name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        target.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
    readme = entry.folder / "README.md"
    if readme.is_file():
        shutil.copyfile(readme, folder / "README.md")
    (folder / CONFIG).write_text(_HEAD.format(place=entry.place) + text(entry.config), encoding="utf-8")


def text(config: EntryConfig) -> str:
    """A config as YAML, without what is the default anyway."""
    value = config.model_dump(by_alias=True, mode="json", exclude_defaults=True)
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)
