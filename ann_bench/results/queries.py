"""What a bundle says of single queries: hits over all answers that were given, and which exact answers they share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ann_bench.results.model import Bundle
from ann_bench.results.rounds import answers_of

Ints = npt.NDArray[np.int64]


def query_hits(bundle: Bundle) -> tuple[Ints, Ints, Ints]:
    """Hits, strict hits and possible hits (queries,) of each query, summed over searches, runs and builds."""
    total = max((len(score.possible) for score in bundle.scores), default=0)
    sums = np.zeros((3, total), dtype=np.int64)
    given = answers_of(bundle)
    answers, times = np.unique(given[given >= 0], return_counts=True)
    for answer, weight in zip(answers.tolist(), times.tolist(), strict=True):
        score = bundle.scores[answer]
        for row, values in enumerate((score.hits, score.hits_strict, score.possible)):
            sums[row, : len(values)] += weight * values.astype(np.int64)
    return sums[0], sums[1], sums[2]


def sole_truth(bundle: Bundle) -> str | None:
    """The key of the exact answers, where all searches share them."""
    keys = set(bundle.truths)
    return keys.pop() if len(keys) == 1 and bundle.scores else None
