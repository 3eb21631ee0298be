"""Making virtual environments: several at a time, each whole or not there, with a log and a reason for each failure."""

from __future__ import annotations

import json
import logging
import os
import shlex
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from packaging.utils import canonicalize_name
from packaging.version import Version

from ann_bench.entries.entry import Entry, installed_here, missing
from ann_bench.entries.pins import applying
from ann_bench.environments.children import Children
from ann_bench.environments.place import (
    ALWAYS,
    RECORD,
    VirtualEnvironment,
    abandoned,
    environments_root,
    find,
    in_use,
    key_of,
    needs_of,
    new_folder,
    python_in,
    record,
    wheel_store,
)
from ann_bench.environments.wheels import commands, keep
from ann_bench.errors import AnnBenchError, StorageError
from ann_bench.progress import Progress, silent

logger = logging.getLogger(__name__)

#: Settings of this process that would send packages elsewhere than into the environment.
_NOT_FOR_PIP = ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_DRY_RUN")
_STEPS = 4
#: The first pip with `--python`.
_INTO_ANOTHER = Version("22.3")
_LOOK = """
import json, sys, sysconfig
import numpy, scipy.sparse
sys.stdout.write(json.dumps([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]))
"""


class InstallFailed(AnnBenchError):
    """No environment came of it; the message says which step failed, and pip's own reason."""


@dataclass(frozen=True)
class Outcome:
    """What became of one entry: this Python will do (`here`), or there is an environment, or a line says why not."""

    entry: Entry
    environment: VirtualEnvironment | None = None
    failure: str | None = None
    built: bool = False
    here: bool = False
    log: Path | None = None


def install(
    entries: Sequence[Entry], *, jobs: int, logs: Path, progress: Progress = silent, force: bool = False
) -> list[Outcome]:
    """Make the environments that are missing (all, with `force`) for entries whose `requires` is not met here.

    An outcome for every entry, in their order. Raises StorageError where nothing can be written.
    """
    for folder in abandoned():
        shutil.rmtree(folder, ignore_errors=True)
    done: dict[int, Outcome] = {}
    wanted: dict[str, list[Entry]] = {}
    for entry in entries:
        if not missing(entry):
            done[id(entry)] = Outcome(entry, here=True)
        elif not force and (found := find(entry)) is not None:
            done[id(entry)] = Outcome(entry, found)
        else:
            wanted.setdefault(key_of(entry), []).append(entry)
    made = _make_all(list(wanted.values()), _Workshop(logs, progress), jobs)
    for sharing, outcome in zip(wanted.values(), made, strict=True):
        if force and outcome.environment is not None:
            _remove_older(outcome.environment)
        for entry in sharing:
            done[id(entry)] = Outcome(entry, outcome.environment, outcome.failure, outcome.built, log=outcome.log)
    return [done[id(entry)] for entry in entries]


@dataclass
class _Workshop:
    """What all makers of one command share."""

    logs: Path
    progress: Progress
    children: Children = field(default_factory=Children)
    #: One pip at a time downloads and compiles, so that no two do the same.
    bringing: threading.Lock = field(default_factory=threading.Lock)


def _make_all(groups: list[list[Entry]], workshop: _Workshop, jobs: int) -> list[Outcome]:
    if not groups:
        return []
    futures: list[Future[Outcome]] = []
    with ThreadPoolExecutor(max(1, min(jobs, len(groups))), thread_name_prefix="venv") as threads:
        try:
            futures = [threads.submit(_make_one, group[0], workshop) for group in groups]
            wait(futures)
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            workshop.children.end()
            raise
    return [future.result() for future in futures]


def _make_one(entry: Entry, workshop: _Workshop) -> Outcome:
    began = time.monotonic()
    name = f"{entry.track}/{entry.name}"
    path = workshop.logs / f"{entry.track}-{entry.name}.venv.log"
    try:
        with _open_log(path) as file:
            environment = _Maker(entry, workshop, file).make()
    except AnnBenchError as error:
        return Outcome(entry, failure=f"{error}; log: {path}", log=path)
    logger.info("%s: environment made in %.0f s", name, time.monotonic() - began)
    return Outcome(entry, environment, built=True, log=path)


