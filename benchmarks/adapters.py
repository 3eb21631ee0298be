"""What the adapters cost: QPS of a wrapper of another benchmark against the same index wrapped natively.

One index (faiss IVF, one thread) answers through a native entry, through a wrapper of big-ann-benchmarks and through
one of ann-benchmarks, in this process, on the same mapped files, in turns; a coin says which goes first. What the
worker does with answers (it writes them into a mapped file) belongs to every call. A call is measured in CPU seconds:
with one thread that is its time on a machine that does nothing else. Beside it: what an adapter adds to a batch of an
index that answers at once, for as many queries, and with two tags a query.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from ann_bench.adapters.annbenchmarks import AnnBenchmarks
from ann_bench.adapters.bigann import BigAnn
from ann_bench.algorithm import Algorithm
from ann_bench.arrays import Array, ArrayRef, csr

DIM, K, GOAL = 96, 10, 0.99

BIGANN = """
from neurips23.filter.base import BaseFilterANN
from benchmark.datasets import DATASETS

class Wrapper(BaseFilterANN):
    def __init__(self, metric):
        self.name = metric

    def query(self, X, k):
        self.I = self.index.search(X, k)[1]

    def filtered_query(self, X, filter, k):
        self.query(X, k)

    def fit(self, dataset):
        self.nb = DATASETS[dataset]().nb

    def get_results(self):
        return self.I
"""

ANN = """
from ..base.module import BaseANN

class Wrapper(BaseANN):
    def __init__(self, metric):
        self.name = metric

    def batch_query(self, X, n):
        self.res = self.index.search(X, n)[1]
"""

Call = Callable[[], None]


class Native(Algorithm):
    """The same index as an entry of ours."""

    index: Any

    def query(self, queries: Any, k: int, tags: csr_matrix | None = None) -> Any:
        """Search."""
        return self.index.search(queries, k)[1]


class AtOnce:
    """An index that has its answers already."""

    def __init__(self, queries: int) -> None:
        self._ids = np.tile(np.arange(K), (queries, 1))

    def search(self, queries: Array, k: int) -> tuple[None, Array]:
        """The same ids whatever is asked."""
        return None, self._ids


def main(arguments: list[str]) -> int:
    """Run the benchmark and print its ratios."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks adapters", description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=100)
    chosen = parser.parse_args(arguments)
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["TMPDIR"] = tempfile.tempdir = name
        try:
            return _measure(chosen, folder)
        finally:
            os.chdir(here)
            tempfile.tempdir = None


def _measure(chosen: argparse.Namespace, folder: Path) -> int:
    import faiss

    faiss.omp_set_num_threads(1)
    rng = np.random.default_rng(7)
    base = rng.standard_normal((chosen.rows, DIM), dtype=np.float32)
    queries = _mapped(folder / "queries", rng.standard_normal((chosen.queries, DIM), dtype=np.float32))
    answers = _mapped(folder / "answers", np.zeros((chosen.queries, K), dtype=np.int64), writable=True)
    index = faiss.index_factory(DIM, "IVF256,Flat")
    index.train(base)
    index.add(base)
    faiss.extract_index_ivf(index).nprobe = 4
    native, adapters = Native("euclidean", DIM, "float32", 1), _adapters(folder)
    worst = 1.0
    print(f"QPS through an adapter / QPS of a native entry; {chosen.queries:,} queries a batch, {chosen.rounds} rounds")
    for name, adapter in adapters.items():
        native.index = adapter.wrapper.index = index
        ratios = _ratios(_call(native, queries, answers), _call(adapter, queries, answers), chosen.rounds, rng)
        worst = min(worst, statistics.median(ratios))
        print(f"  {name:<14} median {statistics.median(ratios):.4f}   min {min(ratios):.4f}   max {max(ratios):.4f}")
    print(f"goal >= {GOAL}")
    print("what an adapter adds to a batch of an index that answers at once")
    tags = _tags(folder, chosen.queries, rng)
    for name, adapter, asked in (
        *((name, adapter, None) for name, adapter in adapters.items()),
        ("bigann, tags", adapters["bigann"], tags),
    ):
        native.index = adapter.wrapper.index = AtOnce(chosen.queries)
        added = _added(_call(native, queries, answers, asked), _call(adapter, queries, answers, asked), chosen.rounds)
        least, middle, most = min(added) * 1e6, statistics.median(added) * 1e6, max(added) * 1e6
        print(f"  {name:<14} median {middle:.0f} us   min {least:.0f}   max {most:.0f}")
    return 0 if worst >= GOAL else 1


def _adapters(folder: Path) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, kind, file, source, module in (
        ("bigann", BigAnn, "wrapper.py", BIGANN, "neurips23.filter.mine.wrapper"),
        ("annbenchmarks", AnnBenchmarks, "module.py", ANN, "ann_benchmarks.algorithms.mine"),
    ):
        place = folder / name
        place.mkdir()
        (place / file).write_text(source, encoding="utf-8")
        kind.told = {"folder": str(place), "k": K}
        made[name] = kind("euclidean", DIM, "float32", 1, module=module, constructor="Wrapper", arguments=["@metric"])
    return made


def _mapped(path: Path, values: Array, *, writable: bool = False) -> Array:
    values.tofile(path)
    ref = ArrayRef(str(path), values.dtype.name, values.shape)
    return ref.open_writable() if writable else ref.open()


def _tags(folder: Path, queries: int, rng: np.random.Generator) -> csr_matrix:
    parts: tuple[Array, ...] = (
        np.arange(queries + 1, dtype=np.int64) * 2,
        rng.integers(0, 1000, 2 * queries, dtype=np.int32),
        np.ones(2 * queries, dtype=np.float32),
    )
    indptr, indices, data = (_mapped(folder / f"tags-{number}", part) for number, part in enumerate(parts))
    return csr(indptr, indices, data, (queries, 1000))


def _call(entry: Any, queries: Array, answers: Array, tags: csr_matrix | None = None) -> Call:
    def call() -> None:
        answers[...] = entry.query(queries, K, tags)

    return call


def _seconds(call: Call) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin


def _ratios(native: Call, adapted: Call, rounds: int, rng: np.random.Generator) -> list[float]:
    """QPS of the adapted call / QPS of the native one, one ratio for each pair; the first pair warms up."""
    ratios: list[float] = []
    flips: npt.NDArray[np.int64] = rng.integers(2, size=rounds + 1)
    for native_first in flips:
        if native_first:
            plain, other = _seconds(native), _seconds(adapted)
        else:
            other, plain = _seconds(adapted), _seconds(native)
        ratios.append(plain / other)
    return ratios[1:]


def _added(native: Call, adapted: Call, rounds: int) -> list[float]:
    """Seconds that the adapted call takes longer, one difference for each pair."""
    return [_seconds(adapted) - _seconds(native) for _ in range(rounds + 1)][1:]
