"""The folder of a site: it takes its place whole, and takes the place of nothing but a site."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ann_bench.errors import StorageError, UsageError
from ann_bench.results.atomic import storage_error
from ann_bench.results.store import STALE_SECONDS

#: The file by which a site is known; it names all the others and what they were made from.
MARK = "ann-bench-site.json"


def mark_of(folder: Path) -> dict[str, Any] | None:
    """What the mark of a site says; None where this is no site."""
    with contextlib.suppress(OSError, ValueError):
        mark = json.loads((folder / MARK).read_text(encoding="utf-8"))
        if isinstance(mark, dict) and isinstance(mark.get("files"), dict):
            return mark
    return None


def is_whole(folder: Path, mark: Mapping[str, Any]) -> bool:
    """Whether every file that the mark names is there, as long as it should be."""
    try:
        return all((folder / name).stat().st_size == size for name, size in mark["files"].items())
    except OSError:
        return False


def check_place(folder: Path) -> None:
    """UsageError where a site must not go: onto a file, or into a folder that holds anything that is no part of one."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file; name a folder that is new, empty, or a site of ann-bench")
    mark = mark_of(folder)
    ours = {MARK, *mark["files"]} if mark else set()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name not in ours and not (path.is_dir() and any(one.startswith(f"{name}/") for one in ours)):
            raise UsageError(f"{folder} holds {name}, which is no part of a site; name a new folder, or empty this one")


def replace(folder: Path, files: Mapping[str, bytes | Path], stamp: Mapping[str, Any]) -> None:
    """Write a site: `files` (bytes, or a file to copy) by their paths in it, and the mark with `stamp`.

    All is written beside the folder first and then takes its name, so that a site is the old one or the new one.
    Raises UsageError as `check_place`, StorageError where it cannot be written.
    """
    folder = folder.resolve()
    beside = folder.parent / f".{folder.name}.{os.getpid()}-{secrets.token_hex(4)}"
    new, old = beside.with_name(f"{beside.name}.new"), beside.with_name(f"{beside.name}.old")
    try:
        sizes = {name: _write(new / name, content) for name, content in files.items()}
        mark = json.dumps({**stamp, "files": sizes}, indent=1, sort_keys=True)
        _write(new / MARK, mark.encode())
        check_place(folder)  # something may have come while this one was made
        _swap(new, folder, old)
        _sweep(folder)
    except OSError as error:
        raise storage_error(folder, error) from error
    finally:
        shutil.rmtree(new, ignore_errors=True)
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)


def _sweep(folder: Path) -> None:
    """Remove what killed processes left beside a site more than a day ago."""
    limit = time.time() - STALE_SECONDS
    for path in folder.parent.glob(f".{glob.escape(folder.name)}.*-*"):
        if re.fullmatch(r"\d+-[0-9a-f]{8}\.(new|old)", path.name.removeprefix(f".{folder.name}.")):
            with contextlib.suppress(OSError):  # another process may sweep at the same time
                if path.stat().st_mtime < limit:
                    shutil.rmtree(path, ignore_errors=True)


def _write(path: Path, content: bytes | Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, Path):
        shutil.copyfile(content, path)
    else:
        path.write_bytes(content)
    return path.stat().st_size


def _swap(new: Path, folder: Path, old: Path) -> None:
    """Give `new` the name of `folder`; what stood there goes to `old`, and back where this fails."""
    if not folder.exists():
        new.rename(folder)
        return
    try:
        folder.rename(old)
    except OSError as error:
        raise StorageError(f"{folder}: cannot be replaced ({error.strerror}); name a folder within it") from error
    try:
        new.rename(folder)
    except BaseException:
        old.rename(folder)
        raise
