"""Files that appear under their name whole, or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import time
from collections.abc import Iterable
from pathlib import Path

from ann_bench.errors import StorageError

_HINTS = {
    errno.ENOSPC: "the disk is full; free some space and run it again, what was finished is kept",
    errno.EDQUOT: "the disk quota is used up; free some space and run it again, what was finished is kept",
    errno.EFBIG: "the file would be larger than this system allows; see `ulimit -f`",
    errno.EACCES: "no permission to write there; choose another folder or change its owner",
    errno.EPERM: "no permission to write there; choose another folder or change its owner",
    errno.EROFS: "this file system is read-only; choose another folder",
    errno.ENOTDIR: "a part of this path is a file, not a folder; choose another folder",
    errno.EEXIST: "a file stands where the folder should be; choose another folder",
    errno.EISDIR: "a folder stands where the file should be; choose another name",
}

_PREFIX, _SUFFIX = ".", ".part"


def write_atomically(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Write the parts, one after the other, to `path`; folders on the way are made.

    The bytes go to a temporary file in the same folder, are synced, and take the name in one step: a reader
    sees the old file or the new one, whatever happens in between. The temporary file goes away with any
    exception (Ctrl-C included). Raises StorageError, which says what to do, where this cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.parent / f"{_PREFIX}{path.name[:100]}.{os.getpid()}-{secrets.token_hex(4)}{_SUFFIX}"
        try:
            with temporary.open("xb") as file:
                for part in parts:
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
    except OSError as error:
        raise storage_error(path, error) from error


def storage_error(path: Path, error: OSError) -> StorageError:
    """The one line for a file or folder that the system refuses to write."""
    hint = _HINTS.get(error.errno or 0, f"{error.strerror or error}; choose another folder")
    return StorageError(f"{path}: cannot be written: {hint}")


def is_temporary(path: Path) -> bool:
    """Whether this is the name of a file that `write_atomically` had not finished."""
    return path.name.startswith(_PREFIX) and path.name.endswith(_SUFFIX)


def sweep(paths: Iterable[Path], older_than_seconds: float) -> None:
    """Remove the temporary files among `paths` that killed processes left behind.

    Younger ones may belong to somebody who is writing at this moment.
    """
    limit = time.time() - older_than_seconds
    for path in paths:
        if is_temporary(path):
            with contextlib.suppress(OSError):  # another process may sweep at the same time
                if path.stat().st_mtime < limit:
                    path.unlink()


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems cannot sync a folder
            raise
    finally:
        os.close(descriptor)
