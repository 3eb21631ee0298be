"""Exact answers to many searches from one scan: which points can be in an answer at all, and only these measured.

The lists of `sweep.py` are merged for each search, by score. With `s` the k-th least score and `e` the largest error,
every true neighbour has a score of at most `s + 2 e`; where a list ends beyond that, nothing that was left out of it
can be a neighbour. So what lies within is measured, once for all searches, with the exact distance, and the searches
are merged again from that little. A query whose lists are too short (many points at nearly one distance) is not
answered here.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ann_bench.truth import blas, cores
from ann_bench.truth.distance import chunk_pairs, paired
from ann_bench.truth.scan import Asking
from ann_bench.truth.streams import Tops
from ann_bench.truth.sweep import Lists, Numbers, Task, sweep
from ann_bench.truth.way import Way

_GATHERED = 1 << 18  # pairs whose rows and ids are looked up at once


@dataclass(frozen=True)
class Shortlist:
    """All that can be in an answer to some queries, measured.

    `queries` are their numbers, `whole` says for which of them it is known. The points of group `g` for the `i`-th
    query are `distances` and `ids` from `offsets[g * len(queries) + i]` to the next offset.
    """

    queries: Numbers
    whole: npt.NDArray[np.bool_]
    offsets: Numbers
    distances: npt.NDArray[np.float64]
    ids: npt.NDArray[np.int32]


class _StopError(Exception):
    """Another thread failed, or the user interrupted."""


def shortlists(task: Task, way: Way) -> tuple[list[Shortlist], Numbers]:
    """The shortlists of all queries of the task, and the numbers of those that have none. All threads work."""
    workers = cores.threads()
    portions = np.array_split(np.arange(task.queries.count), way.portions(task.queries.count, workers))
    stop, vain = threading.Event(), threading.Event()

    def told(pairs: int) -> None:
        if stop.is_set():
            raise _StopError
        task.told(pairs)

    watched = replace(task, told=told)

    def work(numbers: Numbers) -> Shortlist | None:
        if vain.is_set():
            return None
        # Where float32 overflows or vanishes there is no score; no warning is due.
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            found = _shortlist(watched, way, numbers)
        if found is None or 2 * np.count_nonzero(found.whole) < len(numbers):
            vain.set()  # scores tell too little about these data: the others are not worth a scan
        return found

    with blas.one_thread(), ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(work, numbers) for numbers in portions]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            stop.set()
            for future in futures:
                future.cancel()
    for error in [future.exception() for future in futures if not future.cancelled()]:
        if error is not None and not isinstance(error, _StopError):
            raise error
    found = [one for one in (future.result() for future in futures) if one is not None]
    whole = np.zeros(task.queries.count, dtype=bool)
    for one in found:
        whole[one.queries] = one.whole
    return found, np.flatnonzero(~whole)


def _shortlist(task: Task, way: Way, queries: Numbers) -> Shortlist | None:
    """The shortlist of these queries; None where they have no scores."""
    from ann_bench.truth import sweep_kernels

    asking = Asking.of(queries, task.queries)
    lists = sweep(task, asking, way.length)
    if lists is None:
        return None
    marks, whole = _marked(lists, way)
    counts = np.empty(marks.shape[:2], dtype=np.int64)
    sweep_kernels.count_marks(marks, whole, counts)
    offsets = np.concatenate([[0], np.cumsum(counts.ravel())])
    query_of, point_of = np.empty(offsets[-1], dtype=np.int32), np.empty(offsets[-1], dtype=np.int32)
    sweep_kernels.gather(marks, whole, lists.points, (query_of, point_of))
    del lists, marks
    return Shortlist(queries, whole, offsets, *_measured(task, asking, query_of, point_of))


def _marked(lists: Lists, way: Way) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """What can be in an answer, of the shape of the lists, and for which queries nothing can be missing."""
    from ann_bench.truth import sweep_kernels

    count = lists.keys.shape[1]
    marks, room = np.zeros(lists.keys.shape, dtype=bool), np.full(count, way.marks)
    shape = way.levels, count, way.length
    keys, places = np.full(shape, lists.none), np.zeros(shape, dtype=np.int32)
    for node in way.nodes:
        above, here = ((keys[level], places[level]) for level in (node.level - 1, node.level))
        sweep_kernels.join_scores(lists.keys, node.joining, above, here)
        if node.leaf:
            sweep_kernels.mark(here, way.k, (lists.errors, lists.none), (marks, room))
    return marks, room >= 0


def _measured(
    task: Task, asking: Asking, query_of: npt.NDArray[np.int32], point_of: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    """The exact distances, and the ids, of pairs."""
    distances, ids = np.empty(len(query_of)), np.empty(len(query_of), dtype=np.int32)
    integers = task.base.small_integers and task.queries.small_integers
    chunk = chunk_pairs(task.base.values_per_row)
    for start in range(0, len(query_of), _GATHERED):
        stop = min(start + _GATHERED, len(query_of))
        rows, ids[start:stop] = task.order.rows_and_ids(point_of[start:stop])
        for first in range(start, stop, chunk):
            some = slice(first, min(first + chunk, stop))
            left = asking.side.vectors[query_of[some]]
            right = task.base.take(rows[some.start - start : some.stop - start])
            distances[some] = paired(task.metric, left, right, integers)
    return distances, ids


def answers(found: Sequence[Shortlist], way: Way, queries: int) -> Iterator[Tops]:
    """The answers of so many queries to each search, in order of time; of no use for those without a shortlist."""
    from ann_bench.truth import sweep_kernels

    held = [[Tops.empty(len(one.queries), way.k) for _ in range(way.levels)] for one in found]
    for node in way.nodes:
        for one, lists in zip(found, held, strict=True):
            above, here = ((lists[at].distances, lists[at].ids) for at in (node.level - 1, node.level))
            sweep_kernels.join_exact(one.offsets, (one.distances, one.ids), node.joining, above, here)
        if node.leaf:
            whole = Tops.empty(queries, way.k)
            for one, lists in zip(found, held, strict=True):
                whole.ids[one.queries] = lists[node.level].ids
                whole.distances[one.queries] = lists[node.level].distances
            yield whole
