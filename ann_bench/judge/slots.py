"""The shared files of a batch whose queries are put one by one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ann_bench.arrays import Array
from ann_bench.judge.buffers import Batch, as_bytes
from ann_bench.sandbox import Session
from ann_bench.wire import UNANSWERED, WireError
from ann_bench.workload import Search


class Slots(Batch):
    """A line of the files for each query, empty until `put`: no query can be read before it is asked.

    `got` (queries, k) holds the answers that `fetch` has copied, UNANSWERED before.
    """

    def __init__(self, session: Session, queries: Any, tags: Any, search: Search) -> None:
        super().__init__(session, queries, tags, search, 0)
        bounds = [*_bounds(queries), *([] if tags is None else _bounds(tags))]
        self._lines = [(file, as_bytes(array), own) for (file, array), own in zip(self._inputs, bounds, strict=True)]
        self.got = np.full(self.answers.shape, UNANSWERED, dtype=np.int64)
        self._answer_file = self._files[self.answers.path]
        self._view = as_bytes(self.got)
        self._width = self.got.shape[1] * self.got.itemsize

    def put(self, row: int) -> None:
        """Write one query into its place."""
        for file, view, bounds in self._lines:
            start, stop = bounds[row]
            if stop > start:
                os.pwrite(file, view[start:stop], start)

    def fetch(self, row: int) -> None:
        """Copy one answer as it is now; WireError where the worker has cut the file short."""
        start = row * self._width
        if os.preadv(self._answer_file, [self._view[start : start + self._width]], start) != self._width:
            raise WireError("the file of the answers was cut short")


def _bounds(value: Any) -> Iterator[list[tuple[int, int]]]:
    """For each array of the value the first byte of every line, and the one behind its last."""
    if isinstance(value, np.ndarray):
        yield _pairs(np.arange(len(value) + 1) * (value.nbytes // max(1, len(value))))
        return
    size, indptr = value.indptr.itemsize, value.indptr.astype(np.int64)
    yield [(line * size, (line + 2) * size) for line in range(value.shape[0])]
    yield _pairs(indptr * value.indices.itemsize)
    yield _pairs(indptr * value.data.itemsize)


def _pairs(places: Array) -> list[tuple[int, int]]:
    return list(zip(places[:-1].tolist(), places[1:].tolist(), strict=True))
