"""How fast this machine is at what indexes do: reading memory, and products of vectors. To compare machines by."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ann_bench.doctor.finding import Finding, Verdict

_ROUNDS = 7
_BYTES = 256 << 20  # beyond the caches of most processors
_ROWS, _DIM, _QUERIES = 20_000, 128, 256


def bandwidth(threads: int) -> Finding:
    """Bytes that all threads together read from memory in a second: the median of a few rounds, and their spread."""
    part = np.ones(_BYTES // 8 // threads, dtype=np.int64)
    parts = [part, *(part.copy() for _ in range(threads - 1))]
    with ThreadPoolExecutor(threads) as pool:
        seconds = _timed(lambda: list(pool.map(np.ndarray.sum, parts)))
    return _rate(
        "memory bandwidth", [threads * part.nbytes / one / 1e9 for one in seconds], f"GB/s read by {threads} threads"
    )


def products(threads: int) -> Finding:
    """Products of two float32 values in a second, in a matrix product of queries and rows."""
    rng = np.random.default_rng(1)
    base, queries = (rng.random((rows, _DIM), dtype=np.float32) for rows in (_ROWS, _QUERIES))
    seconds = _timed(lambda: queries @ base.T)
    rates = [_ROWS * _QUERIES * _DIM / one / 1e9 for one in seconds]
    return _rate("dot products", rates, f"x 10^9 float32 products/s in numpy's threads ({threads} CPUs)")


def _timed(work: Callable[[], object]) -> list[float]:
    work()
    found = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return found


def _rate(check: str, rates: list[float], unit: str) -> Finding:
    middle = float(np.median(rates))
    spread = (max(rates) - min(rates)) / middle
    why = f"the rounds of the same work differ by {spread:.0%}; the rate tells what to expect of an index here"
    verdict = Verdict.GOOD if spread < 0.15 else Verdict.MIND
    remedy = "" if verdict is Verdict.GOOD else "mend what is said above (other work, governor, turbo), then look again"
    return Finding(check, verdict, f"{middle:.1f} {unit} ({min(rates):.1f} to {max(rates):.1f})", why, remedy)
