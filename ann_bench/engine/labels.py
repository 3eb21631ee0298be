"""How we tell our own images and containers from everybody else's on the engine, and whose they are."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
#: What engines put before a name that has no registry in it.
_DEFAULT_REGISTRY = re.compile(r"(localhost|docker\.io)/(library/)?")


@dataclass(frozen=True)
class Namespace:
    """Everything of ours bears this name: labels begin with it and a dot, repositories of images with it and a slash.

    There is one, `OURS`; tests have others, so that they never touch what people use.
    """

    name: str = "ann-bench"

    @property
    def kind(self) -> str:
        """The label that is on all that is ours: `base`, `common`, `entry` (images), `worker` (containers)."""
        return self.label("kind")

    def label(self, key: str) -> str:
        """The full name of a label."""
        return f"{self.name}.{key}"

    def repository(self, name: str) -> str:
        """The repository of images for this name, in the characters that engines allow."""
        return f"{self.name}/{_plain(name)}"

    def owns(self, tag: str) -> bool:
        """Whether an image's tag lies in one of our repositories."""
        return short_tag(tag).startswith(f"{self.name}/")

    def image_tags(self, tags: Iterable[str] | None) -> tuple[list[str], list[str]]:
        """An image's tags: ours, and others."""
        known = [tag for tag in tags or () if tag != "<none>:<none>"]
        return [tag for tag in known if self.owns(tag)], [tag for tag in known if not self.owns(tag)]


OURS = Namespace()


def short_tag(tag: str) -> str:
    """A tag without the registry that an engine has put before it."""
    return _DEFAULT_REGISTRY.sub("", tag, count=1)


def _plain(name: str) -> str:
    """For people to read; two names may look alike in it, and differ by the hash in the tag."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:100].strip("-") or "x"


def worker_labels(entry_name: str, space: Namespace = OURS) -> dict[str, str]:
    """Labels for a container that works for this process, and is abandoned when this process is gone."""
    return {
        space.kind: "worker",
        space.label("entry"): entry_name,
        space.label("boot"): _boot(),
        space.label("pids"): _pid_namespace(),
        space.label("judge"): str(os.getpid()),
        space.label("judge-start"): _start_time(os.getpid()) or "",
    }


def judge_of(labels: Mapping[str, str], space: Namespace = OURS) -> str:
    """The process that a container works for, in words."""
    return f"process {labels.get(space.label('judge'), '?')}"


def judge_is_gone(labels: Mapping[str, str], space: Namespace = OURS) -> bool:
    """Whether the process that a container works for is certainly no more.

    A process id says nothing after a reboot, nor once another process has got it, nor where this process sees other
    ids than the judge did (one of them is in a container itself): the last cannot be told from here, so it is left.
    """
    if labels.get(space.label("boot")) != _boot():
        return True
    if labels.get(space.label("pids")) != _pid_namespace():
        return False
    pid = labels.get(space.label("judge"), "")
    return not pid.isdigit() or _start_time(int(pid)) != labels.get(space.label("judge-start"))


def _boot() -> str:
    return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _pid_namespace() -> str:
    return str((_PROC / "self/ns/pid").readlink())


def _start_time(pid: int) -> str | None:
    """When the process started, in clock ticks since boot; None where there is no such process, or only its zombie."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name of the program stands in brackets and may hold anything: what counts comes after the last of them.
    state, *numbers = text.rpartition(")")[2].split()
    return None if state in "ZX" else numbers[18]
