"""Which points are live at each search of a workload, as runs of consecutive ids that stand for consecutive rows.

Ten million live points are a few hundred runs in practice, so that hundreds of live sets weigh next to nothing, and
so does their hash. Runs are an (m, 3) int64 array of first id, first row and length, ids ascending, none empty, and
none that continues the one before it: equal live sets have equal runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ann_bench.truth.model import Live

Runs: TypeAlias = npt.NDArray[np.int64]
Numbers: TypeAlias = npt.NDArray[np.int64]


def no_runs() -> Runs:
    """No point is live."""
    return np.zeros((0, 3), dtype=np.int64)


def whole(rows: int) -> Runs:
    """So many rows, each under its own number."""
    return np.array([(0, 0, rows)], dtype=np.int64) if rows else no_runs()


def without(runs: Runs, ids: range) -> Runs:
    """What is left when these ids are removed."""
    first, last = runs[:, 0], runs[:, 0] + runs[:, 2]
    before, after = runs.copy(), runs.copy()
    before[:, 2] = np.minimum(last, ids.start) - first
    cut = np.maximum(ids.stop - first, 0)
    after[:, 0] += cut
    after[:, 1] += cut
    after[:, 2] -= cut
    left = np.concatenate([before, after]) if len(ids) else runs
    return _joined(left[left[:, 2] > 0])


def adding(runs: Runs, ids: range, rows: range) -> Runs:
    """With these ids standing for these rows, whatever they stood for before."""
    added = np.array([(ids.start, rows.start, len(ids))], dtype=np.int64)
    return _joined(np.concatenate([without(runs, ids), added])) if len(ids) else runs


def runs_of(live: Live | None, rows: int) -> Runs:
    """The runs of a live set over a base of so many rows; None means all of them."""
    if live is None:
        return whole(rows)
    singles = np.column_stack([live.ids, live.rows, np.ones_like(live.ids)])
    return _merged(singles.astype(np.int64))


def live_of(runs: Runs, rows: int) -> Live | None:
    """The live set with these runs; None where it is all of so many rows, each under its own number."""
    if np.array_equal(runs, whole(rows)):
        return None
    starts = np.cumsum(runs[:, 2]) - runs[:, 2]
    within = np.arange(points_in(runs), dtype=np.int64)
    ids = within + np.repeat(runs[:, 0] - starts, runs[:, 2])
    within += np.repeat(runs[:, 1] - starts, runs[:, 2])
    return Live(ids, within)


def points_in(runs: Runs) -> int:
    """How many points are live."""
    return int(runs[:, 2].sum())


def hash_of(runs: Runs) -> str:
    """sha256 in hexadecimal over a live set."""
    return hashlib.sha256(np.ascontiguousarray(runs, dtype="<i8").tobytes()).hexdigest()


@dataclass(frozen=True)
class Lifetime:
    """The points that are live at the searches `birth` to `death`, without `death`, and at no other before or after.

    A row that an id stops to stand for dies, even where the id lives on with another.
    """

    birth: int
    death: int
    runs: Runs


def lifetimes(lives: Sequence[Runs]) -> list[Lifetime]:
    """The points of a sequence of live sets, grouped by the time that they live, in the order of their birth.

    A point that is live, gone, and live again belongs to two of them.
    """
    ends = [runs[:, 0] for runs in lives] + [runs[:, 0] + runs[:, 2] for runs in lives]
    cuts = np.unique(np.concatenate(ends)) if ends else np.zeros(0, dtype=np.int64)
    starts, lengths = cuts[:-1], np.diff(cuts)  # no run begins or ends inside one of these intervals of ids
    rows = np.full(len(starts), -1, dtype=np.int64)
    births = np.zeros(len(starts), dtype=np.int64)
    found: dict[tuple[int, int], list[Runs]] = {}
    for time, runs in enumerate([*lives, no_runs()]):
        now = _rows_at(runs, starts)
        changed = rows != now
        ended = np.flatnonzero(changed & (rows >= 0))
        for birth in np.unique(births[ended]).tolist():
            these = ended[births[ended] == birth]
            piece = np.column_stack([starts[these], rows[these], lengths[these]])
            found.setdefault((birth, time), []).append(piece)
        rows = now
        births[changed] = time
    return [Lifetime(*key, _joined(np.concatenate(found[key]))) for key in sorted(found)]


def _rows_at(runs: Runs, ids: Numbers) -> Numbers:
    """The row that each id stands for, -1 where it is not live."""
    if not len(runs):
        return np.full(len(ids), -1, dtype=np.int64)
    place = np.searchsorted(runs[:, 0], ids, side="right") - 1
    within = ids - runs[place, 0]
    held = (place >= 0) & (within < runs[place, 2])
    return np.where(held, runs[place, 1] + within, -1)


def _joined(runs: Runs) -> Runs:
    """The same points as canonical runs; ids must be distinct."""
    return _merged(runs[np.argsort(runs[:, 0])])


def _merged(runs: Runs) -> Runs:
    if not len(runs):
        return runs
    ends = runs[:-1] + runs[:-1, 2:]
    breaks = np.concatenate([[True], (runs[1:, 0] != ends[:, 0]) | (runs[1:, 1] != ends[:, 1])])
    first = np.flatnonzero(breaks)
    lengths = np.add.reduceat(runs[:, 2], first)
    return np.column_stack([runs[first, :2], lengths])
