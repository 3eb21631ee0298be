"""What `A` and `B` of a comparison mean: an entry by name or place, a git revision of its folder, a results folder."""

from __future__ import annotations

import io
import subprocess
import tarfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ann_bench.entries.discovery import resolve
from ann_bench.entries.entry import CONFIG, Entry, entry_hash
from ann_bench.errors import UsageError
from ann_bench.results.bundle import SUFFIX


def is_results(word: str) -> bool:
    """Whether a word names a folder of results."""
    path = Path(word)
    return path.is_dir() and not (path / CONFIG).is_file() and any(path.rglob(f"*{SUFFIX}"))


def entries_of(word: str, home: Path, track: str | None, stack: ExitStack) -> list[Entry]:
    """The entry that a word means, once for every track that it serves (or for `track`).

    `PATH@REVISION` is the folder as it was in that revision of its git repository, read into a temporary folder that
    lasts as long as `stack`. UsageError where the word means none.
    """
    path, at, revision = word.rpartition("@")
    if at and ":" not in word and not Path(word).exists() and Path(path).is_dir():
        return resolve(_checked_out(Path(path), revision, stack), home, track)
    return resolve(word, home, track)


def apart(a: Entry, b: Entry) -> tuple[Entry, Entry]:
    """Both under names of their own, where they are two versions of one: an image goes by the name of its entry."""
    if a.name == b.name and entry_hash(a) != entry_hash(b):
        return replace(a, name=f"{a.name}-a"), b
    return a, b


def _checked_out(folder: Path, revision: str, stack: ExitStack) -> Path:
    """The folder as it was in a revision."""
    place = Path(stack.enter_context(TemporaryDirectory(prefix="ann-bench-revision-"))) / folder.resolve().name
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "archive", "--format=tar", "--end-of-options", revision, "."],
            capture_output=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise UsageError(f"{folder}@{revision}: git is not here; install it") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UsageError(
            f"{folder}@{revision}: git has no such folder there ({said[-1] if said else 'it said nothing'})"
        )
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(place, filter="data")
    if not (place / CONFIG).is_file():
        raise UsageError(f"{folder}@{revision}: no entry, there is no {CONFIG} in it at that revision")
    return place
