"""Where virtual environments lie, what their names depend on, and which of them are whole."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil
from packaging.utils import canonicalize_name

from ann_bench.datasets.cache import cache_root
from ann_bench.entries.entry import Entry
from ann_bench.entries.pins import applying, to_install, unpinned
from ann_bench.errors import StorageError

#: What the worker needs beside the entry's own requirements, in the oldest versions that it was seen to run on.
ALWAYS = ("numpy>=1.25", "scipy>=1.11")

#: Written last: an environment without it is half made.
RECORD = "ann-bench.json"

_KEY_DIGITS = 16


@dataclass(frozen=True)
class VirtualEnvironment:
    """A whole environment: its key, its folder, its Python, and the folders in which its packages lie."""

    key: str
    folder: Path
    python: Path
    paths: tuple[str, ...]

    def packages(self) -> dict[str, str]:
        """The versions of all distributions in it, by their normalised names."""
        found: dict[str, str] = {}
        for one in metadata.distributions(path=list(self.paths)):
            name, version = one.metadata["Name"], one.version
            if name and version:
                found.setdefault(canonicalize_name(name), version)
        return dict(sorted(found.items()))

    def versions(self, names: Iterable[str]) -> dict[str, str]:
        """The versions of these packages, under the names that they are asked for by."""
        there = self.packages()
        return {name: there[canonicalize_name(name)] for name in names if canonicalize_name(name) in there}


def environments_root() -> Path:
    """The folder of all environments; its name is none that a data set can have."""
    return cache_root() / ".environments"


def wheel_store() -> Path:
    """The wheels of all environments, downloaded or compiled once."""
    return cache_root() / ".wheels"


def needs_of(entry: Entry) -> list[str]:
    """What pip is asked for: `requires` and `pins`, as far as they are for this Python, and what the worker needs.

    In this order: pip gives way with what it was asked for last, and takes an older numpy before an older library.
    """
    config = entry.config
    return [*map(str, applying(to_install(config.requires, config.pins))), *unpinned(ALWAYS, config.pins)]


def key_of(entry: Entry) -> str:
    """The hash over all that the entry's environment depends on."""
    parts = [
        needs_of(entry),
        platform.python_version(),
        sys.implementation.name,
        sysconfig.get_platform(),
        sys.base_prefix,
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_KEY_DIGITS]


def find(entry: Entry) -> VirtualEnvironment | None:
    """The entry's environment; None where there is none that is whole. The newest, where there are several."""
    found = [one for folder in environments_root().glob(f"{key_of(entry)}-*") if (one := _read(folder)) is not None]
    return max(found, key=lambda one: _made(one.folder), default=None)


def new_folder(key: str) -> Path:
    """An empty folder for an environment of this key, named after this process; StorageError where that cannot be."""
    root = environments_root()
    try:
        root.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f"{key}-{os.getpid()}-", dir=root))
    except OSError as error:
        raise StorageError(
            f"{root}: no environment can be made there ({error.strerror}); see ANN_BENCH_CACHE"
        ) from error


def record(folder: Path, contents: dict[str, Any]) -> None:
    """Say that the environment in this folder is whole."""
    written = folder / f"{RECORD}.new"
    written.write_text(json.dumps(contents, indent=2) + "\n", encoding="utf-8")
    written.replace(folder / RECORD)


def folders() -> list[Path]:
    """Every environment, whole or not."""
    root = environments_root()
    return sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []


def abandoned() -> list[Path]:
    """Half-made environments whose maker is no more."""
    return [path for path in folders() if not (path / RECORD).is_file() and not in_use(path)]


def being_made(folder: Path) -> bool:
    """Whether the process that began this environment may still be at it."""
    pid = folder.name.split("-")[1:2]
    return not (folder / RECORD).is_file() and bool(pid) and pid[0].isdigit() and psutil.pid_exists(int(pid[0]))


def in_use(folder: Path) -> str:
    """Why an environment must not be removed now; empty where it may."""
    if being_made(folder):
        return "it is being made"
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            command = process.cmdline()
            if command and Path(command[0]).is_relative_to(folder):
                return f"process {process.pid} runs on it"
    return ""


def python_in(folder: Path) -> Path:
    """Where an environment has its Python."""
    return folder / "bin" / "python"


def _read(folder: Path) -> VirtualEnvironment | None:
    try:
        contents = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        paths = tuple(str(path) for path in contents["paths"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    python = python_in(folder)
    # A link to a Python that is gone leads nowhere.
    if not python.exists() or not all(Path(path).is_relative_to(folder) for path in paths):
        return None
    return VirtualEnvironment(folder.name.split("-")[0], folder, python, paths)


def _made(folder: Path) -> float:
    try:
        return (folder / RECORD).stat().st_mtime
    except OSError:
        return 0.0
