"""What a worker's container is made of: mounts, limits, environment, and what it runs."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ann_bench
from ann_bench.engine.probe import USER
from ann_bench.engine.recipe import ENTRY_FOLDER
from ann_bench.errors import StorageError
from ann_bench.sandbox.environment import worker_environment
from ann_bench.workload import Limits

#: Processes and threads together.
PROCESSES = 1024

#: Where things are inside. The entry itself is part of the image.
CODE, DATA, SCRATCH = "/ann-bench/code", "/data", "/scratch"
QUESTIONS, ANSWERS = "/ann-bench/questions", "/ann-bench/answers"

#: What the worker imports, beside itself; copied for it, so that neither umask nor user of the checkout matter.
HARNESS = (
    "__init__.py",
    "adapters",
    "algorithm.py",
    "arrays.py",
    "errors.py",
    "tags.py",
    "vectors.py",
    "wire.py",
    "worker",
    "workload.py",
)

#: Files in the folder of the questions: the socket, the worker's exit code, and the word to end.
WIRE, ENDED, LEAVE = "wire", "ended", "leave"

#: The shell that becomes process 1, after the guard, outlives the worker until the judge has read what the control
#: group counted.
_INIT = f"""
"$@" < /dev/null
code=$?
echo "$code" > {QUESTIONS}/{ENDED}
read -r word < {QUESTIONS}/{LEAVE}
exit "$code"
"""

_BOOT = (
    "import sys; root, address = sys.argv[1:]; sys.argv = ['ann-bench-worker']; sys.path.append(root); "
    "from ann_bench.worker import main; main(address)"
)

#: What an entry prints is kept up to this size, twice.
_LOG = {"max-size": "256k", "max-file": "2"}


@dataclass(frozen=True)
class Engine:
    """What an engine has to be told in words of its own."""

    podman: bool = False
    selinux: bool = False


@dataclass(frozen=True)
class Shared:
    """The folders that judge and container share, on a RAM disk. Nobody else gets past the first of them."""

    root: Path

    @property
    def questions(self) -> Path:
        """What the worker may read."""
        return self.root / "questions"

    @property
    def answers(self) -> Path:
        """Where the judge puts files for the worker to write into; the folder itself is closed to it."""
        return self.root / "answers"

    @property
    def code(self) -> Path:
        """The worker's own code."""
        return self.root / "code"

    def link(self, number: int, path: Path) -> Path:
        """Another name for a file, for an engine that splits names at commas."""
        link = self.root / f"data-{number}"
        link.symlink_to(path)
        return link

    def make(self) -> None:
        """Make them; StorageError where there is no room."""
        try:
            for folder in (self.questions, self.answers, self.code / "ann_bench"):
                folder.mkdir(parents=True)
            for name in (ENDED, LEAVE):
                os.mkfifo(self.questions / name)
            package = Path(ann_bench.__file__).parent
            for name in HARNESS:
                _copy(package / name, self.code / "ann_bench" / name)
            for path in (
                p for folder in (self.questions, self.answers, self.code) for p in (folder, *folder.rglob("*"))
            ):
                path.chmod(0o755 if path.is_dir() else 0o666 if stat.S_ISFIFO(path.stat().st_mode) else 0o644)
        except OSError as error:
            raise StorageError(f"{self.root}: no room for a worker ({error.strerror or error})") from error


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copyfile(source, target)


def places(shared: Shared, entry: Path, inputs: Sequence[Path]) -> dict[str, str]:
    """Each file and folder of this machine that the worker gets to see, and what it is called inside."""
    named = {str(path): f"{DATA}/{number}" for number, path in enumerate(inputs)}
    return {str(shared.questions): QUESTIONS, str(shared.answers): ANSWERS, str(entry): ENTRY_FOLDER, **named}


def check_readable(inputs: Sequence[Path]) -> None:
    """StorageError where the container's user, who is nobody here, could not read a file."""
    for path in inputs:
        if not path.stat().st_mode & stat.S_IROTH:
            raise StorageError(f"{path}: only its owner may read it, and the container runs as nobody; chmod o+r it")


def settings(
    shared: Shared, inputs: Sequence[Path], limits: Limits, cpus: Sequence[int], engine: Engine
) -> dict[str, Any]:
    """The engine's host config, for the arguments of docker's `create_host_config`."""
    from docker.types import LogConfig, Mount, Ulimit

    half = limits.memory_bytes // 2
    uid, gid = USER.split(":")
    owner = "U" if engine.podman else f"uid={uid},gid={gid}"  # U: whoever the container runs as
    scratch = f"rw,exec,nosuid,nodev,mode=1777,{owner},size={half}"
    binds = {str(shared.code): CODE, str(shared.questions): QUESTIONS}
    for number, path in enumerate(inputs):
        source = shared.link(number, path) if engine.podman and "," in str(path) else path
        binds[str(source)] = f"{DATA}/{number}"
    mounts = [Mount(target, source, type="bind", read_only=True) for source, target in binds.items()]
    mounts.append(Mount(ANSWERS, str(shared.answers), type="bind"))
    tmpfs = {SCRATCH: scratch, "/tmp": scratch}  # noqa: S108  a path inside the container
    if engine.podman:
        tmpfs |= {"/run": "ro", "/var/tmp": "ro"}  # noqa: S108  RAM disks of its own beside a read-only image, else
    return {
        "network_mode": "none",
        "ipc_mode": "private",
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges", *(["label=disable"] if engine.selinux else [])],
        "pids_limit": PROCESSES,
        "cpuset_cpus": ",".join(map(str, cpus)),
        "mem_limit": limits.memory_bytes,
        "memswap_limit": limits.memory_bytes,
        "shm_size": half,
        "tmpfs": tmpfs,
        "mounts": mounts,
        "ulimits": [Ulimit(name="core", soft=0, hard=0)],
        "log_config": LogConfig(type="json-file", config=_LOG),
        "oom_score_adj": 500,
    }


def command(program: Sequence[str] | None) -> list[str]:
    """What process 1 runs, before it runs the worker of Python or an entry's own program."""
    worker = program or ["python", "-c", _BOOT, CODE, f"{QUESTIONS}/{WIRE}"]
    return ["python", "-I", "-S", f"{CODE}/ann_bench/worker/guard.py", "/bin/sh", "-c", _INIT, "ann-bench", *worker]


def environment(threads: int) -> Mapping[str, str]:
    """The worker's environment."""
    known = worker_environment(SCRATCH, threads, f"{QUESTIONS}/{WIRE}")
    return {**known, "USER": "entry", "LANG": "C.UTF-8"}
