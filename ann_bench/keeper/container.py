"""The watch over one container: looks at its memory, and ends it when the judge is no more."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from ann_bench.keeper.cgroup import Cgroup, Use, cgroup_of
from ann_bench.keeper.keep import say
from ann_bench.keeper.tree import GROWTH, LEAST_PAUSE, MOST_PAUSE

#: How long a container is looked for that the judge may have been about to make when it ended.
LATE_SECONDS = 5.0

#: What a shell reports of a process that was ended by SIGKILL.
KILLED = b"137\n"


class Watch:
    """The loop.

    `order` is {"container": its name, "memory_bytes", "ended": the pipe that tells the judge of the worker's end,
    "remove": folders}; the engine is found as the judge found it.
    """

    def __init__(self, order: dict[str, Any]) -> None:
        self.order = order
        self.group: Cgroup | None = None
        self.above: dict[Path, int] = {}
        self.last = Use(0.0, 0, 0, 0, 0, 0)
        self.anonymous = self.peak_anonymous = self.peak_files = self.most = 0
        self.commands = b""

    def run(self) -> bool:
        """Watch until told to stop (True), or until the judge is gone (False)."""
        while True:
            ready, _, _ = select.select([0], [], [], self.pause())
            if not ready:
                self.sample()
                continue
            data = os.read(0, 4096)
            if not data:
                return False
            *lines, self.commands = (self.commands + data).split(b"\n")
            for line in lines:
                word, _, argument = line.decode().partition(" ")
                if word == "watch":
                    self.watch(int(argument))
                elif word == "reading":
                    say({"event": "reading", **self.reading()})
                elif word == "stop":
                    return True

    def watch(self, pid: int) -> None:
        """Look at the group of this process from now on; where it has ended already there is nothing to see."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            self.group = cgroup_of(pid)
            self.above = self.group.oom_kills_above()
        say({"event": "watching", "seen": self.group is not None})

    def pause(self) -> float:
        """Seconds until the next look: near the limit more often, since every look takes a moment from the entry."""
        if self.group is None:
            return MOST_PAUSE
        room = int(self.order["memory_bytes"]) - self.anonymous
        return min(MOST_PAUSE, max(LEAST_PAUSE, room / GROWTH))

    def sample(self) -> None:
        """One look; a group that is gone keeps its last figures."""
        if self.group is None:
            return
        with contextlib.suppress(OSError, ValueError, KeyError):
            self.seen(*self.group.memory_now())
            self.count()
            if self.group.oom_kills():
                self.call_the_judge()

    def call_the_judge(self) -> None:
        """The kernel has ended one of the processes: the rest is not worth waiting for."""
        ended, self.order["ended"] = self.order["ended"], None
        if ended is not None:
            with contextlib.suppress(OSError), open(ended, "wb", buffering=0) as pipe:
                pipe.write(KILLED)

    def seen(self, anonymous: int, files: int) -> None:
        """Keep the peaks."""
        self.anonymous = anonymous
        self.peak_anonymous = max(self.peak_anonymous, anonymous)
        self.peak_files = max(self.peak_files, files)

    def count(self) -> int:
        """How many processes there are; the most of them is kept, less the shell that waits for the worker."""
        members = 0 if self.group is None else len(self.group.members())
        self.most = max(self.most, members - 1)
        return members

    def reading(self) -> dict[str, Any]:
        """All the figures, fresh."""
        if self.group is not None:
            try:
                self.last = self.group.use()
            except (OSError, ValueError, KeyError):
                self.last = replace(self.last, oom_kills=max(self.last.oom_kills, self.oom_kills_since(self.group)))
        members = self.count()
        self.seen(self.last.anonymous_bytes, self.last.file_bytes)
        return {
            "cpu_seconds": self.last.cpu_seconds,
            "memory_bytes": self.last.memory_bytes,
            "peak_memory_bytes": self.last.peak_memory_bytes,
            "peak_anonymous_bytes": self.peak_anonymous,
            "peak_file_bytes": self.peak_files,
            "processes": self.most,
            "oom_kills": self.last.oom_kills,
            "members": members,
        }

    def oom_kills_since(self, group: Cgroup) -> int:
        """What the nearest group above that is still there has counted since the start: the last word of one gone."""
        now = group.oom_kills_above()
        return next((now[folder] - before for folder, before in self.above.items() if folder in now), 0)

    def end(self) -> None:
        """The judge is gone: end its container, remove its folders."""
        until = time.monotonic() + LATE_SECONDS
        while not remove(self.order["container"]) and time.monotonic() < until:
            time.sleep(0.1)
        for folder in self.order["remove"]:
            shutil.rmtree(folder, ignore_errors=True)


def remove(name: str) -> bool:
    """End and remove a container; False where it is not there (yet). An engine that is gone has nothing to end."""
    import docker

    try:
        docker.from_env().api.remove_container(name, force=True, v=True)
    except docker.errors.NotFound:
        return False
    except Exception as error:  # noqa: BLE001  nobody is left to tell; the next run looks for what stayed behind
        sys.stderr.write(f"container {name}: {error}\n")
    return True


def order_from_judge() -> dict[str, Any] | None:
    """The first line on standard input; None where the judge ended before."""
    line = b""
    while not line.endswith(b"\n"):
        data = os.read(0, 1)
        if not data:
            return None
        line += data
    order: dict[str, Any] = json.loads(line)
    return order
