"""Leaves the shared folder: links, pipes, devices and other files where the judge expects its own.

The files of each batch are tried while the judge holds them open. Were any of it possible, the judge would write
the next queries into a file of the host, or read a file of the host as answers.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kit import Attempts, Exact, inside_only, scratch, told

VICTIMS = ("/etc/passwd", "/proc/self/environ", "/data/0")


class Entry(Exact):
    def fit(self, base: Any, tags: Any = None, learn: Any = None) -> None:
        inside_only()
        super().fit(base, tags, learn)
        self.attempts = Attempts()
        (scratch() / "own").write_bytes(b"own")

    def query(self, queries: Any, k: int, tags: Any = None) -> Any:
        message = told("message")
        answers, questions = Path(message["answers"]["path"]), Path(message["queries"]["path"])
        wire = Path(told("address"))
        for path in (answers, questions, wire):
            for name, attack in ATTACKS.items():
                self.attempts.make(f"{name}: {path.parent.name}", attack, path)
        self.beside(answers.parent, questions.parent)
        self.swap(answers, questions)
        return self.exact(queries, k, tags)

    def beside(self, *folders: Path) -> None:
        """New names in the folders themselves, and in the one above."""
        for folder in (*folders, folders[0].parent):
            for name, make in NEW.items():
                self.attempts.make(f"{name} in {folder.name}", make, folder / "new")

    def swap(self, answers: Path, questions: Path) -> None:
        self.attempts.make("answers over questions", answers.replace, questions)
        self.attempts.make("questions over answers", questions.replace, answers)
        self.attempts.make("a link from answers to questions", os.link, questions, answers.with_name("linked"))

    def stats(self) -> dict[str, Any]:
        own = scratch() / "own"
        control = 0
        for make in NEW.values():
            own.write_bytes(b"own")
            control += works(make, own.with_name("new"))
        for attack in ATTACKS.values():
            own.unlink(missing_ok=True)
            own.write_bytes(b"own")
            control += works(attack, own)
        return self.attempts.report(control=control)


def works(attack: Callable[[Path], Any], path: Path) -> bool:
    try:
        attack(path)
    except OSError:
        return False
    return True


def listen(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(path))


NEW: dict[str, Callable[[Path], Any]] = {
    "a new file": lambda path: path.write_bytes(b"hostile"),
    "a link to a file of the host": lambda path: path.with_name("link").symlink_to(VICTIMS[0]),
    "a hard link": lambda path: os.link(scratch() / "own", path.with_name("hard")),
    "a pipe": lambda path: os.mkfifo(path.with_name("pipe")),
    "a socket": lambda path: listen(path.with_name("socket")),
    "a folder": lambda path: path.with_name("folder").mkdir(),
    "a block device": lambda path: os.mknod(path.with_name("block"), stat.S_IFBLK | 0o666, os.makedev(8, 0)),
    "a character device": lambda path: os.mknod(path.with_name("character"), stat.S_IFCHR | 0o666, os.makedev(1, 1)),
}

ATTACKS: dict[str, Callable[[Path], Any]] = {
    "rename": lambda path: path.rename(path.with_name("renamed")),
    "remove": lambda path: path.unlink(),
    "remove and link": lambda path: (path.unlink(), path.symlink_to(VICTIMS[1])),
    "link over": lambda path: other_link(path).replace(path),
    "pipe over": lambda path: other_pipe(path).replace(path),
    "chmod": lambda path: path.chmod(0o777),
    "chown": lambda path: os.chown(path, 0, 0),
}


def other_link(path: Path) -> Path:
    link = path.with_name("other-link")
    link.symlink_to(VICTIMS[2])
    return link


def other_pipe(path: Path) -> Path:
    pipe = path.with_name("other-pipe")
    os.mkfifo(pipe)
    return pipe
