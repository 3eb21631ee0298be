"""Files that are there whole or not at all, made once however many processes ask for them."""

from __future__ import annotations

import errno
import fcntl
import glob
import json
import logging
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ann_bench.errors import StorageError

log = logging.getLogger(__name__)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn the system's errors while `path` is written into a StorageError of one line."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = "free some space" if full else "check the folder and its rights"
        where = error.filename or path
        raise StorageError(f"{where}: cannot be written ({error.strerror or error}): {advice}") from error


@contextmanager
def atomic(path: Path) -> Iterator[IO[bytes]]:
    """A file to write into that appears as `path` when the block ends, and leaves nothing where it fails.

    Raises StorageError where it cannot be written.
    """
    temporary = path.with_name(f"{_temporary(path)}{os.getpid()}.{secrets.token_hex(4)}.tmp")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("x+b") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(path)
            sync_folder(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


def _temporary(path: Path) -> str:
    return f".{path.name[-150:]}."


def clear_stale(path: Path) -> None:
    """Remove what makers of `path` left that were killed; for the holder of its lock."""
    for stale in path.parent.glob(f"{glob.escape(_temporary(path))}*.tmp"):
        stale.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make renames in `folder` survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold `path` alone among all processes; the lock ends with its holder, however that ends.

    The lock is a file beside it, `<path>.lock`, which stays: to remove it would let two holders in.
    """
    beside = path.with_name(path.name + ".lock")
    with writing(beside):
        beside.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.info("%s: waiting for another process that is making it", path)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def identity(path: Path) -> list[int]:
    """Size, time of change in nanoseconds and inode of a file: when these stay, its content has stayed."""
    stat = path.stat()
    return [stat.st_size, stat.st_mtime_ns, stat.st_ino]


def read_json(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file of ours; None where there is none or it is damaged."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Replace a JSON file at once."""
    with atomic(path) as stream:
        stream.write(json.dumps(value, indent=1, sort_keys=True).encode() + b"\n")


def derived(source: Path, target: Path, build: Callable[[Path], None]) -> Path:
    """`target`, which `build(target)` makes out of the file `source`: once, and again where `source` has changed.

    `build` must write atomically. A note beside the target keeps the identity of the source.
    """
    note = target.with_name(target.name + ".from")

    def fresh() -> bool:
        return target.exists() and read_json(note) == {"source": identity(source)}

    if not fresh():
        with lock(target):
            if not fresh():
                clear_stale(target)
                note.unlink(missing_ok=True)
                build(target)
                write_json(note, {"source": identity(source)})
    return target


def check_space(folder: Path, needed: int, what: str) -> None:
    """Raise StorageError where the disk under `folder` has fewer than `needed` bytes left for `what`."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
    if needed > free:
        raise StorageError(
            f"{folder}: {what} needs {needed:,} bytes and the disk has {free:,} left: "
            "free some space or let ANN_BENCH_CACHE name a folder on another disk"
        )
