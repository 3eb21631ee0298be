"""Exact filtered truth against brute force query by query: ratios of queries per second.

Two ways to write brute force in numpy, both with everything that can be prepared once prepared beforehand and
not timed (while all that `exact` does is timed, from the opening of the files to the last answer):

  all rows    One matrix-vector product over all rows, held as float32 with their squared lengths; rows that lack
              a tag are masked (the rows of a tag are read from the transposed tag matrix); argpartition.
  matching    Only the rows that hold all the tags: `np.intersect1d` of the columns of the transposed tag matrix,
              rows gathered from the float32 copy, differences squared and summed; argpartition.

`exact` answers the whole query set in each round, each brute force a fresh random sample of it, one after the
other in the same round. Answers are compared: a difference ends the benchmark with exit code 1.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_matrix

from ann_bench.arrays import ArrayRef
from ann_bench.datasets.dataset import Dataset
from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest
from ann_bench.errors import AnnBenchError
from ann_bench.truth.exact import exact
from ann_bench.truth.groups import groups_of
from ann_bench.truth.model import Problem

K = 10
GOAL = 20

Answer = Callable[[int], npt.NDArray[np.float64]]


@dataclass(frozen=True)
class Rates:
    """Queries per second of one round."""

    exact: float
    all_rows: float
    matching: float


class BruteForce:
    """Both ways to answer one query; gives the k smallest squared distances, ascending."""

    def __init__(self, problem: Problem) -> None:
        assert problem.tags is not None
        assert problem.query_tags is not None
        self._base = problem.base.open().astype(np.float32)
        self._queries = problem.queries.open().astype(np.float32)
        self._squares = np.einsum("ij,ij->i", self._base, self._base)
        self._tags: csc_matrix = problem.tags.open().tocsc()
        self._query_tags = problem.query_tags.open()

    def all_rows(self, number: int) -> npt.NDArray[np.float64]:
        """Distances to all rows, then the mask."""
        query = self._queries[number]
        distances = self._squares - 2 * (self._base @ query) + query @ query
        for rows in self._rows(number):
            holds = np.zeros(len(distances), dtype=bool)
            holds[rows] = True
            distances[~holds] = np.inf
        return _smallest(distances[np.isfinite(distances)] if np.isinf(distances).any() else distances)

    def matching(self, number: int) -> npt.NDArray[np.float64]:
        """Distances to the matching rows."""
        lists = self._rows(number)
        rows = lists[0]
        for other in lists[1:]:
            rows = np.intersect1d(rows, other, assume_unique=True)
        difference = self._base[rows] - self._queries[number]
        return _smallest(np.einsum("ij,ij->i", difference, difference))

    def _rows(self, number: int) -> list[npt.NDArray[Any]]:
        wanted = self._query_tags.indices[slice(*self._query_tags.indptr[number : number + 2])]
        ends = self._tags.indptr
        return [self._tags.indices[ends[tag] : ends[tag + 1]] for tag in wanted.tolist()]


def _smallest(distances: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    if len(distances) > K:
        distances = distances[np.argpartition(distances, K - 1)[:K]]
    return np.sort(distances).astype(np.float64)


def _rate(answer: Answer, numbers: Sequence[int], truth: npt.NDArray[np.float64]) -> float:
    start = time.perf_counter()
    answers = [answer(number) for number in numbers]
    seconds = time.perf_counter() - start
    for number, found in zip(numbers, answers, strict=True):
        wanted = truth[number][np.isfinite(truth[number])]
        if found.shape != wanted.shape or not np.allclose(found, wanted, rtol=1e-5):  # brute force is in float32
            raise AnnBenchError(f"query {number}: brute force and exact truth differ: {found} and {wanted}")
    return len(numbers) / seconds


def _round(problem: Problem, force: BruteForce, rng: np.random.Generator, samples: tuple[int, int]) -> Rates:
    start = time.perf_counter()
    _, truth = exact(problem)
    rate = len(truth) / (time.perf_counter() - start)
    few, more = (rng.choice(len(truth), min(count, len(truth)), replace=False).tolist() for count in samples)
    return Rates(rate, _rate(force.all_rows, few, truth), _rate(force.matching, more, truth))


def problem_of(data: Dataset, queries: int | None) -> Problem:
    """The filtered search of a data set, of the first `queries` queries."""
    vectors, tags = data.queries.vectors, data.queries.tags
    assert tags is not None
    assert isinstance(vectors, ArrayRef)
    whole = Problem(data.metric, K, data.base, vectors, data.tags, tags)
    if queries is None or queries >= vectors.shape[0]:
        return whole
    return replace(whole, queries=vectors.head(queries), query_tags=tags.head(queries))


def _line(name: str, ratios: Sequence[float]) -> str:
    return f"{name:<44}{statistics.median(ratios):>10,.0f} x {min(ratios):>10,.0f} x {max(ratios):>10,.0f} x"


def main(argv: list[str]) -> int:
    """Run; returns 1 where the median ratio to `all rows` misses the goal or answers differ."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks truth-filtered", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rows", default="1M", help="rows of yfcc-like (default: 1M)")
    parser.add_argument("--queries", type=int, help="only the first N queries of the set")
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds (default: 5)")
    parser.add_argument("--samples", type=int, nargs=2, default=(30, 300), help="queries of both in a round")
    options = parser.parse_args(argv)
    data = prepare(find_manifest(f"yfcc-like-{options.rows}", "filtered"), "public")
    problem = problem_of(data, options.queries)
    force, rng = BruteForce(problem), np.random.default_rng(1)
    assert problem.query_tags is not None
    groups = len(groups_of(problem.query_tags.open()))
    print("python -m benchmarks truth-filtered " + shlex.join(argv))
    count = problem.queries.shape[0]
    print(f"{data.name}: {data.rows:,} rows, {count:,} queries, {groups:,} distinct tag sets, k = {K}")
    rounds = []
    for _ in range(options.rounds):
        rounds.append(_round(problem, force, rng, tuple(options.samples)))
        print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    ratios = [each.exact / each.all_rows for each in rounds]
    print(f"{'queries per second, exact truth / brute force':<44}{'median':>12}{'min':>12}{'max':>13}")
    print(_line("all rows, then mask", ratios))
    print(_line("matching rows only", [each.exact / each.matching for each in rounds]))
    reached = statistics.median(ratios) >= GOAL
    print(f"goal: at least {GOAL} x over `all rows`: {'reached' if reached else 'MISSED'}")
    return 0 if reached else 1
