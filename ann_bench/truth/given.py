"""A truth file from elsewhere is compared with our own exact answers before anyone relies on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.arrays import CsrRef
from ann_bench.datasets.formats.knn import read_truth
from ann_bench.errors import DataError
from ann_bench.truth.distance import pair_distances
from ann_bench.truth.given_ranges import check_ranges
from ann_bench.truth.model import AnyTruth, Problem, RangeTruth

Ints = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.float64]

_WHOLE = 2_000  # a file with at most this many queries is checked whole
_SAMPLE = 1_000
_SEED = 20_231  # the sample is the same in every run: an error is found again
#: Other programs rank by float32 distances; what they take for a tie may differ by this share of the distance.
_TOLERANCE = 1e-5


def check_given(problem: Problem, truth: AnyTruth, given_file: Path) -> None:
    """Raise DataError, naming the first wrong query, where a truth file disagrees with our exact answers.

    `given_file` is of the layout of big-ann-benchmarks (see `datasets.formats.knn`). For each query that is looked
    at (all of at most 2,000, else a sample of 1,000) it must name as many answers as there are, each a live row that
    holds the tags, none twice, at the true distances. Distances are computed from its ids: ties may be broken in
    another way, and the unit of its own distances does not matter. Where it holds another k the smaller is compared.
    For searches by radius see `check_ranges`.
    """
    count = problem.queries.shape[0]
    chosen = np.arange(count)
    if count > _WHOLE:
        chosen = np.sort(np.random.default_rng(_SEED).choice(count, _SAMPLE, replace=False))
    if isinstance(truth, RangeTruth):
        check_ranges(problem, truth, given_file, chosen, _TOLERANCE)
        return
    ids, _ = read_truth(given_file)
    if len(ids) != count:
        raise DataError(f"{given_file}: it answers {len(ids):,} queries, the query set has {count:,}")
    k = min(ids.shape[1], truth.ids.shape[1])
    checked = _Checked(problem, chosen, np.asarray(ids[chosen, :k], dtype=np.int64))
    reason = checked.first_fault(truth.ids[chosen, :k], truth.distances[chosen, :k])
    if reason is not None:
        raise DataError(f"{given_file}: {reason}: the file is not the truth of these data; remove `truth:` or mend it")


@dataclass(frozen=True)
class _Checked:
    """Answers `ids` (n, k) of a file to the queries numbered `chosen`."""

    problem: Problem
    chosen: Ints
    ids: Ints

    def first_fault(self, true_ids: Ints, true_distances: Floats) -> str | None:
        rows = self._rows()
        fails = self._fails_filter(rows)
        wanted, given = (true_ids >= 0).sum(axis=1), (self.ids >= 0).sum(axis=1)
        queries = self.problem.queries.open()[self.chosen]
        found = pair_distances(self.problem.metric, queries, self.problem.base.open(), rows)
        found = np.sort(found, axis=1)
        slack = _TOLERANCE * _magnitude(true_distances, self.problem, queries)
        with np.errstate(invalid="ignore"):
            off = (np.abs(found - true_distances) > slack[:, None]) & np.isfinite(true_distances)
        for place, number in enumerate(self.chosen.tolist()):
            if given[place] != wanted[place]:
                return f"query {number} has {given[place]} answers, there are {wanted[place]}"
            if (unknown := (self.ids[place] >= 0) & (rows[place] < 0)).any():
                return f"query {number} names id {self.ids[place][unknown][0]}, which is not in the base"
            named = self.ids[place][self.ids[place] >= 0]
            if len(np.unique(named)) != len(named):
                return f"query {number} names an id twice"
            if (lacking := np.flatnonzero(fails[place])).size:
                return f"query {number} names id {self.ids[place, lacking[0]]}, which does not hold its tags"
            if off[place].any():
                rank = int(np.flatnonzero(off[place])[0])
                shown, right = found[place, rank], true_distances[place, rank]
                return f"query {number}, rank {rank + 1}: distance {shown:.8g}, the exact one is {right:.8g}"
        return None

    def _rows(self) -> Ints:
        """The base row of each id, -1 where it is not live."""
        live = self.problem.live
        ids = self.ids
        if live is None:
            return np.where((ids >= 0) & (ids < self.problem.base.shape[0]), ids, -1)
        if not len(live.ids):
            return np.full_like(ids, -1)
        place = np.minimum(np.searchsorted(live.ids, ids), len(live.ids) - 1)
        return np.where(live.ids[place] == ids, live.rows[place], -1)

    def _fails_filter(self, rows: Ints) -> npt.NDArray[np.bool_]:
        """Which answers name a row that lacks a tag of the query."""
        fails = np.zeros(rows.shape, dtype=bool)
        tags, query_tags = self.problem.tags, self.problem.query_tags
        if tags is None or query_tags is None:
            return fails
        of_row, of_query = _sets(tags), _sets(query_tags)
        for place, number in enumerate(self.chosen.tolist()):
            wanted = of_query(number)
            fails[place] = [row >= 0 and not wanted <= of_row(row) for row in rows[place].tolist()]
        return fails


def _sets(tags: CsrRef) -> Callable[[int], set[int]]:
    """A function that gives the set of tags of a row."""
    indptr, indices = np.asarray(tags.indptr.open()), np.asarray(tags.indices.open())
    return lambda row: set(indices[indptr[row] : indptr[row + 1]].tolist())


def _magnitude(distances: Floats, problem: Problem, queries: Any) -> Floats:
    """What float32 errors are relative to, for each query."""
    shown = np.where(np.isfinite(distances), np.abs(distances), 0).max(axis=1, initial=0)
    if problem.metric == "angular":
        return np.asarray(np.maximum(shown, 1.0))
    # Programs that form |q|^2 - 2 q.x + |x|^2 in float32 err by a share of |q|^2, however near the row.
    squares = np.abs(pair_distances("ip", queries, queries, np.arange(queries.shape[0])[:, None]))[:, 0]
    integers = not isinstance(problem.base, CsrRef) and np.dtype(problem.base.dtype).kind in "iu"
    return shown if integers else np.asarray(np.maximum(shown, squares))
