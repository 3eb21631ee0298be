"""Scalable Vector Search: a Vamana graph over the rows in their own number type."""

from __future__ import annotations

import numpy as np
import svs

from ann_bench import Algorithm

TINY = np.finfo(np.float32).tiny


class SVS(Algorithm):
    """A graph of up to `degree` links a row, built with `width` and searched with `window`."""

    def fit(self, base: np.ndarray, tags: None = None, learn: np.ndarray | None = None) -> None:
        """One call of svs, which copies the rows."""
        self.rows, euclidean = len(base), self.metric == "euclidean"
        parameters = svs.VamanaBuildParameters(
            alpha=1.2 if euclidean else 0.95,
            graph_max_degree=self.build["degree"],
            window_size=self.build["width"],
        )
        self.index = svs.Vamana.build(
            parameters, self._vectors(base), svs.L2 if euclidean else svs.MIP, num_threads=self.threads
        )

    def set_query_arguments(self, window: int) -> None:
        """See the class."""
        self.window = window

    def query(self, queries: np.ndarray, k: int, tags: None = None) -> np.ndarray:
        """One call of svs for the whole batch."""
        answers = np.full((len(queries), k), -1, np.int64)
        if not len(queries):
            return answers
        wanted = min(k, self.rows)
        self.index.search_window_size = max(self.window, wanted)
        found = self.index.search(self._vectors(queries), wanted)[0].astype(np.int64)
        answers[:, :wanted] = found
        # Where the graph leads to fewer rows, svs fills the line with one and the same row.
        ordered = np.sort(found, axis=1)
        for line in np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1)):
            kept = list(dict.fromkeys(found[line].tolist()))
            answers[line] = -1
            answers[line, : len(kept)] = kept
        return answers

    def _vectors(self, vectors: np.ndarray) -> np.ndarray:
        """As they are; the angle is the inner product of vectors of length 1."""
        if self.metric != "angular":
            return np.ascontiguousarray(vectors)
        vectors = np.asarray(vectors, np.float32)
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), TINY)
