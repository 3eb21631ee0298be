"""What the harness costs: QPS through the judge against QPS of the same entry in a bare loop.

Both ways call the same index in the same worker (benchmarks/entries/both) with the same queries, so that neither
the luck of one index build nor whatever else the machine does favours one of them; a coin says which of the two
goes first in each round, since a fixed pattern alone moved the ratio by 2 %. The bare loop reads the clock right around
the call, on queries in its own memory, while the keeper of the sandbox is stopped.

Beside it: the round trip of an entry that answers at once, and the time from the order to start a worker until it is
ready to build.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil
import yaml

from ann_bench.datasets.home import home
from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest
from ann_bench.entries.discovery import choose, entry_at
from ann_bench.entries.entry import Entry, plan_configs
from ann_bench.judge.asked import published
from ann_bench.judge.driver import Driver
from ann_bench.judge.one_build import files
from ann_bench.judge.plan import Options, Setting, setting
from ann_bench.progress import silent
from ann_bench.sandbox import Reading, WorkerSpec, find_sandbox
from ann_bench.tracks import find_track
from ann_bench.workload import Search

ENTRIES = Path(__file__).resolve().parent / "entries"


def main(arguments: list[str]) -> int:
    """Run the benchmark and print its ratios."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks harness", description=__doc__)
    parser.add_argument("--sandbox", default="process")
    parser.add_argument("--dataset", default="yfcc-like-1M")
    parser.add_argument("--algorithm", default="faiss-ivf")
    parser.add_argument("--config", type=int, default=2, help="which of the entry's query configs, from 0")
    parser.add_argument("--queries", type=int, default=10_000, help="how many queries a batch of the entry has")
    parser.add_argument("--rounds", type=int, default=40)
    chosen = parser.parse_args(arguments)
    track = find_track("filtered")
    data = prepare(find_manifest(chosen.dataset, track.name))
    common = setting(track, data, find_sandbox(chosen.sandbox), Options())
    ratios = compare(common, chosen)
    trips = {count: round_trips(common, chosen.rounds, count) for count in (1, 1000, data.queries.count)}
    starts = [start_to_ready(common, chosen.algorithm) for _ in range(5)]
    middle = statistics.median(ratios)
    print(f"{chosen.algorithm} on {data.name}, sandbox {chosen.sandbox}, batches of {chosen.queries:,}:")
    print("QPS through the judge / QPS in a bare loop")
    print(
        f"  median {middle:.4f}   min {min(ratios):.4f}   max {max(ratios):.4f}   ({len(ratios)} rounds; goal >= 0.99)"
    )
    print("null entry, round trip of a batch")
    for count, seconds in trips.items():
        print(f"  {count:>9,} queries: {milliseconds(seconds)}" + ("   (goal < 1 ms)" if count < 10_000 else ""))
    print(f"from the order to start a worker until it is ready to build: {milliseconds(starts)}   (goal < 3 s)")
    share = statistics.median(trips[data.queries.count])
    print(
        f"fixed cost of a batch of {data.queries.count:,} as a share of one second: {share * 100:.2f} %   (goal < 2 %)"
    )
    quick = all(statistics.median(seconds) < 1e-3 for count, seconds in trips.items() if count < 10_000)
    return 0 if middle >= 0.99 and share < 0.02 and quick and statistics.median(starts) < 3 else 1


def milliseconds(seconds: list[float]) -> str:
    """Median, least and largest, as text."""
    middle, least, most = statistics.median(seconds), min(seconds), max(seconds)
    return f"median {middle * 1e3:.2f} ms   min {least * 1e3:.2f}   max {most * 1e3:.2f}"


def compare(common: Setting, chosen: argparse.Namespace) -> list[float]:
    """Ratios of judged to bare QPS, one for each pair of batches."""
    entry = choose("filtered", home(), [chosen.algorithm])[0]
    build, configs = plan_configs(entry, common.dataset.name)
    with tempfile.TemporaryDirectory() as folder:
        wrapped = _wrapped(entry, Path(folder) / "both")
        driver = ready(common, wrapped, {"name": entry.config.class_, "inner": build})
    still = Still(driver.session)
    driver.session = still
    search = Search(chosen.queries, common.k, filtered=True)
    asked = published(common.dataset, search)
    rng = np.random.default_rng(1)

    def seconds(bare: bool, order: npt.NDArray[np.intp]) -> float:
        driver.set_query_arguments({"bare": bare, "inner": configs[chosen.config]})
        still.next_call = bare
        window = driver.search(asked, search, order)[1]
        return float(driver.stats()["seconds"]) if bare else window.seconds

    ratios = []
    try:
        for turn in range(chosen.rounds + 1):
            order = rng.permutation(search.queries)
            bare_first = bool(rng.integers(2))
            took = {bare: seconds(bare, order) for bare in (bare_first, not bare_first)}
            if turn:  # the first pair warms up
                ratios.append(took[True] / took[False])
    finally:
        driver.close()
    return ratios


class Still:
    """A session whose keeper is stopped between the two readings around the next call, where that is wanted."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._keeper = next(
            child.pid for child in psutil.Process().children() if "ann_bench.keeper" in str(child.cmdline())
        )
        self._stopped = False
        self.next_call = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def reading(self) -> Reading:
        """A reading of the session; the keeper goes on for it."""
        if self._stopped:
            os.kill(self._keeper, signal.SIGCONT)
            self._stopped = self.next_call = False
        reading: Reading = self._session.reading()
        if self.next_call:
            os.kill(self._keeper, signal.SIGSTOP)
            self._stopped = True
        return reading


def round_trips(common: Setting, rounds: int, count: int) -> list[float]:
    """Seconds that a batch of the null entry takes, as the judge sees it."""
    driver = ready(common, entry_at(ENTRIES / "null", "filtered"), {})
    search = Search(count, common.k, filtered=True)
    asked = published(common.dataset, search)
    order = np.arange(count)
    try:
        driver.set_query_arguments({"queries": count, "k": search.k})
        driver.search(asked, search, order)
        return [driver.search(asked, search, order)[1].seconds for _ in range(rounds)]
    finally:
        driver.close()


def start_to_ready(common: Setting, algorithm: str) -> float:
    """Seconds from the order to start a worker to its being ready to build (import and constructor included)."""
    entry = choose("filtered", home(), [algorithm])[0]
    begin = time.perf_counter()
    driver = _started(common, entry, plan_configs(entry, common.dataset.name)[0])
    took = time.perf_counter() - begin
    driver.abandon()
    return took


def _wrapped(entry: Entry, folder: Path) -> Entry:
    """The entry `both` around another one, whose files and requirements come with it."""
    shutil.copytree(ENTRIES / "both", folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(entry.folder, folder / "inner", ignore=shutil.ignore_patterns("__pycache__"))
    config = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    (folder / "config.yaml").write_text(yaml.safe_dump({**config, "requires": entry.config.requires}), encoding="utf-8")
    return entry_at(folder, "filtered")


def ready(common: Setting, entry: Entry, build: dict[str, Any]) -> Driver:
    """A driver of an entry, its index built."""
    driver = _started(common, entry, build)
    driver.change(common.workload.operations[0])
    return driver


def _started(common: Setting, entry: Entry, build: dict[str, Any]) -> Driver:
    common.sandbox.prepare([entry], Path("results/logs"), silent)
    session = common.sandbox.open(WorkerSpec(entry, common.limits, common.cpus, files(common.dataset)))
    driver = Driver(session, common.dataset, common.limits)
    driver.start(entry, build)
    return driver
