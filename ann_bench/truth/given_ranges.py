"""A file of range answers from elsewhere is compared with our own before anyone relies on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.datasets.formats.ranges import locate_ranges
from ann_bench.errors import DataError
from ann_bench.ragged import Ragged, offsets_of
from ann_bench.truth.distance import listed_distances, pair_distances
from ann_bench.truth.model import Problem, RangeTruth

Ints = npt.NDArray[np.integer[Any]]


def check_ranges(problem: Problem, truth: RangeTruth, given_file: Path, chosen: Ints, tolerance: float) -> None:
    """Raise DataError, naming the first wrong query of the `chosen`, where a file disagrees with our exact answers.

    `given_file` is of the layout of big-ann-benchmarks (see `datasets.formats.ranges`). Each query must name the rows
    within the radius, none twice. Other programs rank by float32 distances: a row whose distance differs from the
    radius by less than a share of `tolerance` may be there or not. The file's own distances do not matter.
    """
    parts = locate_ranges(given_file)
    counts = parts.counts.open()
    count = problem.queries.shape[0]
    if len(counts) != count:
        raise DataError(f"{given_file}: it answers {len(counts):,} queries, the query set has {count:,}")
    given = Ragged(offsets_of(counts), parts.ids.open()).take(chosen)
    ours = truth.found.take(chosen)
    for place, number in enumerate(chosen.tolist()):
        theirs, right = (one.ids[one.offsets[place] : one.offsets[place + 1]].astype(np.int64) for one in (given, ours))
        fault = _fault(problem, number, theirs, right, tolerance)
        if fault:
            raise DataError(
                f"{given_file}: query {number} {fault}: the file is not the truth of these data; "
                "remove `truth:` or mend it"
            )


def _fault(problem: Problem, number: int, given: Ints, right: Ints, tolerance: float) -> str:
    """What is wrong with the answers to one query; empty where nothing is."""
    if len(np.unique(given)) != len(given):
        return "names an id twice"
    odd = np.setxor1d(given, right)
    if not len(odd):
        return ""
    rows = _rows(problem, odd)
    if (rows < 0).any():
        return f"names id {odd[rows < 0][0]}, which is not in the base"
    queries = problem.queries.open()[number : number + 1]
    distances = listed_distances(problem.metric, queries, problem.base.open(), (np.zeros(len(rows), np.int64), rows))
    size = max(abs(problem.reach), 1.0 if problem.metric == "angular" else 0.0)
    if problem.metric != "angular":  # programs that form |q|^2 - 2 q.x + |x|^2 in float32 err by a share of |q|^2
        size = max(size, abs(float(pair_distances("ip", queries, queries, np.zeros((1, 1), np.int64))[0, 0])))
    far = np.abs(distances - problem.reach) > tolerance * size
    if not far.any():
        return ""
    one, distance = odd[far][0], distances[far][0]
    if one in given:
        outside = distance >= problem.reach
        return f"names id {one}, which {'lies beyond the radius' if outside else 'does not hold its tags'}"
    return f"lacks id {one}, which lies within the radius"


def _rows(problem: Problem, ids: Ints) -> Ints:
    """The base row of each id, -1 where it is not live."""
    live = problem.live
    if live is None:
        return np.where((ids >= 0) & (ids < problem.base.shape[0]), ids, -1)
    if not len(live.ids):
        return np.full_like(ids, -1)
    place = np.minimum(np.searchsorted(live.ids, ids), len(live.ids) - 1)
    return np.where(live.ids[place] == ids, live.rows[place], -1)
