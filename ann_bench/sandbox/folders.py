"""Temporary folders of a run: on a RAM disk or not, named after their judge, so that an abandoned one can be told."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import psutil

from ann_bench.errors import StorageError

#: Folders are called this, then the process id of the judge, then something random.
PREFIX = "ann-bench-"

_RAM = Path("/dev/shm")  # noqa: S108  folders of our own are made in it


def scratch_folder() -> Path:
    """A new folder on disk; StorageError where there is no room."""
    return _folder(None)


def ram_folder() -> Path:
    """A new folder on the RAM disk, where this machine has one."""
    return _folder(_RAM if os.access(_RAM, os.W_OK) else None)


def abandoned() -> list[Path]:
    """The folders that judges which are no more have left behind."""
    places = {_RAM, Path(tempfile.gettempdir())}
    found = [path for place in places if place.is_dir() for path in place.glob(f"{PREFIX}*-*") if path.is_dir()]
    return sorted(path for path in found if _judge_is_gone(path))


def _judge_is_gone(path: Path) -> bool:
    pid = path.name.removeprefix(PREFIX).partition("-")[0]
    return pid.isdigit() and not psutil.pid_exists(int(pid))


def _folder(parent: Path | None) -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent))
    except OSError as error:
        where = parent or tempfile.gettempdir()
        raise StorageError(f"{where}: no temporary folder can be made ({error.strerror}); free some space") from error
