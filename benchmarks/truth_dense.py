"""Exact dense truth against `faiss.knn` and against the matrix product alone: ratios of rates.

    faiss.knn     At the fastest of some settings that are tried first: its BLAS path also for few queries, several
                  sizes of its blocks. Its vectors lie in memory, all converted; `exact` reads and converts files.
    product       numpy's float32 product of the same tiles of queries and rows in as many threads, scores thrown
                  away. Also numpy's own threads on all queries and a block of rows at a time.
    bytes         `exact` on uint8 and int8 against `exact` on float32.

All of them run one after the other in each round, in a new random order. Vectors are independent and without any
structure: values are normal (float32), or uniform over all that 8 bits hold. The rates do not depend on the number
of queries beyond about a thousand for each core, so a round takes 2,000; `--queries 10000` is the full size. The
answers are compared with those of faiss: a difference ends the benchmark with exit code 1.
"""

from __future__ import annotations

import argparse
import itertools
import shlex
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

from ann_bench.arrays import ArrayRef
from ann_bench.errors import AnnBenchError
from ann_bench.truth import blas, dense, tiles
from ann_bench.truth.cores import threads
from ann_bench.truth.exact import exact
from ann_bench.truth.model import Problem

K = 10
DTYPES = ("float32", "uint8", "int8")
GOALS = {"exact / faiss.knn": 1.0, "exact / product": 0.8, "uint8 / float32": 1.5, "int8 / float32": 1.5}
_BLOCK_ROWS = 1 << 16

Vectors = npt.NDArray[Any]


def _vectors(rng: np.random.Generator, shape: tuple[int, int], dtype: str) -> Vectors:
    if dtype == "float32":
        return rng.standard_normal(shape, dtype=np.float32)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def _file(path: Path, rng: np.random.Generator, shape: tuple[int, int], dtype: str) -> ArrayRef:
    with path.open("wb") as file:
        for start in range(0, shape[0], _BLOCK_ROWS):
            _vectors(rng, (min(_BLOCK_ROWS, shape[0] - start), shape[1]), dtype).tofile(file)
    return ArrayRef(str(path), dtype, shape)


def problem_of(folder: Path, dtype: str, metric: Any, sizes: tuple[int, int, int]) -> Problem:
    """Random vectors of this type in files: `sizes` are rows, queries and dimensions."""
    rng = np.random.default_rng(DTYPES.index(dtype))
    rows, queries, dim = sizes
    base = _file(folder / f"{dtype}.base", rng, (rows, dim), dtype)
    return Problem(metric, K, base, _file(folder / f"{dtype}.queries", rng, (queries, dim), dtype))


class Faiss:
    """`faiss.knn` over vectors in memory."""

    def __init__(self, problem: Problem, queries: int | None = None) -> None:
        self._base = np.array(problem.base.open(), dtype=np.float32)
        self._queries = np.array(problem.queries.open()[:queries], dtype=np.float32)
        self._metric = faiss.METRIC_L2 if problem.metric == "euclidean" else faiss.METRIC_INNER_PRODUCT
        faiss.cvar.distance_compute_blas_threshold = 20

    def answer(self) -> npt.NDArray[np.float64]:
        """The distances, as `exact` has them."""
        found: npt.NDArray[np.float64] = faiss.knn(self._queries, self._base, K, metric=self._metric)[0].astype(float)
        return found if self._metric == faiss.METRIC_L2 else -found

    def tune(self) -> str:
        """Choose the fastest sizes of its blocks, on some of the rows; says which."""
        base, took = self._base, {}
        self._base = base[:100_000]
        for sizes in [*itertools.product((512, 4096), (1024, 4096)), (4096, 1024)]:  # the first of all warms up
            faiss.cvar.distance_compute_blas_query_bs, faiss.cvar.distance_compute_blas_database_bs = sizes
            took[sizes] = _seconds(self.answer)
        self._base, best = base, min(took, key=lambda sizes: took[sizes])
        faiss.cvar.distance_compute_blas_query_bs, faiss.cvar.distance_compute_blas_database_bs = best
        return f"distance_compute_blas_threshold 20, query_bs {best[0]}, database_bs {best[1]}"


