"""What the hostile entries share. The test copies it into the folder of each, as `exact.py` beside it.

It is written for the inside of a container: numpy, scipy and the standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from exact import Entry as Exact

__all__ = [
    "OWN",
    "Attempts",
    "Exact",
    "in_a_container",
    "inside_only",
    "libc",
    "mounts",
    "own_files",
    "places",
    "scratch",
    "told",
    "why",
]

#: Whom a container runs as; no process of a machine is called so.
_NOBODY = 65532
#: Where the container's mounts are not worth a look: files of the kernel without an end, or without a meaning here.
_SKIPPED = ("/proc", "/sys", "/dev")
#: What an entry may write to, and what every process of it has: nothing that is found there was the judge's.
OWN = ("/scratch", "/tmp", "/dev/shm", "/dev/mqueue")


def in_a_container() -> bool:
    """Whether this process runs where it can harm nobody."""
    return os.getuid() == _NOBODY


def inside_only() -> None:
    """Refuse to attack a machine that has no container around the entry."""
    if not in_a_container():
        raise RuntimeError("this entry attacks in a container only")


def why(error: BaseException) -> str:
    """The reason in a word."""
    return getattr(error, "strerror", None) or type(error).__name__


class Attempts:
    """Counts what was tried, and keeps what was reached."""

    def __init__(self) -> None:
        self.tried = 0
        self.reached: list[str] = []
        self.refused: dict[str, str] = {}

    def make(self, name: str, call: Callable[..., Any], *args: Any) -> Any:
        """Try once: what the call returns, or None where it was refused."""
        self.tried += 1
        try:
            result = call(*args)
        except Exception as error:
            self.refused[name] = why(error)
            return None
        self.reached.append(name)
        return result

    def report(self, **more: Any) -> dict[str, Any]:
        """As `stats()` takes it."""
        return {
            "tried": self.tried,
            "blocked": self.tried - len(self.reached),
            "reached": "\n".join(self.reached)[:4000],
            "refused": "\n".join(f"{name}: {reason}" for name, reason in self.refused.items())[:12000],
            **more,
        }


def told(name: str) -> Any:
    """A local variable of the worker that called the entry, read from its frames; None where there is none."""
    for frame in inspect.stack()[1:]:
        local = frame.frame.f_locals
        if "worker" in frame.filename and name in local:
            return local[name]
    return None


_LIBC = ctypes.CDLL(None, use_errno=True)


def libc(name: str, *args: Any) -> int:
    """Call a function of the C library; OSError where it says no."""
    call = getattr(_LIBC, name)
    call.restype = ctypes.c_long if name == "syscall" else ctypes.c_int
    result = int(call(*args))
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def scratch() -> Path:
    """A folder that it may write to, so that an attack can be tried where it must work."""
    folders = (os.environ.get("TMPDIR", "/tmp"), *OWN)
    return next(Path(folder) for folder in folders if os.access(folder, os.W_OK))


def mounts() -> Iterator[tuple[str, str]]:
    """What this process can read of its mounts: paths outside, and where they are inside."""
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        words = line.split()
        yield words[3], words[4]


def places(root: str = "/") -> Iterator[tuple[Path, list[str]]]:
    """Every folder that can be seen, with its files; those of the kernel only where `root` is one of them."""
    for folder, folders, files in os.walk(root, onerror=lambda _: None):
        if root == "/":
            folders[:] = [name for name in folders if not str(Path(folder) / name).startswith(_SKIPPED)]
        yield Path(folder), files


def own_files() -> Iterator[tuple[int, str]]:
    """The open files of this process, and where they lead."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208  numbers, not paths
        with contextlib.suppress(OSError):
            yield int(name), str(Path(f"/proc/self/fd/{name}").readlink())
