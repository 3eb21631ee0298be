"""Cells made ahead by a few threads and handed out in order, so that making and writing go on side by side."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import numpy.typing as npt

_MOST_THREADS = 4
_FEW = 16

Made = TypeVar("Made")


def ahead(make: Callable[[int], Made], cells: int) -> Iterator[Made]:
    """`make(0), make(1), ...`: at most one more than there are threads is under way, so memory stays bounded.

    `make` must not change what it shares. numpy lets go of the interpreter while it computes.
    """
    threads = min(_MOST_THREADS, len(os.sched_getaffinity(0)))
    waiting: deque[Future[Made]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for cell in range(cells):
                waiting.append(pool.submit(make, cell))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def product(left: npt.NDArray[np.float32], right: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """`left @ right`, a few rows at a time: so little that a BLAS stays on this thread, which has others beside it.

    The same result where all sums are exact (whole numbers below 2**24).
    """
    rows = np.empty((len(left), right.shape[1]), dtype=np.float32)
    whole = len(left) // _FEW * _FEW
    np.matmul(left[:whole].reshape(-1, _FEW, left.shape[1]), right, out=rows[:whole].reshape(-1, _FEW, right.shape[1]))
    np.matmul(left[whole:], right, out=rows[whole:])
    return rows
