"""ScaNN: a tree of partitions, codes by anisotropic quantization, exact re-ranking."""

from __future__ import annotations

import numpy as np
import scann

from ann_bench import Algorithm
from ann_bench.vectors import prepared

FEW = 1024  # up to so many rows are all compared: too few to learn codes from


class Scann(Algorithm):
    """`leaves` partitions (None: the square root of the rows) of codes, 4 bits for each 2 dimensions.

    `search` leaves are searched, and the `rerank` x k best rows by their codes are compared exactly.
    """

    def fit(self, base: np.ndarray, tags: None = None, learn: np.ndarray | None = None) -> None:
        """One call of scann, which copies the rows."""
        self.rows, dot = len(base), self.metric != "euclidean"
        builder = scann.scann_ops_pybind.builder(self._floats(base), 10, "dot_product" if dot else "squared_l2")
        builder = builder.set_n_training_threads(self.threads)
        self.leaves = max(1, min(self.build["leaves"] or round(len(base) ** 0.5), len(base) // 50))
        if len(base) <= FEW:
            builder = builder.score_brute_force()
        else:
            soar = {"soar_lambda": self.build["soar"]} if dot and self.build["soar"] else {}
            noise = {"anisotropic_quantization_threshold": self.build["threshold"]} if dot else {}
            sample = min(len(base), max(100_000, 50 * self.leaves))
            builder = builder.tree(
                self.leaves, 1, training_sample_size=sample, spherical=self.metric == "angular", **soar
            )
            builder = builder.score_ah(2, **noise).reorder(10)
        self.searcher = builder.build()
        # The caller works beside the pool, which cannot be empty.
        self.searcher.set_num_threads(max(1, self.threads - 1))

    def set_query_arguments(self, search: int, rerank: int) -> None:
        """See the class."""
        self.search, self.rerank = min(search, self.leaves), rerank

    def query(self, queries: np.ndarray, k: int, tags: None = None) -> np.ndarray:
        """One call of scann for the whole batch."""
        answers = np.full((len(queries), k), -1, np.int64)
        if not len(queries):
            return answers
        wanted = min(k, self.rows)
        # scann holds an answer that it did not find as id 0 at the distance NaN.
        search = self.searcher.search_batched_parallel if self.threads > 1 else self.searcher.search_batched
        ids, far = search(
            self._floats(queries),
            final_num_neighbors=wanted,
            pre_reorder_num_neighbors=max(wanted, self.rerank * k),
            leaves_to_search=self.search,
        )
        answers[:, : ids.shape[1]] = np.where(np.isfinite(far), ids.astype(np.int64), -1)
        return answers

    def _floats(self, vectors: np.ndarray) -> np.ndarray:
        return prepared(vectors, self.metric)
