"""In which pattern queries are put one by one, and what was noted of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, vstack

from ann_bench.judge.asker import Asker, Times
from ann_bench.judge.noise import Vectors

Floats = npt.NDArray[np.float64]
Orders = npt.NDArray[np.intp]

#: Null calls before the queries of a pass, and as many after them.
NULLS = 100

#: The most queries of a pass, unless the set has more: p99.9 is known well from them, and their files are in memory.
MOST_ASKS = 50_000


@dataclass(frozen=True)
class Pattern:
    """One pass: `clients` that ask as soon as they have their answer, or a `schedule` in seconds from its beginning.

    `callers` is how many threads of a worker may call the entry at once; `rate` how many queries a second the schedule
    has (NaN: there is none). A client that is `alone` on its CPU stays awake while it waits. Clients that wait go
    through the query set again until `seconds` are over.
    """

    callers: int
    clients: int = 1
    schedule: Floats | None = None
    rate: float = math.nan
    alone: bool = False
    seconds: float = 0.0

    @property
    def span(self) -> float:
        """Seconds that a pass is to last whatever the entry does: to the last query that is due, or as wished for."""
        return self.seconds if self.schedule is None or not len(self.schedule) else float(self.schedule[-1])

    def rounds(self, count: int, made: int = 0, took: float = 0.0) -> int:
        """How often to ask the whole set (of `count` queries) next, `made` rounds having taken `took` seconds."""
        if self.schedule is not None:
            return 0 if made else len(self.schedule) // count
        if not made:
            return 1
        left = max(1, MOST_ASKS // count) - made
        return min(left, max(0, math.ceil((self.seconds - took) / max(took / made, 1e-9))))

    def ask(self, asker: Asker, rows: range) -> tuple[Times, int, int]:
        """Put these queries; when the first was due and how long it took until the last was answered, in ns."""
        times = asker.closed(rows, self.clients) if self.schedule is None else asker.open(rows, self.schedule)
        began = float(np.nanmin(times.due))
        ended = float(np.nanmax(times.answered, initial=began))
        return times, int(began * 1e9), max(1, round((ended - began) * 1e9))


def poisson(rate: float, count: int, seed: Sequence[int]) -> Floats:
    """When queries come that know nothing of each other: `rate` a second on average, ascending, in seconds.

    The same seed gives the same times at every rate, but for the scale.
    """
    gaps = np.random.default_rng([*seed, 1]).exponential(1.0, count)
    return np.asarray(np.cumsum(gaps) / rate, dtype=np.float64)


def rounds_at(rate: float, count: int, seconds: float) -> int:
    """How often a set of `count` queries is asked in so many seconds at a rate: whole rounds, one at least."""
    return max(1, min(MOST_ASKS // count, math.ceil(rate * seconds / count)))


def in_order(values: npt.NDArray[Any], order: Orders) -> npt.NDArray[Any]:
    """What was noted ask by ask, as (rounds, queries, ...) in the order of the query set."""
    back = np.empty((*order.shape, *values.shape[1:]), dtype=values.dtype)
    back[np.arange(len(order))[:, None], order] = values.reshape(back.shape)
    return back


@dataclass(frozen=True)
class Served:
    """What was noted of a pass: times (rounds, queries) in seconds from its beginning, in the order of the query set.

    `null` are the times of the null calls, `busy` the share of the time in which the client was at work, `rate` the one
    asked for (NaN: clients that wait).
    """

    due: Floats
    sent: Floats
    answered: Floats
    null: Floats
    busy: float
    rate: float

    @staticmethod
    def of(times: Times, nulls: Sequence[Times], order: Orders, pattern: Pattern) -> Served:
        """From the order asked (rounds, queries) to that of the query set."""
        began = float(np.nanmin(times.due))
        null = np.concatenate([one.answered - one.due for one in nulls])
        due, sent, answered = (in_order(part - began, order) for part in (times.due, times.sent, times.answered))
        return Served(due, sent, answered, null, times.busy, pattern.rate)


def with_nulls(asked: tuple[Vectors, csr_matrix | None]) -> tuple[Any, csr_matrix | None]:
    """Queries and tags with lines for null calls behind them: as long as the first line, and all zeros."""
    vectors, tags = asked
    return _with_nulls(vectors), None if tags is None else _with_nulls(tags)


def _with_nulls(value: Any) -> Any:
    if isinstance(value, csr_matrix):
        line = value[:1].copy()
        line.indices[:], line.data[:] = 0, 0
        return csr_matrix(vstack([value, *[line] * (2 * NULLS)], format="csr"))
    zeros = np.zeros((2 * NULLS, *value.shape[1:]), dtype=value.dtype)
    return np.concatenate([value, zeros])
