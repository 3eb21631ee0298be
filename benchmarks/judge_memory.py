"""The judge's own memory: the anonymous pages of its process over a whole run, truth and scoring included.

Files that it maps (the base vectors) are not its own: the kernel may drop them at any time.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
GIB = 2**30


def main(arguments: list[str]) -> int:
    """Run a null entry through the real command and watch the process."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks judge-memory", description=__doc__)
    parser.add_argument("--dataset", default="yfcc-like-10M")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "run.py", "--track", "filtered", "--dataset", chosen.dataset]
        command += ["--entry", str(HERE / "entries" / "null"), "--results", f"{folder}/results", "--plots", folder]
        process = subprocess.Popen(command, cwd=HERE.parent, stdout=subprocess.DEVNULL)
        peak = 0
        while process.poll() is None:
            peak = max(peak, own_memory(process.pid))
            time.sleep(0.01)
    code = process.returncode
    print(f"judge on {chosen.dataset}: peak of its own memory {peak / GIB:.3f} GiB (goal < 1; exit code {code})")
    return 0 if peak < GIB and process.returncode == 0 else 1


def own_memory(pid: int) -> int:
    """Bytes of anonymous and shared memory of a process; 0 when it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(("RssAnon:", "RssShmem:")))
