"""Writes to the base data, so that the next entry meets another: by every way that leads to its bytes or its name."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from kit import Attempts, Exact, inside_only, libc, scratch, told

MS_REMOUNT, MS_BIND, MS_MOVE = 32, 4096, 8192
PROT_READ_WRITE = 3
PUNCH_A_HOLE = 3
IMMUTABLE = 0x40086602  # FS_IOC_SETFLAGS


class Entry(Exact):
    def fit(self, base: Any, tags: Any = None, learn: Any = None) -> None:
        inside_only()
        super().fit(base, tags, learn)
        self.attempts = Attempts()
        paths = base_files(told("message"))
        for path in paths:
            for name, attack in ATTACKS.items():
                self.attempts.make(f"{name} {path}", attack, path)
        for name, attack in ON_MEMORY.items():
            self.attempts.make(f"{name} of the base", attack, base)
        own = scratch() / "own"
        self.control = sum(works(attack, own) for attack in ATTACKS.values())
        self.files = len(paths)

    def stats(self) -> dict[str, Any]:
        return self.attempts.report(control=self.control, files=self.files)


def works(attack: Callable[[Path], None], own: Path) -> bool:
    """Whether the attack does what it should on a file of its own."""
    own.unlink(missing_ok=True)
    own.write_bytes(bytes(8192))
    try:
        attack(own)
    except Exception:
        return False
    return True


def base_files(message: dict[str, Any]) -> list[Path]:
    """The files of base and tags, as the judge has named them."""
    refs = [message["base"], *message["tags"]["csr"].values()]
    return [Path(ref["path"]) for ref in refs]


def open_for_writing(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"hostile")


def open_to_cut(path: Path) -> None:
    path.open("wb").close()


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"hostile")


def map_for_writing(path: Path) -> None:
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[:7] = b"hostile"


def open_again(path: Path) -> None:
    """Open for reading, then once more for writing through /proc."""
    with path.open("rb") as file, Path(f"/proc/self/fd/{file.fileno()}").open("r+b") as again:
        again.write(b"hostile")


def protect_again(path: Path) -> None:
    """Map for reading, then make the map writable."""
    with path.open("rb") as file:
        size = path.stat().st_size
        call = ctypes.CDLL(None).mmap
        call.restype = ctypes.c_void_p
        call.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        address = call(None, size, 1, mmap.MAP_SHARED, file.fileno(), 0)
    libc("mprotect", ctypes.c_void_p(address), ctypes.c_size_t(size), PROT_READ_WRITE)


def punch(path: Path) -> None:
    with path.open("rb") as file:
        libc("fallocate", file.fileno(), PUNCH_A_HOLE, ctypes.c_long(0), ctypes.c_long(4096))


def replace_it(path: Path) -> None:
    other = scratch() / "other"
    other.write_bytes(b"hostile")
    other.replace(path)


def mount_over(path: Path) -> None:
    libc("mount", b"/etc/hostname", str(path).encode(), None, MS_BIND, None)


def remount(path: Path) -> None:
    libc("mount", None, str(path).encode(), None, MS_REMOUNT | MS_BIND, None)


def move_mount(path: Path) -> None:
    libc("mount", str(path).encode(), b"/scratch/own", None, MS_MOVE, None)


def unmount(path: Path) -> None:
    libc("umount2", str(path).encode(), 2)


def set_flags(path: Path) -> None:
    with path.open("rb") as file:
        fcntl.ioctl(file, IMMUTABLE, b"\x10\x00\x00\x00\x00\x00\x00\x00")


#: Those that need no right but the file's come first: the control shows that each of them works on a file of its own.
ATTACKS: dict[str, Callable[[Path], Any]] = {
    "open r+": open_for_writing,
    "map r+": map_for_writing,
    "np.memmap r+": lambda path: np.memmap(path, dtype=np.uint8, mode="r+").flush(),
    "append": append,
    "open through /proc": open_again,
    "truncate": lambda path: os.truncate(path, 10),
    "chmod": lambda path: path.chmod(0o777),
    "utime": lambda path: os.utime(path, (0, 0)),
    "open w": open_to_cut,
    "rename onto": replace_it,
    "link": lambda path: path.with_name(path.name + "-link").hardlink_to(path),
    "rename": lambda path: path.rename(path.with_name(path.name + "-gone")),
    "unlink": lambda path: path.unlink(),
    "new file beside": lambda path: path.with_name("new").touch(),
    "replace by a link": lambda path: (path.unlink(), path.symlink_to("/etc/passwd")),
    "mprotect": protect_again,
    "punch a hole": punch,
    "chown": lambda path: shutil.chown(path, 65532),
    "chattr": set_flags,
    "xattr": lambda path: os.setxattr(path, "user.hostile", b"1"),
    "remount": remount,
    "mount over": mount_over,
    "move the mount": move_mount,
    "unmount": unmount,
}


def through_own_memory(base: np.ndarray) -> None:
    """/proc/self/mem writes where the page tables say no, but for shared maps."""
    with Path("/proc/self/mem").open("r+b", buffering=0) as memory:
        memory.seek(base.ctypes.data)
        memory.write(b"hostile")


def write_as_a_process(base: np.ndarray) -> None:
    class Vector(ctypes.Structure):
        _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))

    text = ctypes.create_string_buffer(b"hostile")
    here, there = Vector(ctypes.addressof(text), 7), Vector(base.ctypes.data, 7)
    libc("process_vm_writev", os.getpid(), ctypes.byref(here), 1, ctypes.byref(there), 1, 0)


def set_writeable(base: np.ndarray) -> None:
    base.flags.writeable = True
    base[0] = 0


ON_MEMORY: dict[str, Callable[[np.ndarray], None]] = {
    "/proc/self/mem": through_own_memory,
    "process_vm_writev": write_as_a_process,
    "the flags": set_writeable,
}
