"""Where a worker runs: one small interface, one file per kind."""

from __future__ import annotations

from ann_bench.errors import unknown
from ann_bench.sandbox.base import Environment, Exit, InForce, Reading, Sandbox, SandboxLost, Session, WorkerSpec
from ann_bench.sandbox.process import ProcessSandbox

__all__ = [
    "Environment",
    "Exit",
    "InForce",
    "Reading",
    "Sandbox",
    "SandboxLost",
    "Session",
    "WorkerSpec",
    "find_sandbox",
    "sandbox_names",
]

_KINDS = {kind.name: kind for kind in (ProcessSandbox,)}


def sandbox_names() -> list[str]:
    """The kinds of sandbox that there are."""
    return sorted(_KINDS)


def find_sandbox(name: str) -> Sandbox:
    """The sandbox of this kind; UsageError with the valid names where there is none."""
    if name not in _KINDS:
        raise unknown("sandbox", name, _KINDS)
    return _KINDS[name]()
