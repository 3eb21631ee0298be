"""What a sandbox is: a place where one worker runs under limits, seen and stopped from outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ann_bench.wire import Channel
from ann_bench.workload import Limits


class SandboxLost(Exception):
    """The sandbox does not answer any more: the entry got at what watches it, or somebody else did."""


@dataclass(frozen=True)
class WorkerSpec:
    """What a worker needs: the entry's folder, its limits, and the files that it may read."""

    entry: Path
    limits: Limits
    inputs: Sequence[Path] = ()


@dataclass(frozen=True)
class Reading:
    """What the worker and all its children have used so far: CPU seconds, bytes (now and at the peak)."""

    cpu_seconds: float
    memory_bytes: int
    peak_memory_bytes: int
    peak_anonymous_bytes: int
    processes: int


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
    def exchange(self) -> Path:
        """The folder that judge and worker share, on a RAM disk where there is one."""

    @property
    def channel(self) -> Channel:
        """The wire to the worker, once it has called."""

    def inside(self, path: str) -> str:
        """A path of this machine, as the worker sees it."""

    def reading(self) -> Reading:
        """What has been used so far; SandboxLost where nobody can say."""

    def log(self) -> str:
        """The start and the end of what the worker has printed so far."""

    def kill(self) -> None:
        """End the worker and all its children at once."""

    def close(self, grace: float = 2.0) -> Exit:
        """Wait up to `grace` seconds for the worker to end by itself, kill what is left, remove its folders."""


class Sandbox(Protocol):
    """A kind of place to run workers in."""

    @property
    def name(self) -> str:
        """The name that results carry."""

    def fit(self, limits: Limits) -> Limits:
        """These limits, cut to what this machine has."""

    def open(self, spec: WorkerSpec) -> Session:
        """Start a worker; returns before it has called."""
