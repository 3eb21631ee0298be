"""How many live points each query could be answered with, and what a guess among them would be worth."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ann_bench.datasets.cache import cache_root
from ann_bench.datasets.files import atomic, lock
from ann_bench.progress import Progress, silent
from ann_bench.truth.compute import DEFAULT_MEMORY
from ann_bench.truth.groups import groups_of, matches
from ann_bench.truth.lives import points_in
from ann_bench.truth.model import AnyTruth, Problem, RangeTruth
from ann_bench.truth.points import Points
from ann_bench.truth.postings import build
from ann_bench.truth.problems import Searches

Counts = npt.NDArray[np.int64]


def matching(problem: Problem, memory_bytes: int, scratch: Path | None, progress: Progress = silent) -> Counts:
    """For each query the number of live points that hold all its tags, int64 (queries,)."""
    points = Points(problem.base.shape[0], problem.live)
    if problem.tags is None or problem.query_tags is None:
        return np.full(problem.queries.shape[0], points.count, np.int64)
    asked = problem.query_tags.open()
    lists = build(problem.tags.open(), points, np.unique(np.asarray(asked.indices)), memory_bytes, scratch)
    counts = np.full(asked.shape[0], points.count, np.int64)
    done = 0
    for group, found in matches(groups_of(asked), lists, points.count):
        if found is not None:
            counts[group.queries] = len(found)
        done += len(group.queries)
        progress("matching rows", done, asked.shape[0])
    return counts


def kept_matching(
    problem: Problem, key: str, progress: Progress = silent, memory_bytes: int = DEFAULT_MEMORY
) -> Counts:
    """As `matching`; of filtered searches kept in the cache beside the answers with this key."""
    if problem.query_tags is None:
        return matching(problem, memory_bytes, None, progress)
    folder = cache_root() / "truth"
    path = folder / f"{key}.matching.npy"
    with lock(path):
        known = known_matching(key)
        if known is None or len(known) != problem.queries.shape[0]:
            known = matching(problem, memory_bytes, folder, progress)
            buffer = io.BytesIO()
            np.save(buffer, known)
            with atomic(path) as file:
                file.write(buffer.getvalue())
    return known


def known_matching(key: str) -> Counts | None:
    """What the cache knows of the answers with this key; None where that is nothing."""
    try:
        return np.asarray(np.load(cache_root() / "truth" / f"{key}.matching.npy", allow_pickle=False), np.int64)
    except (OSError, ValueError, EOFError):
        return None


def chance_recall(searches: Searches, truths: Sequence[AnyTruth], progress: Progress = silent) -> float:
    """The recall of random live points that pass the filter, k of them for each query: its expected value.

    Of m points that match, min(k, m) are right, and a guess of min(k, m) of them hits each with the chance
    min(k, m) / m. The mean over queries that have an answer, then over searches. NaN for searches within a radius,
    where a guess has no size.
    """
    shares = []
    for place, truth in enumerate(truths):
        if isinstance(truth, RangeTruth):
            return math.nan
        filtered = searches.kinds[searches.kind_of[place]].query_tags is not None
        possible = truth.counts
        # without a filter the live set need not be made, which of a long stream would take minutes
        found = (
            kept_matching(searches[place], truth.key, progress)
            if filtered
            else np.full(len(possible), points_in(searches.lives[place]), np.int64)
        )
        some = possible > 0
        if some.any():
            shares.append(float(np.mean(possible[some] / found[some])))
    return math.fsum(shares) / len(shares) if shares else math.nan
