"""What a sandbox is: a place where one worker runs under limits, seen and stopped from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ann_bench.entries.entry import Entry
from ann_bench.progress import Progress
from ann_bench.wire import Channel
from ann_bench.workload import Limits

#: No worker starts in less memory than this: 30 MiB of its own were seen before an entry came in, and 20 of files.
LEAST_MEMORY = 64 * 2**20


class SandboxLost(Exception):
    """The sandbox does not answer any more: the entry got at what watches it, or somebody else did."""


@dataclass(frozen=True)
class WorkerSpec:
    """What a worker needs: the entry, its limits, its CPUs (as many as the limits say), the files that it may read."""

    entry: Entry
    limits: Limits
    cpus: Sequence[int]
    inputs: Sequence[Path] = ()


@dataclass(frozen=True)
class Environment:
    """What an entry runs on in a sandbox, as far as it is known before it runs.

    `packages` (versions of what the entry leans on) and `image` (the hash of all that went into its image; empty where
    there is none) are part of a result's identity; `details` is kept beside it. `missing` says in one line why the
    entry cannot be started there and which command helps; empty where it can.
    """

    packages: Mapping[str, str]
    image: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    missing: str = ""


@dataclass(frozen=True)
class InForce:
    """The limits that a running worker is really under, read back from what enforces them; `details` for the record."""

    cpus: int
    memory_bytes: int
    swap_bytes: int = 0
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """What the worker and all its children have used so far: CPU seconds, bytes (now and at the peak).

    Anonymous are the bytes that no file on a disk backs: they count against the limit. Those of files do not, since the
    kernel can drop them.
    """

    cpu_seconds: float
    memory_bytes: int
    peak_memory_bytes: int
    peak_anonymous_bytes: int
    processes: int
    peak_file_bytes: int = 0


@dataclass(frozen=True)
class Exit:
    """How the worker ended: exit code, or the signal that ended it; whether it outgrew its memory.

    `killed` is true where it was the sandbox that ended it; `left_behind` counts the processes that outlived
    the worker (they are gone by now); `log` is the start and the end of what it printed.
    """

    code: int | None
    signal: int | None
    out_of_memory: bool
    killed: bool
    left_behind: int
    log: str
    reading: Reading


class Session(Protocol):
    """One worker in a sandbox, from its start to its end."""

    @property
    def questions(self) -> Path:
        """The folder for what the worker is to read, on a RAM disk where there is one."""

    @property
    def answers(self) -> Path:
        """The folder for the files that the worker is to write into; on a RAM disk too, may be the same."""

    @property
    def channel(self) -> Channel:
        """The wire to the worker, once it has called."""

    def inside(self, path: str) -> str:
        """A path of this machine, as the worker sees it."""

    def in_force(self) -> InForce:
        """The limits that the worker is under now; SandboxLost where nobody can say."""

    def reading(self) -> Reading:
        """What has been used so far; SandboxLost where nobody can say."""

    def processes(self) -> list[int]:
        """The worker and all its children, by their numbers on this machine; none where nobody can say."""

    def log(self) -> str:
        """The start and the end of what the worker has printed so far."""

    def pause(self) -> None:
        """Stop the worker and all its children where they are; nobody talks to it before `resume`."""

    def resume(self) -> None:
        """Let them go on."""

    def kill(self) -> None:
        """End the worker and all its children at once."""

    def close(self, grace: float = 2.0) -> Exit:
        """Wait up to `grace` seconds for the worker to end by itself, kill what is left, remove its folders."""


class Sandbox(Protocol):
    """A kind of place to run workers in."""

    @property
    def name(self) -> str:
        """The name that results carry."""

    @property
    def makes(self) -> bool:
        """Whether `prepare` makes what an entry lacks, so that one that lacks it all the same has failed."""

    def cpus(self) -> list[int]:
        """The CPUs that workers may be given, by their numbers."""

    def fit(self, limits: Limits) -> Limits:
        """These limits, cut to what this machine has."""

    def prepare(self, entries: Sequence[Entry], logs: Path, progress: Progress) -> None:
        """Make what these entries need and is not there, with logs in a folder; `environment` tells what failed."""

    def environment(self, entry: Entry) -> Environment:
        """What this entry would run on here, and what is missing."""

    def open(self, spec: WorkerSpec) -> Session:
        """Start a worker; returns before it has called."""
