"""Scoring of answers with recomputed distances against a naive loop: the share of its time.

100,000 queries x 10 ids of each data type. The naive loop takes one query and one id after the other: the same
rules (an id counts once, only ids of the base, by distance and by id), and the same distance (float64, summed
pairwise, see `ann_bench.truth.distance`), so that every hit must agree. It runs
on a fresh random sample of the queries in each round, right before or after the whole set is scored by
`ann_bench.judge.scoring.score`; hits are compared, a difference ends the benchmark with exit code 1.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.arrays import ArrayRef
from ann_bench.errors import AnnBenchError
from ann_bench.judge.scoring import FLOAT_TOLERANCE, score
from ann_bench.truth.distance import pair_distances
from ann_bench.truth.model import Problem, Truth

K = 10
GOAL = 0.10
Ids = npt.NDArray[np.int32]


def _array(path: Path, rng: np.random.Generator, shape: tuple[int, int], dtype: str) -> ArrayRef:
    values: npt.NDArray[Any] = (
        rng.standard_normal(shape, dtype=np.float32)
        if dtype == "float32"
        else rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)
    )
    values.tofile(path)
    return ArrayRef(str(path), dtype, shape)


def answers_of(problem: Problem, rng: np.random.Generator) -> tuple[Truth, Ids]:
    """Random rows as the truth, in the order of their distances; the answers share about two thirds of them."""
    shape = problem.queries.shape[0], K
    ids = rng.integers(0, problem.base.shape[0], shape).astype(np.int32)
    distances = pair_distances(problem.metric, problem.queries.open(), problem.base.open(), ids)
    order = np.lexsort((ids, distances), axis=1)
    truth = Truth(np.take_along_axis(ids, order, axis=1), np.take_along_axis(distances, order, axis=1), "")
    other = rng.integers(-1, problem.base.shape[0] + 10, shape).astype(np.int32)
    return truth, np.where(rng.random(shape) < 2 / 3, truth.ids, other)


def naive(problem: Problem, truth: Truth, ids: Ids, numbers: list[int]) -> list[tuple[int, int]]:
    """Hits by distance and by id of these queries, one id after the other."""
    base, queries = problem.base.open(), problem.queries.open()
    slack = FLOAT_TOLERANCE if base.dtype.kind == "f" else 0.0
    found = []
    for number in numbers:
        query, true = queries[number].astype(np.float64), truth.ids[number].tolist()
        kth = float(truth.distances[number, -1])
        seen: set[int] = set()
        hits = strict = 0
        for row in ids[number].tolist():
            if row in seen or not 0 <= row < len(base):
                continue
            seen.add(row)
            vector = base[row].astype(np.float64)
            if problem.metric == "euclidean":
                distance = float(np.sum((query - vector) ** 2))
            else:
                distance = -float(np.sum(query * vector))
            hits += distance <= kth + abs(kth) * slack
            strict += row in true
        found.append((min(hits, len(true)), strict))
    return found


def share(problem: Problem, sample: int, rng: np.random.Generator) -> float:
    """Time of `score` as a share of the time of the loop."""
    truth, ids = answers_of(problem, rng)
    numbers = rng.choice(len(ids), sample, replace=False).tolist()
    begin = time.perf_counter()
    wanted = naive(problem, truth, ids, numbers)
    middle = time.perf_counter()
    scored = score(problem, truth, ids)
    end = time.perf_counter()
    got = list(zip(scored.hits[numbers].tolist(), scored.hits_strict[numbers].tolist(), strict=True))
    if got != wanted:
        place = next(i for i, (a, b) in enumerate(zip(got, wanted, strict=True)) if a != b)
        raise AnnBenchError(f"query {numbers[place]}: hits {got[place]}, by the naive loop {wanted[place]}")
    return (end - middle) / ((middle - begin) * len(ids) / sample)


def main(argv: list[str]) -> int:
    """Run; returns 1 where a median misses the goal or hits differ."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks scoring", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=200)
    parser.add_argument("--sample", type=int, default=10_000, help="queries of the loop in a round")
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args(argv)
    print("python -m benchmarks scoring " + shlex.join(argv))
    print(f"{chosen.queries:,} queries x {K} ids, {chosen.rows:,} rows x {chosen.dim}")
    print(f"{'time of score / time of the loop':<34}{'median':>10}{'least':>10}{'largest':>10}")
    rng, worst = np.random.default_rng(1), 0.0
    for dtype in ("float32", "uint8"):
        with tempfile.TemporaryDirectory() as name:
            base = _array(Path(name) / "base", rng, (chosen.rows, chosen.dim), dtype)
            queries = _array(Path(name) / "queries", rng, (chosen.queries, chosen.dim), dtype)
            for metric in ("euclidean", "ip"):
                problem = Problem(metric, K, base, queries)
                shares = [share(problem, min(chosen.sample, chosen.queries), rng) for _ in range(chosen.rounds)]
                middle = statistics.median(shares)
                worst = max(worst, middle)
                print(f"{dtype + ', ' + metric:<34}{middle:>10.1%}{min(shares):>10.1%}{max(shares):>10.1%}")
    print(f"goal: less than {GOAL:.0%}: {'reached' if worst < GOAL else 'MISSED'}")
    return 0 if worst < GOAL else 1
