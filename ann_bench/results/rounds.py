"""The rounds of queries that were put one by one: a run may ask its query set several times."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ann_bench.results.model import Bundle

Floats = npt.NDArray[np.float64]


def answers_of(bundle: Bundle) -> npt.NDArray[np.int32]:
    """Which of the answers each round gave, (builds, runs, rounds, searches); -1: none. A batch is a single round."""
    if bundle.asks is None or bundle.asks.answer_of is None:
        return bundle.answer_of[:, :, np.newaxis]
    return bundle.asks.answer_of


def by_round(values: Floats, queries: int) -> Floats:
    """What was noted of the asks of a run, as (rounds, queries) without the rounds that it did not have."""
    rounds = values.reshape(-1, queries)
    return np.asarray(rounds[~np.isnan(rounds).all(axis=1)])


def rounds_made(bundle: Bundle, build: int, run: int, search: int) -> int:
    """How often a run asked the queries of a search; 0 where there is no such run."""
    given = answers_of(bundle)
    return int((given[build, run, :, search] >= 0).sum()) if build < len(given) and run < given.shape[1] else 0
