"""How rows are compared: as matrix products in float32, and one by one in float64."""

from __future__ import annotations

import faiss
import numpy as np

PAIRS = 1 << 13  # that are compared in float64 at once
TINY = np.finfo(np.float32).tiny


def nearest(queries: np.ndarray, block: np.ndarray, k: int, space: int) -> tuple[np.ndarray, np.ndarray]:
    """faiss multiplies matrices only in large batches, unless told otherwise, for this call alone."""
    usual = faiss.cvar.distance_compute_blas_threshold
    faiss.cvar.distance_compute_blas_threshold = 20
    try:
        return faiss.knn(queries, block, k, space)
    finally:
        faiss.cvar.distance_compute_blas_threshold = usual


class Pairs:
    """Distances in float64 of single queries to single rows of a base."""

    def __init__(self, metric: str, base: np.ndarray) -> None:
        self.metric, self.base = metric, base

    def distances(self, queries: np.ndarray, lines: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Of the query in each line to the row of each id; smaller is nearer."""
        distances = np.empty(len(ids))
        for start in range(0, len(ids), PAIRS):
            part = slice(start, start + PAIRS)
            left, right = (a.astype(np.float64) for a in (queries[lines[part]], self.base[ids[part]]))
            if self.metric == "euclidean":
                distances[part] = ((left - right) ** 2).sum(axis=1)
                continue
            distances[part] = -np.einsum("ij,ij->i", left, right)
            if self.metric == "angular":
                lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
                distances[part] = 1 + distances[part] / np.maximum(lengths, TINY)
        return distances
