"""Which queries fail: what the raw counts of a bundle say, query by query, in a form small enough for a page."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.results.model import Bundle
from ann_bench.results.queries import query_hits
from ann_bench.site.difficulty import difficulty, grouped

#: Queries that are listed by number, the worst first.
WORST = 50

#: So many numbers of matches are shown one by one; more are put together by powers of two.
_SINGLE = 20

Ints = npt.NDArray[np.int64]


def drill(bundle: Bundle) -> dict[str, Any] | None:
    """Recall over the queries of a bundle: how many have which, by the number of true answers, and the worst.

    Hits are summed over all answers that were given to a query (searches, runs, builds). `bins` counts queries with a
    recall of 0-9 %, 10-19 %, ..., 100 %; for `selectivity` and `distance` see `difficulty`. None where no query
    has a true answer.
    """
    hits, strict, possible = query_hits(bundle)
    known = np.flatnonzero(possible > 0)
    if not len(known):
        return None
    recall = hits[known] / possible[known]
    tenths = np.floor(10 * recall + 1e-9).astype(np.int64)
    order = np.lexsort((known, recall))[:WORST]
    worst = known[order[recall[order] < 1]]
    return {
        "queries": len(possible),
        "empty": int(len(possible) - len(known)),
        "bins": np.bincount(tenths, minlength=11).tolist(),
        "matches": _by_matches(_matches(bundle, len(possible))[known], recall),
        **difficulty(bundle, known, recall),
        "worst": np.stack([worst, hits[worst], strict[worst], possible[worst]], axis=1).tolist(),
    }


def _matches(bundle: Bundle, total: int) -> Ints:
    """The most true answers that a query has in any search, as far as they are counted: up to k."""
    most = np.zeros(total, dtype=np.int64)
    for score in bundle.scores:
        size = len(score.possible)
        most[:size] = np.maximum(most[:size], score.possible.astype(np.int64))
    return most


def _by_matches(matches: Ints, recall: npt.NDArray[np.float64]) -> list[list[Any]]:
    """Label, queries, mean recall, and how many of them lack an answer, for each number of true answers."""
    values = np.unique(matches)
    if len(values) < 2:
        return []
    if len(values) <= _SINGLE:
        return grouped([str(value) for value in values.tolist()], np.searchsorted(values, matches), recall)
    group = np.floor(np.log2(matches)).astype(np.int64)
    return grouped([f"{2**n}-{2 ** (n + 1) - 1}" for n in range(int(group.max()) + 1)], group, recall)
