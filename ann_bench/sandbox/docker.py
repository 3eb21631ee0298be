"""The Docker sandbox: a worker in a container of its own, with no network, nothing to write to and fixed resources.

Podman's engine takes the same calls (DOCKER_HOST).
"""

from __future__ import annotations

import logging
import mmap
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ann_bench.engine.client import connect, engine_errors, is_podman
from ann_bench.engine.images import Images
from ann_bench.engine.sweep import sweep
from ann_bench.entries.entry import Entry
from ann_bench.errors import EngineError
from ann_bench.progress import Progress
from ann_bench.sandbox import container, machine
from ann_bench.sandbox.base import Environment, WorkerSpec
from ann_bench.sandbox.docker_session import DockerSession
from ann_bench.sandbox.folders import abandoned
from ann_bench.sandbox.remedy import how_to_make
from ann_bench.workload import Limits

log = logging.getLogger(__name__)


class DockerSandbox:
    """Runs workers in containers; making one connects to the engine, and removes what dead judges have left there."""

    name = "docker"
    makes = True

    def __init__(self) -> None:
        self._client = connect()
        with engine_errors("asking the container engine what it has"):
            self._info: dict[str, Any] = self._client.info()
        selinux = any("selinux" in option for option in self._info.get("SecurityOptions") or ())
        self._kind = container.Engine(is_podman(self._client), selinux)
        self._images = Images(self._client)
        self._failed: dict[str, str] = {}
        ended = sweep(self._client)
        for folder in abandoned():
            shutil.rmtree(folder, ignore_errors=True)
        if ended:
            log.info("ended %d containers that a killed run had left", ended)

    def cpus(self) -> list[int]:
        """Those that both the engine and this process may use."""
        return [cpu for cpu in machine.cpus() if cpu < int(self._info["NCPU"])]

    def fit(self, limits: Limits) -> Limits:
        """These limits, cut to what both the engine and this process may use."""
        total = int(self._info["MemTotal"]) // machine.MEMORY_STEP * machine.MEMORY_STEP
        cpus = min(limits.cpus, len(self.cpus()))
        memory = min(limits.memory_bytes, machine.memory(), total) // mmap.PAGESIZE * mmap.PAGESIZE
        return limits.but(cpus=cpus, memory_bytes=memory)

    def prepare(self, entries: Sequence[Entry], logs: Path, progress: Progress) -> None:
        """Build the images that are missing."""
        missing = [entry for entry in entries if self._images.find(entry) is None]
        if missing:
            self._failed = self._images.build(missing, jobs=min(4, len(machine.cpus())), logs=logs, progress=progress)

    def environment(self, entry: Entry) -> Environment:
        """The entry's image."""
        image = self._images.find(entry)
        if image is None:
            why = self._failed.get(entry.name) or f"its image is not built; try: {how_to_make([entry], self.name)}"
            return Environment({}, missing=why)
        needs = {canonicalize_name(Requirement(text).name) for text in entry.config.requires} | {"numpy", "scipy"}
        packages = {name: version for name, version in image.packages.items() if canonicalize_name(name) in needs}
        details = {"image": image.tag, "image_id": image.id, "base": image.base, "packages": dict(image.packages)}
        return Environment(packages, image.hash, {**details, "engine": self._engine()})

    def open(self, spec: WorkerSpec) -> DockerSession:
        """Start a worker."""
        image = self._images.find(spec.entry)
        if image is None:
            raise EngineError(f"{spec.entry.name}: its image is gone; try: {how_to_make([spec.entry], self.name)}")
        return DockerSession(self._client, self._kind, image.id, spec)

    def _engine(self) -> str:
        info = self._info
        return f"{info.get('Name', '')} {info.get('ServerVersion', '')}, {info.get('KernelVersion', '')}"