@dataclass
class _Maker:
    """One environment in the making."""

    entry: Entry
    workshop: _Workshop
    log: TextIO
    _lines: list[str] = field(default_factory=list)
    _steps: int = 0

    def make(self) -> VirtualEnvironment:
        """Make it, look into it, and say that it is whole; nothing of it stays where that fails."""
        folder = new_folder(key_of(self.entry))
        try:
            options = ["--without-pip"] if _pip_works_elsewhere() else []
            self._step("python -m venv", [sys.executable, "-m", "venv", *options, str(folder)])
            self._install(folder)
            code = self._run([str(python_in(folder)), "-I", "-c", _LOOK])
            if code:
                raise InstallFailed(f"Python with numpy and scipy does not run in it: {self._reason()}")
            paths = tuple(sorted(set(json.loads(self._lines[-1]))))
            environment = VirtualEnvironment(folder.name.split("-")[0], folder, python_in(folder), paths)
            self._check(environment.packages())
            record(folder, {"needs": needs_of(self.entry), "paths": paths, "packages": environment.packages()})
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise StorageError(f"{folder}: no environment can be made there ({error.strerror or error})") from error
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self.workshop.progress(self._name, 1, 1)
        return environment

    @property
    def _name(self) -> str:
        return f"{self.entry.track}/{self.entry.name}"

    def _install(self, folder: Path) -> None:
        python = str(python_in(folder))
        pip = [sys.executable, "-m", "pip", "--python", python] if _pip_works_elsewhere() else [python, "-m", "pip"]
        with tempfile.TemporaryDirectory(prefix="wheels-", dir=folder) as place:
            bring, put = commands(pip, str(wheel_store()), place, needs_of(self.entry))
            with self.workshop.bringing:
                self._step("pip wheel", bring)
                keep(wheel_store(), Path(place))
            self._step("pip install", put)

    def _check(self, packages: Mapping[str, str]) -> None:
        """Hold `requires`, `pins` and what the worker needs against what is there."""
        needs = applying([*self.entry.config.requires, *self.entry.config.pins, *ALWAYS])
        for need in needs:
            version = packages.get(canonicalize_name(need.name))
            if version is None or not need.specifier.contains(version, prereleases=True):
                raise InstallFailed(f"{need} is not met by what pip has installed ({version or 'nothing'})")

    def _step(self, step: str, words: Sequence[str]) -> None:
        self.workshop.progress(self._name, self._steps, _STEPS)
        if self._run(words):
            raise InstallFailed(f"`{step}`: {self._reason()}")
        self._steps += 1

    def _run(self, words: Sequence[str]) -> int:
        self._lines.clear()
        self.log.write(f"$ {shlex.join(words)}\n")

        def take(line: str) -> None:
            self.log.write(f"{line}\n")
            self.log.flush()
            self._lines.append(line)

        return self.workshop.children.run(words, _environment(), take)

    def _reason(self) -> str:
        """pip's last word on why it failed: the last line that says ERROR, else the last line."""
        said = [line.strip() for line in self._lines if line.strip()] or ["it ended without a word"]
        return next((line for line in reversed(said) if line.startswith("ERROR")), said[-1])


def _pip_works_elsewhere() -> bool:
    """Whether this Python's pip can install into another: then an environment needs none, which takes seconds."""
    version = installed_here("pip").get("pip")
    return version is not None and Version(version) >= _INTO_ANOTHER


def _environment() -> dict[str, str]:
    """What pip gets: this process's environment, so that indexes, proxies and certificates are the user's."""
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_PIP}
    return {**kept, "PYTHONUNBUFFERED": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def _remove_older(environment: VirtualEnvironment) -> None:
    """Environments of the same key that the new one replaces, but none that something runs on."""
    for folder in environments_root().glob(f"{environment.key}-*"):
        if folder != environment.folder and (folder / RECORD).is_file() and not in_use(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _open_log(path: Path) -> TextIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("w", encoding="utf-8", errors="replace")
    except OSError as error:
        raise StorageError(f"{path}: no log can be written there ({error.strerror}); see --logs") from error
