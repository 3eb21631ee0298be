"""Writes into results, into its own folder, into the code of the harness, and wherever else it can make or open a file.

It tries every folder and every file of the container, and the paths of the host that it can guess. What it reports as
reached must be its own scratch and nothing else.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kit import OWN, Attempts, Exact, inside_only, mounts, places

import ann_bench

GUESSES = ("results", "plots", "datasets/cache", "truth")
NUMBERS = {f"/proc/{name}/" for name in os.listdir("/proc") if name.isdigit()}  # noqa: PTH208
KERNEL = ("/proc/sys", "/sys/fs/cgroup", "/sys/kernel", "/dev")


class Entry(Exact):
    def fit(self, base: Any, tags: Any = None, learn: Any = None) -> None:
        inside_only()
        super().fit(base, tags, learn)
        self.attempts = Attempts()
        self.own = Attempts()
        for folder in self.folders():
            at = self.own if str(folder).startswith(OWN) else self.attempts
            at.make(f"new file in {folder}", make_file, folder)
            at.make(f"new folder in {folder}", make_folder, folder)
        for path in self.files():
            at = self.own if str(path).startswith(OWN) else self.attempts
            at.make(f"open {path}", open_for_writing, path)
        self.named()

    def named(self) -> None:
        """The places that matter most, by name."""
        code = Path(ann_bench.__file__).parent
        for path in (Path(__file__), code / "wire.py", code / "worker" / "serve.py", Path(os.__file__)):
            self.attempts.make(f"append to {path}", append, path)
            self.attempts.make(f"chmod {path}", path.chmod, 0o777)
            self.attempts.make(f"remove {path}", path.unlink)
            self.attempts.make(f"rename {path}", path.rename, path.with_suffix(".old"))

    def folders(self) -> Iterator[Path]:
        seen = [folder for folder, _ in places()]
        guesses = [Path(path) for outside, _ in mounts() for path in (outside, str(Path(outside).parent))]
        guesses += [folder / name for folder in (*guesses, Path(__file__).parent, Path.cwd()) for name in GUESSES]
        kernel = [folder for root in KERNEL for folder, _ in places(root)]
        yield from sorted({*seen, *guesses, *kernel, Path("/proc"), Path("/sys")})

    def files(self) -> Iterator[Path]:
        for folder, names in places():
            yield from (folder / name for name in names)
        for root in KERNEL:
            for folder, names in places(root):
                yield from (folder / name for name in names if folder != Path("/dev/shm"))

    def stats(self) -> dict[str, Any]:
        return self.attempts.report(own=len(self.own.reached))


def make_file(folder: Path) -> None:
    path = folder / "hostile"
    path.write_bytes(b"hostile")


def make_folder(folder: Path) -> None:
    path = folder / "hostile-folder"
    path.mkdir()
    path.rmdir()


def open_for_writing(path: Path) -> None:
    """Without a write: some of these files would do what they are told."""
    kind = path.lstat().st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISBLK(kind)):
        raise OSError(0, "no file")
    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"\n# hostile\n")
