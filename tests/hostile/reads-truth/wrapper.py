"""Looks for what it must not see: truth, queries, results and settings of the judge, wherever it can guess them.

It walks the whole container, follows /proc of every process, tries the paths of the host that its mounts give away, and
searches all that it can read: for a word that the test has left beside the judge's files, and, once it knows them, for
the queries and the answers themselves.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from kit import Attempts, Exact, in_a_container, libc, mounts, own_files, places, scratch

#: In two pieces, so that this file is not found itself.
WORD = b"ann-bench-" + b"canary"
MOST = 64 << 20
GUESSES = ("datasets/cache", "cache", "truth", "results", "..", "../..", "../cache", "../data", "../results")


class Entry(Exact):
    def fit(self, base: Any, tags: Any = None, learn: Any = None) -> None:
        super().fit(base, tags, learn)
        self.needles = {"the word": WORD}
        self.attempts = Attempts()
        self.read = 0
        self.mapped = [line.split(maxsplit=5)[5] for line in lines("/proc/self/maps")]

    def query(self, queries: Any, k: int, tags: Any = None) -> Any:
        answers = self.exact(queries, k, tags)
        if "a query" in self.needles:  # a later batch may be one that is in no file
            return answers
        full = next(i for i in range(len(answers)) if answers[i].min() >= 0)
        self.needles["a query"] = np.ascontiguousarray(queries[full]).tobytes()
        self.needles["true answers"] = answers[full].astype("<i4").tobytes()
        self.needles["wide true answers"] = answers[full].astype("<i8").tobytes()
        return answers

    def stats(self) -> dict[str, Any]:
        self.search()
        return self.attempts.report(read=self.read, control=self.control())

    def control(self) -> bool:
        """Whether this search finds what there is to find, in a place that is its own."""
        own = scratch() / "known"
        own.write_bytes(b"." * 1000 + self.needles["true answers"])
        mine = Attempts()
        self.look(own, mine)
        own.unlink()
        return len(mine.reached) == 1

    def search(self) -> None:
        for path in self.paths():
            self.look(path, self.attempts)
        self.attempts.make("a handle of the host's root", root_by_handle)

    def paths(self) -> Iterator[Path]:
        yield from self.guesses()
        if in_a_container():  # elsewhere this would read the whole machine
            yield from self.of_processes()
            for folder, files in places():
                yield from (folder / name for name in files)
            yield from (path for path in Path("/dev").rglob("*"))
            yield from (Path("/proc/self/environ"), Path("/proc/kcore"))

    def of_processes(self) -> Iterator[Path]:
        for folder in sorted(Path("/proc").glob("[0-9]*")):
            if folder.name == str(os.getpid()):
                continue
            yield from (folder / name for name in ("environ", "cmdline", "maps", "mountinfo", "cgroup", "mem"))
            for link in (folder / "root", folder / "cwd"):
                with contextlib.suppress(OSError):
                    yield from islice((path for path in link.iterdir() if path.is_file()), 200)
            with contextlib.suppress(OSError):
                yield from (folder / "fd").iterdir()

    def guesses(self) -> Iterator[Path]:
        """Folders that the environment, the mounts, open files and maps name, and what may lie around them."""
        named = [value for name, value in os.environ.items() if name.startswith("ANN_BENCH")]
        named += [path for pair in mounts() for path in pair]
        named += [path for _, path in own_files()]
        named += self.mapped
        folders = {Path(path) for path in named if path.startswith("/")}
        folders |= {folder / guess for folder in set(folders) for guess in GUESSES if folder != Path("/")}
        folders |= {folder.parent for folder in set(folders)}
        around = "/" if in_a_container() else self.build["around"]
        for folder in sorted(folder for folder in folders if str(folder).startswith(around)):
            with contextlib.suppress(OSError):
                yield from islice((path for path in folder.iterdir()), 200)

    def look(self, path: Path, attempts: Attempts) -> None:
        """Search one file."""

        def found() -> str:
            data = content(path)
            self.read += len(data)
            return ", ".join(name for name, needle in self.needles.items() if needle in data)

        with contextlib.suppress(OSError):
            if not stat.S_ISREG(path.stat().st_mode):
                return
        attempts.tried += 1
        with contextlib.suppress(OSError, ValueError):
            what = found()
            if what:
                attempts.reached.append(f"{what}: {path}")


def content(path: Path) -> bytes:
    if str(path.resolve()).startswith(("/proc/kmsg", "/dev/pts")):
        return b""
    with path.open("rb") as file:
        return file.read(MOST)


def lines(path: str) -> list[str]:
    return [line for line in Path(path).read_text(encoding="utf-8").splitlines() if len(line.split()) > 5]


def root_by_handle() -> None:
    """The old way out of containers: a file handle names an inode of the host's own file system."""

    class Handle(ctypes.Structure):
        _fields_ = (("size", ctypes.c_uint), ("kind", ctypes.c_int), ("inode", ctypes.c_ubyte * 8))

    if not in_a_container():
        raise PermissionError("not here")
    root = Handle(8, 1, (ctypes.c_ubyte * 8)(2))
    for path in ("/etc/hosts", "/etc/hostname", "/data/0"):
        file = os.open(path, os.O_RDONLY)
        try:
            libc("open_by_handle_at", file, ctypes.byref(root), os.O_RDONLY)
        finally:
            os.close(file)
