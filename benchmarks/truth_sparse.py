"""Exact truth of sparse inner products against scipy's blocked CSR products: ratios of queries per second.

The rows and queries are made here from a seed: about 30,000 dimensions, 130 nonzeros a row and 51 a query, terms in a
flattened Zipf distribution, weights log(1 + gamma), each term on its own (no topics: hard to prune).

scipy multiplies a block of queries with blocks of 50,000 rows, transposed beforehand and not timed, makes each
product dense and partitions it; the best of the blocks are merged. `exact` is timed from the opening of its arrays
to the last answer, indexing of all rows included, for more queries than scipy: the ratio is of queries per second, and
the indexing weighs more the fewer they are. Both use one thread, then both use all, in turns within each round.
Answers are compared: a difference ends the benchmark with exit code 1.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from ann_bench.arrays import held_csr
from ann_bench.errors import AnnBenchError
from ann_bench.truth import cores
from ann_bench.truth.exact import exact
from ann_bench.truth.model import Problem

K = 10
GOAL = 5
DIMENSIONS = 30_000
BLOCK = 50_000

Answers = npt.NDArray[Any]


def make(rows: int, draws: int, law: tuple[float, float], gamma: tuple[float, float], seed: int) -> csr_matrix:
    """Rows of terms drawn with the probability 1 / (rank + law[1]) ** law[0]; twins of a row count once."""
    rng = np.random.default_rng(seed)
    ends = np.cumsum((np.arange(DIMENSIONS) + law[1]) ** -law[0])
    name_of = np.random.default_rng(7).permutation(DIMENSIONS).astype(np.int32)  # rank says nothing about the number
    counts, columns, weights = [np.zeros(1, dtype=np.int64)], [], []
    for start in range(0, rows, 20_000):
        shape = min(20_000, rows - start), draws
        drawn = np.sort(name_of[np.searchsorted(ends, rng.random(shape) * ends[-1])], axis=1)
        kept = np.ones(shape, dtype=bool)
        np.not_equal(drawn[:, 1:], drawn[:, :-1], out=kept[:, 1:])
        counts.append(kept.sum(axis=1))
        columns.append(drawn[kept])
        weights.append(np.log1p(rng.gamma(*gamma, len(columns[-1]))).astype(np.float32))
    indptr = np.cumsum(np.concatenate(counts))
    return csr_matrix((np.concatenate(weights), np.concatenate(columns), indptr), shape=(rows, DIMENSIONS), copy=False)


class Scipy:
    """Products of CSR matrices block by block; gives the K largest scores, descending."""

    def __init__(self, base: csr_matrix) -> None:
        self._blocks = [base[start : start + BLOCK].T.tocsr() for start in range(0, base.shape[0], BLOCK)]

    def answer(self, queries: csr_matrix, threads: int) -> Answers:
        """The scores of the nearest rows of each query."""
        with ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(lambda block: self._part(queries, block), self._blocks))
        return -np.sort(np.partition(np.concatenate(parts, axis=1), K - 1, axis=1)[:, :K], axis=1)

    @staticmethod
    def _part(queries: csr_matrix, block: csr_matrix) -> Answers:
        scores = -(queries @ block).toarray()
        return np.asarray(np.partition(scores, K - 1, axis=1)[:, :K])


def _timed(work: Callable[[], Answers]) -> tuple[float, Answers]:
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def _ratio(problem: Problem, force: Scipy, sample: npt.NDArray[Any], threads: int) -> float:
    """Queries per second of exact truth, divided by scipy's."""
    cores.threads = lambda: threads
    queries = problem.queries.open()
    slow, scores = _timed(lambda: force.answer(queries[sample], threads))
    fast, distances = _timed(lambda: exact(problem)[1])
    if not np.allclose(-distances[sample], scores, rtol=1e-5):  # scipy adds in float32
        raise AnnBenchError("scipy and exact truth differ")
    return (len(distances) / fast) / (len(sample) / slow)


def _line(name: str, ratios: Sequence[float]) -> str:
    return f"{name:<44}{statistics.median(ratios):>10,.1f} x {min(ratios):>10,.1f} x {max(ratios):>10,.1f} x"


def main(argv: list[str]) -> int:
    """Run; returns 1 where a median misses the goal or answers differ."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks truth-sparse", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the base (default: 1,000,000)")
    parser.add_argument("--queries", type=int, default=2_000, help="queries of exact truth (default: 2,000)")
    parser.add_argument("--sample", type=int, default=50, help="queries of scipy in a round (default: 50)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default: 5)")
    options = parser.parse_args(argv)
    base = make(options.rows, 134, (0.75, 40), (1.2, 0.9), 1)
    queries = make(options.queries, 51, (0.65, 100), (1.0, 1.3), 2)
    held = np.bincount(base.indices, minlength=DIMENSIONS)
    products = float(held[queries.indices].sum()) / options.queries / options.rows
    print("python -m benchmarks truth-sparse " + shlex.join(argv))
    print(f"{options.rows:,} rows of {base.nnz / options.rows:.0f} terms, {options.queries:,} queries of ", end="")
    print(f"{queries.nnz / options.queries:.0f}, {products:.2f} terms in common on average, k = {K}")
    problem, force = Problem("ip", K, held_csr(base), held_csr(queries)), Scipy(base)
    rng, every = np.random.default_rng(3), cores.threads()
    exact(Problem("ip", K, held_csr(base[:200_000]), held_csr(queries)))  # loads the kernels
    ratios: dict[int, list[float]] = {count: [] for count in sorted({1, every})}
    for _ in range(options.rounds):
        for threads, found in ratios.items():
            sample = rng.choice(options.queries, min(options.sample, options.queries), replace=False)
            found.append(_ratio(problem, force, sample, threads))
            print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    print(f"{'queries per second, exact truth / scipy':<44}{'median':>12}{'min':>12}{'max':>13}")
    for threads, found in ratios.items():
        print(_line(f"both with {threads} thread{'s' * (threads > 1)}", found))
    reached = min(statistics.median(found) for found in ratios.values()) >= GOAL
    print(f"goal: at least {GOAL} x: {'reached' if reached else 'MISSED'}")
    return 0 if reached else 1
