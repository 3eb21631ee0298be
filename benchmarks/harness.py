"""What the harness costs: QPS through the judge against QPS of the same entry in a bare loop.

Both ways call the same index in the same process (benchmarks/entries/both) with the same queries, so that neither
the luck of one index build nor whatever else the machine does favours one of them; a coin says which of the two
goes first in each round, since a fixed pattern alone moved the ratio by 2 %. The bare loop reads the clock right around
the call, on queries in its own memory, while the keeper of the sandbox is stopped.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.datasets.home import home
from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest
from ann_bench.entries.discovery import choose, entry_at
from ann_bench.entries.entry import plan_configs
from ann_bench.judge.asked import published
from ann_bench.judge.driver import Driver
from ann_bench.judge.measure import files
from ann_bench.judge.plan import Options, Setting, setting
from ann_bench.sandbox import WorkerSpec, find_sandbox
from ann_bench.tracks import find_track
from ann_bench.workload import Search

ENTRIES = Path(__file__).resolve().parent / "entries"


def main(arguments: list[str]) -> int:
    """Run the benchmark and print its ratios."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks harness", description=__doc__)
    parser.add_argument("--dataset", default="yfcc-like-1M")
    parser.add_argument("--algorithm", default="faiss-ivf")
    parser.add_argument("--config", type=int, default=2, help="which of the entry's query configs, from 0")
    parser.add_argument("--queries", type=int, default=10_000, help="how many queries a batch of the entry has")
    parser.add_argument("--rounds", type=int, default=40)
    chosen = parser.parse_args(arguments)
    track = find_track("filtered")
    data = prepare(find_manifest(chosen.dataset, track.name))
    common = setting(track, data, find_sandbox("process"), Options())
    ratios = compare(common, chosen)
    middle = statistics.median(ratios)
    print(
        f"{chosen.algorithm} on {data.name}, batches of {chosen.queries:,}: QPS through the judge / QPS in a bare loop"
    )
    print(
        f"  median {middle:.4f}   min {min(ratios):.4f}   max {max(ratios):.4f}   ({len(ratios)} rounds; goal >= 0.99)"
    )
    costs = fixed_cost(common, chosen.rounds)
    share = statistics.median(costs) * 100
    print(f"null entry, {data.queries.count:,} queries: the fixed cost of a batch as a share of one second")
    print(f"  median {share:.2f} %   min {min(costs) * 100:.2f} %   max {max(costs) * 100:.2f} %   (goal < 2 %)")
    return 0 if middle >= 0.99 and share < 2 else 1


def compare(common: Setting, chosen: argparse.Namespace) -> list[float]:
    """Ratios of judged to bare QPS, one for each pair of batches."""
    entry = choose("filtered", home(), [chosen.algorithm])[0]
    build, configs = plan_configs(entry, common.dataset.name)
    inner = configs[chosen.config]
    driver = _ready(common, "both", {"folder": str(entry.folder), "name": entry.config.class_, "inner": build})
    search = Search(chosen.queries, common.k, filtered=True)
    asked = published(common.dataset, search)
    rng = np.random.default_rng(1)

    def seconds(bare: bool, order: npt.NDArray[np.intp]) -> float:
        driver.set_query_arguments({"bare": bare, "inner": inner})
        window = driver.search(asked, search.k, order)[1]
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


def fixed_cost(common: Setting, rounds: int) -> list[float]:
    """Seconds that a batch of the null entry takes, as the judge sees it."""
    driver = _ready(common, "null", {})
    search = common.workload.searches[0]
    asked = published(common.dataset, search)
    order = np.arange(search.queries)
    try:
        driver.set_query_arguments({"queries": search.queries, "k": search.k})
        driver.search(asked, search.k, order)
        return [driver.search(asked, search.k, order)[1].seconds for _ in range(rounds)]
    finally:
        driver.close()


def _ready(common: Setting, name: str, build: dict[str, Any]) -> Driver:
    """A driver of one of the benchmark's own entries, its index built."""
    entry = entry_at(ENTRIES / name, "filtered")
    session = common.sandbox.open(WorkerSpec(entry, common.limits, common.cpus, files(common.dataset)))
    driver = Driver(session, common.dataset, common.limits)
    driver.start(entry, build)
    driver.change(common.workload.operations[0])
    return driver
