"""`python -m benchmarks reading`: how long it takes to show a thousand results, cold and again.

The results are made: 50 algorithms x 20 configs, 10,000 queries each, five runs. Each command is a process of its own,
as users start it. Cold: with an empty cache. Again: nothing has changed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from ann_bench.results.model import INVALID_KINDS, Bundle, Identity, Outcome, Score, Status, Step, Usage
from ann_bench.results.store import Store

ALGORITHMS, CONFIGS, QUERIES, RUNS, K = 50, 20, 10_000, 5, 10


def main(argv: list[str]) -> int:
    """Make the results, run each command twice."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks reading", description=__doc__)
    parser.add_argument("--commands", default="export,leaderboard,plot,site")
    chosen = parser.parse_args(argv).commands.split(",")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        store = Store(place / "results")
        for number in range(ALGORITHMS * CONFIGS):
            store.write(_bundle(number))
        print(f"{'command':<14}{'cold, s':>9}{'again, s':>10}")
        for name in chosen:
            cold, again = (_timed(name, place) for _ in range(2))
            print(f"{name:<14}{cold:>9.2f}{again:>10.2f}", flush=True)
    return 0


def _timed(name: str, place: Path) -> float:
    arguments = {
        "export": ["--output", str(place / "r.csv")],
        "leaderboard": [],
        "plot": ["--output", str(place / "plots")],
    }
    results = ["--results", str(place / "results")]
    command = [name, str(place / "site"), *results] if name == "site" else [name, *results, *arguments[name]]
    environment = {**os.environ, "ANN_BENCH_CACHE": str(place / f"cache-{name}")}
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "ann_bench", *command], check=True, env=environment, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - start


def _bundle(number: int) -> Bundle:
    rng = np.random.default_rng(number)
    algorithm, config = divmod(number, CONFIGS)
    recall, qps = min(0.999, 0.6 + 0.02 * config + 0.0003 * algorithm), 50_000 / (1 + config) * (1 + algorithm / 50)
    hits = rng.binomial(K, recall, QUERIES).astype(np.uint16)
    score = Score(hits, hits, hits, np.full(QUERIES, K, np.uint16), dict.fromkeys(INVALID_KINDS, 0))
    fields = {
        "track": "filtered", "dataset": "made-10M", "queries": "public", "algorithm": f"algorithm-{algorithm:02d}",
        "build": {"m": 16}, "query": {"ef": 10 * (1 + config)}, "k": K, "runs": RUNS, "builds": 1, "sandbox": "docker",
        "cpus": 8, "memory_limit_bytes": 2**34, "limits": {}, "data_hash": {}, "machine": "made",
    }  # fmt: skip
    return Bundle(
        identity=Identity(fields),
        outcome=Outcome(Status.OK),
        provenance={"date": "2026-11-21T00:00:00+00:00", "data": {"rows": 10**7, "dim": 192}, "seed": 1},
        counts=(QUERIES,),
        seconds=QUERIES / qps * rng.lognormal(0, 0.02, (1, RUNS, 1)),
        answer_of=np.zeros((1, RUNS, 1), np.int32),
        answers=(rng.integers(0, 10**7, (QUERIES, K)).astype(np.int32),),
        scores=(score,),
        steps=(Step(0, 0, "build", 30.0 + algorithm, 200.0),),
        usage=Usage(peak_memory_bytes=2**30 + number * 2**20),
        truths=("t" * 32,),
    )
