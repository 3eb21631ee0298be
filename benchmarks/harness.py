"""What the harness costs: QPS through the judge against QPS of the same entry in a bare loop.

Both hold the same index in a process of their own, under the same CPUs and thread settings, and answer the same
queries in turn, so that whatever else the machine does meets both. The bare loop reads the clock inside its own
process, right around the call.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ann_bench.datasets.dataset import Dataset
from ann_bench.datasets.home import home
from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest
from ann_bench.entries.discovery import choose, entry_at
from ann_bench.entries.entry import Entry, plan_configs
from ann_bench.judge.driver import Driver
from ann_bench.judge.measure import files
from ann_bench.judge.plan import Options, Setting, setting
from ann_bench.sandbox import WorkerSpec, find_sandbox
from ann_bench.tracks import find_track
from ann_bench.workload import Build, Search

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Case:
    """One entry with one query config on one data set."""

    setting: Setting
    entry: Entry
    config: int

    @property
    def arguments(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The build and the query arguments."""
        build, queries = plan_configs(self.entry, self.setting.dataset.name)
        return build, queries[self.config]


def main(arguments: list[str]) -> int:
    """Run the benchmark and print its ratios."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks harness", description=__doc__)
    parser.add_argument("--dataset", default="yfcc-like-1M")
    parser.add_argument("--algorithm", default="faiss-ivf")
    parser.add_argument("--config", type=int, default=2, help="which of the entry's query configs, from 0")
    parser.add_argument("--queries", type=int, default=20_000, help="how many queries a batch of the entry has")
    parser.add_argument("--rounds", type=int, default=15)
    chosen = parser.parse_args(arguments)
    common = _setting(chosen.dataset)
    entry = choose("filtered", home(), [chosen.algorithm])[0]
    null = entry_at(HERE / "entries" / "null", "filtered")
    ratios = compare(Case(common, entry, chosen.config), chosen.queries, chosen.rounds)
    low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
    print(
        f"{chosen.algorithm} on {chosen.dataset}, batches of {chosen.queries:,}: QPS through the judge / QPS in a bare loop"
    )
    print(f"  median {middle:.4f}   min {low:.4f}   max {high:.4f}   ({len(ratios)} alternating rounds; goal >= 0.99)")
    costs = fixed_cost(Case(common, null, 0), chosen.rounds)
    share = statistics.median(costs) * 100
    print(f"null entry, {common.dataset.queries.count:,} queries: the fixed cost of a batch as a share of one second")
    print(f"  median {share:.2f} %   min {min(costs) * 100:.2f} %   max {max(costs) * 100:.2f} %   (goal < 2 %)")
    return 0 if middle >= 0.99 and share < 2 else 1


def _setting(dataset: str) -> Setting:
    track = find_track("filtered")
    data: Dataset = prepare(find_manifest(dataset, track.name), "public")
    return setting(track, data, find_sandbox("process"), Options())


def _ready(case: Case) -> Driver:
    """A driver with its index built."""
    build, query = case.arguments
    spec = WorkerSpec(case.entry.folder, case.setting.limits, files(case.setting.dataset))
    driver = Driver(case.setting.sandbox.open(spec), case.setting.dataset, case.setting.limits)
    driver.start(case.entry, build)
    driver.change(Build(range(case.setting.dataset.rows)))
    driver.set_query_arguments(query)
    return driver


def compare(case: Case, queries: int, rounds: int) -> list[float]:
    """Ratios of judged to bare QPS, one for each pair of batches."""
    search = Search(queries, case.setting.k, filtered=True)
    judged = _ready(case)
    bare = BareLoop(case)
    rng = np.random.default_rng(1)
    ratios = []
    try:
        for turn in range(rounds + 1):
            order = rng.permutation(queries)
            if turn % 2:
                through, alone = judged.search(search, order)[1].seconds, bare.batch(turn, queries)
            else:
                alone, through = bare.batch(turn, queries), judged.search(search, order)[1].seconds
            if turn:  # the first pair warms both up
                ratios.append(alone / through)
    finally:
        bare.close()
        judged.close()
    return ratios


def fixed_cost(case: Case, rounds: int) -> list[float]:
    """Seconds that a batch of the null entry takes, as the judge sees it."""
    driver = _ready(case)
    try:
        search = case.setting.workload.searches[0]
        order = np.arange(search.queries)
        driver.search(search, order)
        return [driver.search(search, order)[1].seconds for _ in range(rounds)]
    finally:
        driver.close()


class BareLoop:
    """The same entry in a plain process that times its own calls."""

    def __init__(self, case: Case) -> None:
        build, query = case.arguments
        limits = case.setting.limits
        code = "from benchmarks.harness import bare_loop; bare_loop()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=HERE.parent,
            env=None if limits.cpus is None else _threads(limits.cpus),
        )
        self._say(repr((case.setting.dataset.name, str(case.entry.folder), build, query, limits.cpus)))
        self._hear()

    def batch(self, seed: int, queries: int) -> float:
        """Seconds for one batch of the first queries in a fresh order."""
        self._say(f"{seed} {queries}")
        return float(self._hear())

    def close(self) -> None:
        """End the process."""
        if self._process.stdin is not None and self._process.stdout is not None:
            self._process.stdin.close()
            self._process.wait()
            self._process.stdout.close()

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _hear(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the bare loop ended")
        return line


def _threads(cpus: int) -> dict[str, str]:
    import os

    return {**os.environ, "OMP_NUM_THREADS": str(cpus), "OPENBLAS_NUM_THREADS": str(cpus), "MKL_NUM_THREADS": str(cpus)}


def bare_loop() -> None:
    """The child's side: build, then time one call for each line on standard input."""
    import ast
    import importlib
    import time

    name, folder, build, query, threads = ast.literal_eval(sys.stdin.readline())
    data = prepare(find_manifest(name, "filtered"), "public")
    config = entry_at(Path(folder), "filtered").config
    sys.path.insert(0, folder)
    module, _, class_name = config.class_.rpartition(".")
    made = getattr(importlib.import_module(module), class_name)(data.metric, data.dim, data.dtype, threads, **build)
    made.fit(data.base.open(), data.tags.open() if data.tags else None)
    made.set_query_arguments(**query)
    print("ready", flush=True)
    queries, tags = data.queries.vectors.open(), data.queries.tags.open() if data.queries.tags else None
    for line in sys.stdin:
        seed, count = (int(word) for word in line.split())
        order = np.random.default_rng(seed).permutation(count)
        mixed, mixed_tags = queries[order], None if tags is None else tags[order]
        start = time.perf_counter()
        made.query(mixed, 10, mixed_tags)
        print(time.perf_counter() - start, flush=True)
