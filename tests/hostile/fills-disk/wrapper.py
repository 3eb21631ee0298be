"""Fills every disk that it can write to, one after the other, and the file of the answers, with bytes and with names.

`how` says with what. Everything that a container may write to lies in its own memory, so all of it ends
at that limit.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from kit import OWN, Attempts, Exact, inside_only, places, told

BLOCK = bytes(2**20)
#: Were the sandbox open, this is where the harm would end.
MOST_MEGABYTES = 1024
MOST_NAMES = 400_000


class Entry(Exact):
    def set_query_arguments(self, how: str) -> None:
        self.how = how

    def query(self, queries: Any, k: int, tags: Any = None) -> Any:
        inside_only()
        self.written = 0
        self.attempts = Attempts()
        if self.how == "each":  # so that it fits: one after the other, and each is left empty
            for folder in self.writable():
                path = folder / "filling"
                self.attempts.make(f"all of {folder}", self.fill, path)
                path.unlink(missing_ok=True)
        elif self.how == "all":
            for folder in self.writable():
                self.attempts.make(f"all of {folder}", self.fill, folder / "filling")
        elif self.how == "answers":
            self.fill(Path(told("message")["answers"]["path"]))
        elif self.how == "names":
            for number in range(MOST_NAMES):
                (Path(OWN[0]) / f"{number:0200d}").touch()
        return self.exact(queries, k, tags)

    def writable(self) -> list[Path]:
        found = [folder for folder, _ in places() if os.access(folder, os.W_OK)]
        found += [
            folder for root in ("/dev", "/proc/1/root") for folder, _ in places(root) if os.access(folder, os.W_OK)
        ]
        return sorted(set(found) | {Path(folder) for folder in OWN})

    def fill(self, path: Path) -> None:
        with path.open("ab", buffering=0) as file:
            for _ in range(MOST_MEGABYTES):
                self.written += file.write(BLOCK)

    def stats(self) -> dict[str, Any]:
        return self.attempts.report(megabytes=self.written >> 20)
