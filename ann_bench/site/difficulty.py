"""How hard each query is: how few rows pass its filter, and how far it lies from the data, where the cache knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.results.model import Bundle
from ann_bench.results.queries import sole_truth
from ann_bench.truth.look import matching_rows, nearest_distances

Floats = npt.NDArray[np.float64]

#: Queries are put into so many groups of equal size, by their distance.
_GROUPS = 10


def difficulty(bundle: Bundle, known: npt.NDArray[np.int64], recall: Floats) -> dict[str, list[list[Any]]]:
    """Recall of the `known` queries by `selectivity` (rows that pass) and `distance` (to the nearest answer).

    Each row is label, queries, mean recall, how many lack an answer. Workloads whose searches have other answers each
    time, and what the cache does not hold, give no rows.
    """
    key = sole_truth(bundle)
    if key is None:
        return {"selectivity": [], "distance": []}
    count = max(len(score.possible) for score in bundle.scores)
    rows, nearest = matching_rows(key, count), nearest_distances(key, count, int(bundle.identity["k"]))
    return {
        "selectivity": [] if rows is None else _by_powers(rows[known], recall),
        "distance": [] if nearest is None else _by_rank(nearest[known], recall),
    }


def grouped(labels: list[str], group: npt.NDArray[np.int64], recall: Floats) -> list[list[Any]]:
    """Label, queries, mean recall and how many lack an answer of each group that has queries."""
    rows = []
    for number, label in enumerate(labels):
        mine = recall[group == number]
        if len(mine):
            rows.append([label, len(mine), round(float(mine.mean()), 5), int((mine < 1).sum())])
    return rows


def _by_powers(counts: npt.NDArray[np.int64], recall: Floats) -> list[list[Any]]:
    """By powers of ten; no rows where all queries have as many."""
    if (counts == counts[0]).all():
        return []
    group = np.searchsorted(10 ** np.arange(1, 19), np.maximum(counts, 1), side="right")
    return grouped([f"{10**n:,}-{10 ** (n + 1) - 1:,}" for n in range(int(group.max()) + 1)], group, recall)


def _by_rank(distances: Floats, recall: Floats) -> list[list[Any]]:
    """By tenths of the queries, the nearest first; equal distances stay together."""
    if not np.isfinite(distances).all() or (distances == distances[0]).all():
        return []
    edges = np.unique(np.quantile(distances, np.arange(1, _GROUPS) / _GROUPS, method="lower"))
    group = np.searchsorted(edges, distances, side="left")
    labels = []
    for number in range(int(group.max()) + 1):
        mine = distances[group == number]
        labels.append(f"{_shown(mine.min())} to {_shown(mine.max())}" if len(mine) else "")
    return grouped(labels, group, recall)


def _shown(distance: float) -> str:
    return f"{distance:,.0f}" if abs(distance) >= 1000 else f"{distance:.4g}"
