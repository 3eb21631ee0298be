"""Write a bundle once, sealed; read it back only if no byte of it has changed.

The seal is a trailer behind the HDF5 data: a magic word and the SHA-256 of all bytes before the trailer.
HDF5 takes no notice of bytes behind its end, so that any HDF5 reader opens a sealed file.
"""

from __future__ import annotations

import hashlib
import io
import re
import stat
from pathlib import Path

import h5py

from ann_bench.errors import ResultError
from ann_bench.results import layout
from ann_bench.results.atomic import write_atomically
from ann_bench.results.model import Bundle, Identity

MAGIC = b"ANNSEAL1"
SEAL_BYTES = len(MAGIC) + hashlib.sha256().digest_size
SUFFIX = ".h5"

_BLOCK = 1 << 20


def bundle_path(folder: Path, identity: Identity) -> Path:
    """Where the bundle lies in a results folder: `<track>/<dataset>/<algorithm>/<key>.h5`.

    The folders are for people; names that a file system cannot hold are altered there, and only the key counts.
    """
    names = (_safe(str(identity[name])) for name in ("track", "dataset", "algorithm"))
    return folder.joinpath(*names, identity.key + SUFFIX)


def write(bundle: Bundle, folder: Path) -> Path:
    """Write the bundle into the results folder and return its path.

    It takes its name in one step when it is whole and synced. The same bundle written twice, even at once,
    gives the same file. Raises StorageError where the folder cannot be written or the disk is full.
    """
    path = bundle_path(folder, bundle.identity)
    image = _image(bundle)
    write_atomically(path, (image, MAGIC, hashlib.sha256(image).digest()))
    return path


def read(path: Path, *, answers: bool = True) -> Bundle:
    """The bundle in a file, after its seal was checked; the file is opened for reading only.

    Without `answers` the ids are left out of the bundle (the seal still covers them): figures need none.
    Raises ResultError, which names the file, where a byte was changed, added or lost, or the file is no bundle.
    """
    check_seal(path)
    try:
        # no lock: the file never changes, and many file systems of clusters have none
        with h5py.File(path, "r", locking=False) as file:
            bundle = layout.take(file, answers=answers)
    except (OSError, RuntimeError) as error:
        raise ResultError(f"{path}: is no HDF5 file that can be read ({error})") from error
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ResultError(f"{path}: {_reason(error)}") from error
    return bundle


def check_seal(path: Path) -> None:
    """Raise ResultError unless the file is sealed and every byte of it is as it was written."""
    digest = hashlib.sha256()
    check_file(path)
    try:
        with path.open("rb") as file:
            rest = path.stat().st_size - SEAL_BYTES
            while rest > 0 and (block := file.read(min(rest, _BLOCK))):
                digest.update(block)
                rest -= len(block)
            seal = file.read()
    except OSError as error:
        raise ResultError(f"{path}: cannot be read ({error.strerror})") from error
    if len(seal) != SEAL_BYTES or not seal.startswith(MAGIC):
        raise ResultError(f"{path}: has no seal: it was cut short, or ann-bench did not write it")
    if seal[len(MAGIC) :] != digest.digest():
        raise ResultError(f"{path}: was changed after it was written (its bytes do not match its seal)")


def check_file(path: Path) -> None:
    """Raise ResultError where there is no file to read: a folder of that name, a link that leads nowhere, a pipe."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            next(path.iterdir(), None)
    except OSError as error:
        reason = "a link that leads nowhere" if path.is_symlink() else error.strerror
        raise ResultError(f"{path}: cannot be read ({reason})") from error
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a device or a pipe"
        raise ResultError(f"{path}: cannot be read (it is {kind}, not a file)")


def _image(bundle: Bundle) -> memoryview:
    """The bytes of the HDF5 file, made in memory, once: what can fail on disk is one plain write."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", libver=("earliest", "v108")) as file:
        layout.fill(file, bundle)
    return buffer.getbuffer()


def _safe(name: str) -> str:
    """A name that every file system takes."""
    plain = re.sub(r"[^A-Za-z0-9._+=-]", "_", name).lstrip(".")[:80]
    return plain or "_"


def _reason(error: Exception) -> str:
    text = str(error.args[0]) if error.args else type(error).__name__
    return f"does not hold what a bundle holds: {text}" if not isinstance(error, ValueError) else text
