"""Looks for the queries before they are asked: in its constructor, in fit and in set_query_arguments.

Every file of the shared folder and every map of its own memory is kept as it was at each of these moments, the last of
them just before the worker says `ready`; then it counts the queries that it has seen before.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import numpy as np
from kit import Exact, mounts, told

from ann_bench.wire import Channel


class Entry(Exact):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seen: list[bytes] = []
        self.files: set[str] = set()
        self.looks = self.early = self.asked = self.control = 0
        self.folders = shared(told("address"))
        self.look()
        self.look_at_ready()

    def look_at_ready(self) -> None:
        """The last moment before `go`: the files of the batch are there and mapped."""
        send = Channel.send

        def looking(channel: Channel, message: dict[str, Any]) -> None:
            if message["type"] == "ready":
                self.look()
            send(channel, message)

        Channel.send = looking  # type: ignore[method-assign]

    def fit(self, base: Any, tags: Any = None, learn: Any = None) -> None:
        self.look()
        super().fit(base, tags, learn)

    def set_query_arguments(self, **query: Any) -> None:
        self.look()

    def query(self, queries: Any, k: int, tags: Any = None) -> Any:
        rows = [np.ascontiguousarray(row).tobytes() for row in queries]
        self.asked += len(rows)
        self.early += sum(any(row in data for data in self.seen) for row in rows)
        held = len(self.seen)
        self.look()
        self.control += sum(any(row in data for data in self.seen[held:]) for row in rows)
        self.seen = []  # these queries are asked again, in another order: what is held now is no news
        return self.exact(queries, k, tags)

    def look(self) -> None:
        self.looks += 1
        for folder in self.folders:
            for parent, _, names in os.walk(folder):
                self.keep(*(Path(parent) / name for name in names))
        self.keep(*self.maps())

    def maps(self) -> list[Path]:
        """Files that are mapped, in the shared folder or removed from it."""
        with Path("/proc/self/maps").open(encoding="utf-8") as file:
            named = {line.split(maxsplit=5)[5].strip() for line in file if line.count("/") > 1}
        return [Path(path) for path in named if path.startswith(tuple(self.folders))]

    def keep(self, *paths: Path) -> None:
        for path in paths:
            with contextlib.suppress(OSError):
                if path.is_file():
                    self.files.add(str(path))
                    self.seen.append(path.read_bytes())

    def stats(self) -> dict[str, Any]:
        return {
            "looks": self.looks,
            "files": len(self.files),
            "asked": self.asked,
            "early": self.early,
            "control": self.control,
        }


def shared(wire: str) -> list[str]:
    """The folders that it shares with the judge: where the socket lies, and what is mounted beside it."""
    around = str(Path(wire).parent.parent)
    return [str(Path(wire).parent), *(path for _, path in mounts() if path.startswith(around) and len(around) > 1)]