def product(problem: Problem) -> None:
    """The products that `exact` needs, with its blocks and threads."""
    base, queries = problem.base.open(), np.array(problem.queries.open())
    step = -(-len(queries) // threads())
    size = dense.block_rows(step, 1 << 16, False)

    def serve(first: int) -> None:
        part = queries[first : first + step]
        width = min(size, tiles.WIDTH)
        height = tiles.SCORES // width
        out = np.empty(tiles.SCORES, dtype=np.float32)
        for start, place in itertools.product(range(0, len(base), width), range(0, len(part), height)):
            rows, some = base[start : start + width], part[place : place + height]
            np.matmul(some, rows.T, out=out[: len(some) * len(rows)].reshape(len(some), len(rows)))

    with blas.one_thread(), ThreadPoolExecutor(threads()) as pool:
        list(pool.map(serve, range(0, len(queries), step)))


def product_whole(problem: Problem) -> None:
    """The same scores by products of all queries with a block of rows each, in numpy's own threads."""
    base, queries = problem.base.open(), np.array(problem.queries.open())
    out = np.empty((len(queries), 1024), dtype=np.float32)
    for start in range(0, len(base), 1024):
        rows = base[start : start + 1024]
        np.matmul(queries, rows.T, out=out if len(rows) == 1024 else None)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _check(dtype: str, found: npt.NDArray[np.float64], wanted: npt.NDArray[np.float64]) -> None:
    if not np.allclose(found, wanted, rtol=1e-4, atol=1e-3):  # faiss computes in float32
        worst = int(np.abs(found - wanted).max(axis=1).argmax())
        raise AnnBenchError(f"{dtype}, query {worst}: exact and faiss.knn differ: {found[worst]} and {wanted[worst]}")


def _line(name: str, ratios: Sequence[float]) -> str:
    return f"{name:<34}{statistics.median(ratios):>10.2f}{min(ratios):>10.2f}{max(ratios):>10.2f}"


def main(argv: list[str]) -> int:
    """Run; returns 1 where a median ratio misses its goal or answers differ."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks truth-dense", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("--dim", type=int, default=200)
    parser.add_argument("--metric", choices=("euclidean", "ip"), default="euclidean")
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args(argv)
    print("python -m benchmarks truth-dense " + shlex.join(argv))
    print(f"{chosen.rows:,} rows x {chosen.dim} x {chosen.queries:,} queries, {chosen.metric}, {threads()} threads")
    with tempfile.TemporaryDirectory() as folder:
        sizes = chosen.rows, chosen.queries, chosen.dim
        problems = {dtype: problem_of(Path(folder), dtype, chosen.metric, sizes) for dtype in DTYPES}
        for dtype in ("uint8", "int8"):
            head = Problem(chosen.metric, K, problems[dtype].base, problems[dtype].queries.head(200))
            _check(dtype, exact(head)[1], Faiss(head).answer())
        rounds = _rounds(problems, chosen.rounds)
    return _report(rounds, sizes)


def _rounds(problems: dict[str, Problem], count: int) -> list[dict[str, float]]:
    """Seconds of each way in each round."""
    floats = problems["float32"]
    answers: dict[str, npt.NDArray[np.float64]] = {}
    peer = Faiss(floats)
    print("faiss.knn: " + peer.tune())
    ways: dict[str, Callable[[], object]] = {
        "faiss": lambda: answers.update(faiss=peer.answer()),
        "product": lambda: product(floats),
        "product_whole": lambda: product_whole(floats),
        "float32": lambda: answers.update(exact=exact(floats)[1]),
        "uint8": lambda: exact(problems["uint8"]),
        "int8": lambda: exact(problems["int8"]),
    }
    rng, rounds = np.random.default_rng(1), []
    for _ in range(count):
        names = rng.permutation(sorted(ways)).tolist()
        rounds.append({name: _seconds(ways[name]) for name in names})
        _check("float32", answers["exact"], answers["faiss"])
        print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return rounds


def _report(rounds: Sequence[dict[str, float]], sizes: tuple[int, int, int]) -> int:
    work = sizes[0] * sizes[1] * sizes[2]
    print(f"{'ratios of rates':<34}{'median':>10}{'least':>10}{'largest':>10}")
    ratios = {
        "exact / faiss.knn": [each["faiss"] / each["float32"] for each in rounds],
        "exact / product": [each["product"] / each["float32"] for each in rounds],
        "exact / product in numpy's threads": [each["product_whole"] / each["float32"] for each in rounds],
        "uint8 / float32": [each["float32"] / each["uint8"] for each in rounds],
        "int8 / float32": [each["float32"] / each["int8"] for each in rounds],
    }
    for name, values in ratios.items():
        print(_line(name, values) + (f"   goal: {GOALS[name]}" if name in GOALS else ""))
    print("10^9 products of two values in a second:")
    for name in rounds[0]:
        print(_line("  " + name, [work / each[name] / 1e9 for each in rounds]))
    missed = [name for name, goal in GOALS.items() if statistics.median(ratios[name]) < goal]
    print("goals " + ("reached" if not missed else "MISSED: " + ", ".join(missed)))
    return 1 if missed else 0
