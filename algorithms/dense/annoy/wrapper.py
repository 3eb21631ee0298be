"""Annoy: trees of random splits, searched together, the rows of the leaves compared."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import annoy
import numpy as np

from ann_bench import Algorithm

METRICS = {"euclidean": "euclidean", "ip": "dot", "angular": "angular"}


class Annoy(Algorithm):
    """`trees` trees; a search looks at `look` rows in all."""

    def fit(self, base: np.ndarray, tags: None = None, learn: np.ndarray | None = None) -> None:
        """Add row by row, then build the trees."""
        self.rows = len(base)
        self.index = annoy.AnnoyIndex(self.dim, METRICS[self.metric])
        self.index.set_seed(self.build.get("seed", 1))
        for row, vector in enumerate(base):
            self.index.add_item(row, vector)
        self.index.build(self.build["trees"], n_jobs=self.threads)
        self.pool = ThreadPoolExecutor(self.threads)

    def set_query_arguments(self, look: int) -> None:
        """See the class."""
        self.look = look

    def query(self, queries: np.ndarray, k: int, tags: None = None) -> np.ndarray:
        """Annoy has no batches: each thread takes a part of the queries."""
        answers = np.full((len(queries), k), -1, np.int64)
        wanted = min(k, self.rows)

        def answer(lines: np.ndarray) -> None:
            for line in lines.tolist():
                found = self.index.get_nns_by_vector(queries[line], wanted, max(self.look, wanted))
                answers[line, : len(found)] = found

        list(self.pool.map(answer, np.array_split(np.arange(len(queries)), 4 * self.threads)))
        return answers
