"""What watching costs: the same entry measured with the board drawn and with nobody watching, in turn.

Each round measures one build and all query configs of an entry on a terminal (a pseudo-terminal that is read), then
with `--quiet`, in an order that changes from round to round. Ratios of speeds, watched / quiet: below 1 watching costs.
"""

from __future__ import annotations

import argparse
import os
import pty
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np

from ann_bench.results.figures import figures
from ann_bench.results.store import Store


def main(argv: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks watching", description=__doc__.splitlines()[0])
    parser.add_argument("--track", default="dense")
    parser.add_argument("--dataset", default="blobs-20k")
    parser.add_argument("--algorithm", default="hnswlib")
    parser.add_argument("--rounds", type=int, default=6)
    wish = parser.parse_args(argv)
    ratios: dict[str, list[float]] = {"QPS": [], "build": []}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(wish.rounds):
            found: dict[bool, dict[str, np.ndarray]] = {}
            for watched in (True, False) if number % 2 else (False, True):
                place = Path(folder) / f"{number}-{watched}"
                names = ["--track", wish.track, "--dataset", wish.dataset, "--algorithm", wish.algorithm]
                where = ["--results", str(place), "--plots", str(place / "plots"), "--sandbox", "process"]
                _run(["run", *names, *where, "--no-canary", *([] if watched else ["--quiet"])], watched=watched)
                bundles = Store(place).load(answers=False)[0]
                rows = sorted((figures(bundle) for bundle in bundles), key=lambda row: row.query)
                speeds = np.array([row.qps for row in rows])
                found[watched] = {"QPS": speeds, "build": np.array([1 / rows[0].build_seconds])}
            for name, values in ratios.items():
                values.extend((found[True][name] / found[False][name]).tolist())
    print("| watched / quiet, speed | median | least | largest |\n|---|---|---|---|")
    for name, values in ratios.items():
        print(f"| {name} | {np.median(values):.3f} | {min(values):.2f} | {max(values):.2f} |")
    return 0


def _run(arguments: list[str], *, watched: bool) -> None:
    """The command on a pseudo-terminal of its own, or with its output thrown away."""
    command = [sys.executable, "-m", "ann_bench", *arguments]
    if not watched:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return
    here, there = pty.openpty()
    reader = threading.Thread(target=_drain, args=(here,))
    reader.start()
    try:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=there, stdin=there)
    finally:
        os.close(there)
        reader.join()


def _drain(file: int) -> None:
    """Read what is drawn, as a terminal does."""
    try:
        while os.read(file, 1 << 16):
            pass
    except OSError:
        pass
    finally:
        os.close(file)
