"""The exact answers to the 640 searches of a stream against one scan of all its rows: ratio of times in one run.

The stream has the shape of the 1,280 steps of the competition's final runbook: rows lie in 64 clusters, and in each
of five rounds a portion of every cluster is inserted, one step a cluster, then the oldest part of every cluster is
deleted; each of these steps is followed by a search. About a third of the rows are live at most.

    stream    `truths_for` from nothing: keys, scan, merges, the file of all answers written, hashed and mapped.
    scan      `exact` of the same queries over all rows at once.

They take turns, in a new random order each round; CPU time is told too, for machines that do other work. Memory is
the process's own (anonymous and shared pages) during
the stream, above what it had before. The answers of some searches are compared with `exact` of each alone, and
nothing but the answers may be left in the cache: a difference ends the benchmark with exit code 1.
"""

from __future__ import annotations

import argparse
import re
import shlex
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ann_bench.arrays import ArrayRef
from ann_bench.datasets.dataset import Dataset, QuerySet
from ann_bench.errors import AnnBenchError
from ann_bench.truth.compute import passes
from ann_bench.truth.exact import exact
from ann_bench.truth.model import Truth
from ann_bench.truth.problems import Searches, problems
from ann_bench.truth.store import truths_for
from ann_bench.workload import Delete, Insert, Operation, Search, Workload

K, DIM = 10, 100
CLUSTERS, ROUNDS = 64, 5
GOAL = 2.0
_CHECKED_SEARCHES, _CHECKED_QUERIES = 6, 200

Numbers = npt.NDArray[np.int64]


def stream(rows: int, queries: int) -> tuple[Workload, Numbers]:
    """The workload over so many rows, and where each cluster ends."""
    rng = np.random.default_rng(20_23)
    sizes = rng.lognormal(0.0, 1.0, CLUSTERS)
    ends = np.round(np.cumsum(sizes) / sizes.sum() * rows).astype(np.int64)
    steps: list[Operation] = []
    oldest = np.concatenate([[0], ends[:-1]])
    cuts = np.sort(rng.random((CLUSTERS, ROUNDS - 1)), axis=1)
    shares = np.column_stack([np.zeros(CLUSTERS), cuts, np.ones(CLUSTERS)])
    bounds = (oldest[:, None] + shares * (ends - oldest)[:, None]).astype(np.int64)
    bounds[:, -1] = ends
    for turn in range(ROUNDS):
        for cluster in range(CLUSTERS):
            ids = range(int(bounds[cluster, turn]), int(bounds[cluster, turn + 1]))
            steps += [Insert(ids, ids), Search(queries, K)]
        for cluster in range(CLUSTERS):
            first, last = int(oldest[cluster]), int(bounds[cluster, turn + 1])
            oldest[cluster] = first + int((last - first) * rng.uniform(0.75, 1.0))
            steps += [Delete(range(first, int(oldest[cluster]))), Search(queries, K)]
    return Workload(tuple(steps), rows), ends


def dataset_of(folder: Path, ends: Numbers, queries: int) -> Dataset:
    """Vectors around the centre of each cluster, rows in the order of the clusters; queries of all clusters."""
    rng = np.random.default_rng(7)
    rows = int(ends[-1])
    centres = rng.standard_normal((CLUSTERS, DIM), dtype=np.float32)

    def around(clusters: Numbers) -> npt.NDArray[np.float32]:
        return centres[clusters] + rng.standard_normal((len(clusters), DIM), dtype=np.float32)

    with (folder / "base").open("wb") as file:
        for start in range(0, rows, 1 << 16):
            numbers = np.arange(start, min(start + (1 << 16), rows))
            around(np.searchsorted(ends, numbers, side="right")).tofile(file)
    around(rng.integers(0, CLUSTERS, queries)).tofile(folder / "queries")
    base, asked = (ArrayRef(str(folder / n), "float32", (c, DIM)) for n, c in (("base", rows), ("queries", queries)))
    return Dataset("stream", "euclidean", base, None, QuerySet("public", asked))


