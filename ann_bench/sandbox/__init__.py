"""Where a worker runs: one small interface, one file per kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ann_bench.entries.entry import Entry
from ann_bench.errors import EngineError, unknown
from ann_bench.sandbox.base import (
    LEAST_MEMORY,
    Environment,
    Exit,
    InForce,
    Reading,
    Sandbox,
    SandboxLost,
    Session,
    WorkerSpec,
)
from ann_bench.sandbox.process import ProcessSandbox
from ann_bench.sandbox.remedy import how_to_make

__all__ = [
    "AUTO",
    "LEAST_MEMORY",
    "Choice",
    "Environment",
    "Exit",
    "InForce",
    "Reading",
    "Sandbox",
    "SandboxLost",
    "Session",
    "WorkerSpec",
    "choose_sandbox",
    "find_sandbox",
    "sandbox_names",
]

#: Takes containers where they are ready, and ordinary processes elsewhere.
AUTO = "auto"


def _docker() -> Sandbox:
    from ann_bench.sandbox.docker import DockerSandbox

    return DockerSandbox()


_KINDS: dict[str, Callable[[], Sandbox]] = {"docker": _docker, ProcessSandbox.name: ProcessSandbox}


def sandbox_names() -> list[str]:
    """The kinds of sandbox that there are."""
    return sorted(_KINDS)


def find_sandbox(name: str) -> Sandbox:
    """The sandbox of this kind; UsageError with the valid names where there is none, EngineError where it needs one."""
    if name not in _KINDS:
        raise unknown("sandbox", name, [AUTO, *_KINDS])
    return _KINDS[name]()


@dataclass(frozen=True)
class Choice:
    """A sandbox, and one line that says which it is, why, and how to get the container; empty where it was named."""

    sandbox: Sandbox
    line: str = ""


def choose_sandbox(name: str, entries: Sequence[Entry]) -> Choice:
    """The sandbox of this name; for `auto`, containers where an engine answers and every entry has its image.

    All the entries of a run share one sandbox: results of different kinds are not comparable.
    """
    if name != AUTO:
        return Choice(find_sandbox(name))
    try:
        docker = find_sandbox("docker")
    except EngineError as error:
        reason, _, first = str(error).removesuffix(", or use --sandbox process").partition(": ")
        then = how_to_make(entries, "docker")
        return Choice(ProcessSandbox(), f"sandbox: process ({reason}); for containers: {first}, then {then}")
    lacking = [entry for entry in entries if docker.environment(entry).missing]
    if not lacking:
        return Choice(docker, "sandbox: docker")
    names = ", ".join(entry.name for entry in lacking)
    remedy = how_to_make(lacking, "docker")
    return Choice(ProcessSandbox(), f"sandbox: process (no image of {names}); for containers: {remedy}")
