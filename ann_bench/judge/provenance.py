"""What it takes to repeat a measurement, besides its configuration: machine, versions, commit, date."""

from __future__ import annotations

import contextlib
import datetime
import os
import platform
import shutil
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

import ann_bench

_HARNESS = ("numpy", "scipy", "h5py")


@cache
def machine() -> dict[str, Any]:
    """The machine: CPU model, cores, memory in bytes, kernel, frequency governor, Python."""
    return {
        "cpu_model": _cpu_model(),
        "cores": os.cpu_count() or 1,
        "memory_bytes": int(psutil.virtual_memory().total),
        "architecture": platform.machine(),
        "kernel": f"{platform.system()} {platform.release()}",
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "python": platform.python_version(),
    }


def provenance() -> dict[str, Any]:
    """All that is known of here and now."""
    packages = {}
    for name in _HARNESS:
        with contextlib.suppress(metadata.PackageNotFoundError):
            packages[name] = metadata.version(name)
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": machine(),
        "load_average": list(os.getloadavg()),
        "packages": packages,
        "ann_bench": ann_bench.__version__,
        "commit": _commit(Path(ann_bench.__file__).resolve().parents[1]),
    }


def _cpu_model() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.lower().startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    return platform.processor() or platform.machine()


def _read(path: str) -> str:
    with contextlib.suppress(OSError):
        return Path(path).read_text(encoding="ascii").strip()
    return ""


@cache
def _commit(root: Path) -> str:
    """The commit of the harness, with `+` where files differ from it; empty outside a checkout."""
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        return ""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        answers = [
            subprocess.run(
                [git, "-C", str(root), *command], capture_output=True, text=True, check=True, timeout=10
            ).stdout
            for command in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
        ]
        return answers[0].strip() + ("+" if answers[1].strip() else "")
    return ""