def _own_bytes() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return sum(int(size) for size in re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+) kB", status, re.MULTILINE)) * 1024


@contextmanager
def _peak() -> Iterator[list[int]]:
    """The most memory of its own that the process has inside, sampled; ends up in the list."""
    found, ended, before = [0], threading.Event(), _own_bytes()

    def watch() -> None:
        while not ended.wait(0.01):
            found[0] = max(found[0], _own_bytes() - before)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()


def _check(searches: Searches, truths: Sequence[Truth], cache: Path) -> None:
    for place in np.linspace(0, len(searches) - 1, _CHECKED_SEARCHES).astype(int).tolist():
        problem, truth = searches[place], truths[place]
        count = min(_CHECKED_QUERIES, problem.queries.shape[0])
        ids, distances = exact(replace(problem, queries=problem.queries.head(count)))
        if not (np.array_equal(truth.ids[:count], ids) and np.array_equal(truth.distances[:count], distances)):
            raise AnnBenchError(f"search {place}: the answers differ from those of the search alone")
    left = sorted(path.name for path in (cache / "truth").iterdir() if path.suffix != ".lock")
    if len(left) != 1:
        raise AnnBenchError(f"more than the answers was left: {', '.join(left)}")


def main(argv: list[str]) -> int:
    """Run it; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks truth-streaming", description=(__doc__ or "").strip())
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", type=float, default=2.0, help="GiB that the stream may use")
    options = parser.parse_args(argv)
    ratios, efforts, peaks = [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workload, ends = stream(options.rows, options.queries)
        searches = problems(dataset_of(folder, ends, options.queries), workload)
        (one,) = passes(searches)
        memory = int(options.memory * 2**30)
        blocks = -(-options.queries // one.block_queries(memory))
        print(f"python -m benchmarks truth-streaming {shlex.join(argv)}")
        print(
            f"{options.rows:,} x {DIM} float32, {options.queries:,} queries, {len(workload.operations):,} steps, ",
            end="",
        )
        print(f"{len(searches)} searches, {len(one.groups)} lifetimes, {blocks} block(s)", flush=True)
        coin = np.random.default_rng()
        for number in range(options.rounds):
            took, spent = {}, {}
            for way in coin.permutation(["stream", "scan"]).tolist():
                start, spent[way] = time.perf_counter(), -time.process_time()
                if way == "scan":
                    exact(searches.kinds[0])
                else:
                    with _peak() as peak:
                        truths = truths_for(searches, folder / str(number), memory_bytes=memory)
                    peaks.append(peak[0])
                spent[way] += time.process_time()
                took[way] = time.perf_counter() - start
            _check(searches, [one for one in truths if isinstance(one, Truth)], folder / str(number))
            del truths
            for path in (folder / str(number) / "truth").glob("*.truth"):
                path.unlink()
            ratios.append(took["stream"] / took["scan"])
            efforts.append(spent["stream"] / spent["scan"])
            print(f"  stream {took['stream']:.1f} s, scan {took['scan']:.1f} s: {ratios[-1]:.2f}; ", end="")
            print(f"CPU {spent['stream']:.1f} s, {spent['scan']:.1f} s: {efforts[-1]:.2f}", flush=True)
    middle = statistics.median(ratios)
    print(f"stream / scan: median {middle:.2f}, least {min(ratios):.2f}, largest {max(ratios):.2f} (goal <= {GOAL})")
    middle_effort, least, largest = statistics.median(efforts), min(efforts), max(efforts)
    print(f"CPU time: median {middle_effort:.2f}, least {least:.2f}, largest {largest:.2f}")
    print(f"own memory at most {max(peaks) / 2**30:.2f} GiB (goal < 4 GiB)")
    return 0 if middle <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
