"""One pass of queries one by one: the whole set, again and again in new orders, until it has lasted long enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ann_bench.arrays import Array
from ann_bench.judge.asked import Asked
from ann_bench.judge.driver import Driver, Window
from ann_bench.judge.pattern import Pattern, Served
from ann_bench.workload import Search

#: Bytes of queries that lie in the shared files at once, unless one round has more.
_ROOM = 64 << 20

Part: TypeAlias = tuple[Array, Window, Served]


def serve(
    driver: Driver, asked: Asked, search: Search, orders: Iterator[npt.NDArray[np.intp]], pattern: Pattern
) -> Part:
    """One pass; `orders` gives the order of each round.

    A schedule is followed without a break. Clients that wait ask one round, which shows how many more it takes: these
    follow after a short break, in which nothing is timed.
    Returns the answers (rounds, queries, k), what all of it cost, and the times (rounds, queries).
    """
    parts: list[Part] = []
    count, most = search.queries, max(1, _ROOM // max(1, _bytes(asked)))
    made, took = 0, 0.0
    while rounds := pattern.rounds(count, made, took):
        if pattern.schedule is None:
            rounds = min(rounds, most)
        order = np.stack([next(orders) for _ in range(rounds)])
        parts.append(driver.serve(asked, search, order, pattern))
        made, took = made + rounds, took + parts[-1][1].seconds
    return parts[0] if len(parts) == 1 else _joined(parts)


def _bytes(asked: Asked) -> int:
    """How many bytes one round of queries has, more or less."""
    vectors = asked.vectors
    return int(vectors.nbytes if isinstance(vectors, np.ndarray) else vectors.data.nbytes + vectors.indices.nbytes)


def _joined(parts: Sequence[Part]) -> Part:
    """The parts of a pass as one: each begins when the one before it ended."""
    ids, windows, served = zip(*parts, strict=True)
    seconds = np.array([window.seconds for window in windows])
    began = np.cumsum([0.0, *seconds[:-1]])
    due, sent, answered = (
        np.concatenate([getattr(one, name) + start for one, start in zip(served, began, strict=True)])
        for name in ("due", "sent", "answered")
    )
    window = Window(
        float(seconds.sum()), sum(one.cpu_seconds for one in windows), windows[0].began, windows[-1].memory_bytes
    )
    busy = float(np.average([one.busy for one in served], weights=seconds))
    null = np.concatenate([one.null for one in served])
    return np.concatenate(ids), window, Served(due, sent, answered, null, busy, served[0].rate)
