"""The exact answers to range searches, computed in blocks of queries within a given memory, and kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ann_bench.datasets.files import lock
from ann_bench.errors import StorageError, UsageError
from ann_bench.progress import Progress, silent
from ann_bench.truth import kept_ranges
from ann_bench.truth.cores import threads
from ann_bench.truth.kept_ranges import Parts
from ann_bench.truth.model import Problem, RangeTruth
from ann_bench.truth.within import ANSWER_BYTES, TooManyError, within

_THREAD_BYTES = 48 << 20  # blocks of vectors and scores of one thread
_FIXED_BYTES = 64 << 20
_FEWEST = 64  # queries of a block, unless their answers find no room
_PAIRS = 2 * 10**10  # pairs of query and row that make a block: tens of seconds


def range_truth(problem: Problem, key: str, folder: Path, memory_bytes: int, progress: Progress = silent) -> RangeTruth:
    """The exact answers to one range search: those kept in `folder` under `key`, else computed and kept there.

    What an interrupted run has finished is not computed again. `memory_bytes` bounds what the computation takes, but
    for a single query, whose answers are held at once however many they are. Raises UsageError where that is too
    little.
    """
    path = folder / f"{key}.ranges"
    with lock(path):
        kept = kept_ranges.read(path, key)
        if kept is None:
            parts = Parts(path, key)
            _compute(problem, parts, _room(problem, memory_bytes), progress)
            parts.finish()
            kept = kept_ranges.read(path, key)
        if kept is None:
            raise StorageError(f"{path}: what was just written cannot be read again: check the disk")
    return kept


def _room(problem: Problem, memory_bytes: int) -> int:
    """How many answers may be held at once."""
    live = 0 if problem.live is None else 16 * len(problem.live.ids)
    fixed = threads() * _THREAD_BYTES + _FIXED_BYTES + live
    room = (memory_bytes - fixed) // ANSWER_BYTES
    if room < 1:
        least = -(-(fixed + ANSWER_BYTES) >> 20)
        raise UsageError(
            f"{memory_bytes >> 20} MiB of memory are too few for these exact answers: give at least {least}m"
        )
    return int(room)


def _compute(problem: Problem, parts: Parts, room: int, progress: Progress) -> None:
    """All the blocks that are missing; one whose answers find no room is tried again with half of its queries."""
    count = problem.queries.shape[0]
    size = max(_FEWEST, min(count, _PAIRS // max(1, problem.base.shape[0])))
    while parts.done < count:
        first, last = parts.done, min(parts.done + size, count)
        try:
            found = within(_part(problem, first, last), _Told(first, count, progress), parts.folder, room)
        except TooManyError:
            size = max(1, (last - first) // 2)
            continue
        parts.add(found.truth(key=""))


@dataclass(frozen=True)
class _Told:
    """Progress of one block, told as a part of the whole."""

    first: int
    count: int
    progress: Progress

    def __call__(self, task: str, done: int, total: int | None) -> None:
        self.progress(task, self.first + done, self.count)


def _part(problem: Problem, first: int, last: int) -> Problem:
    tags = problem.query_tags
    return replace(
        problem,
        queries=problem.queries.part(first, last),
        query_tags=tags.part(first, last) if tags is not None else None,
    )
