"""What it costs to be a program: round trips of a program of C++ against those of a class.

Both answer at once. One batch of the class, one of the program, in turns; a coin says which goes first. The program is
compiled for the occasion.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest
from ann_bench.entries.discovery import entry_at
from ann_bench.errors import UsageError
from ann_bench.judge.asked import published
from ann_bench.judge.driver import Driver
from ann_bench.judge.plan import Options, Setting, setting
from ann_bench.sandbox import find_sandbox
from ann_bench.tracks import find_track
from ann_bench.workload import Search
from benchmarks.harness import ENTRIES, milliseconds, ready

COMPILE = ["g++", "-std=c++17", "-O3", "-march=native", "-o", "server", "server.cpp"]


def main(arguments: list[str]) -> int:
    """Run the benchmark and print its times."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks programs", description=__doc__)
    parser.add_argument("--dataset", default="debian-20k")
    parser.add_argument("--rounds", type=int, default=100)
    chosen = parser.parse_args(arguments)
    if shutil.which(COMPILE[0]) is None:
        raise UsageError(f"{COMPILE[0]} is not on PATH; try: apt-get install {COMPILE[0]}")
    track = find_track("filtered")
    common = setting(track, prepare(find_manifest(chosen.dataset, track.name)), find_sandbox("process"), Options())
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "null-program"
        shutil.copytree(ENTRIES / "null-program", program)
        subprocess.run(COMPILE, cwd=program, check=True)
        drivers = {"class": ready(common, entry_at(ENTRIES / "null", "filtered"), {})}
        try:
            drivers["program"] = ready(common, entry_at(program, "filtered"), {})
            counts = sorted({1, 1000, common.dataset.queries.count})
            slower = [report(common, drivers, count, chosen.rounds) for count in counts]
        finally:
            for driver in drivers.values():
                driver.close()
    return 1 if any(slower) else 0


def report(common: Setting, drivers: dict[str, Driver], count: int, rounds: int) -> bool:
    """Print the times of batches of so many queries; whether the program's median is the longer one."""
    search = Search(count, common.k, filtered=True)
    asked, order = published(common.dataset, search), np.arange(count)
    rng = np.random.default_rng(1)
    took: dict[str, list[float]] = {name: [] for name in drivers}
    for driver in drivers.values():
        driver.set_query_arguments({"queries": count, "k": search.k})
        driver.search(asked, search, order)
    for _ in range(rounds):
        for name in rng.permutation(list(drivers)):
            took[name].append(drivers[name].search(asked, search, order)[1].seconds)
    for name, seconds in took.items():
        print(f"{count:>9,} queries, {name:<8} {milliseconds(seconds)}")
    return bool(np.median(took["program"]) > np.median(took["class"]))
