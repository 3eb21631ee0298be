"""ScaNN in a stream: upsert and delete by id, and a rebalance that learns the partitions anew."""

from __future__ import annotations

import numpy as np
from scann.scann_ops.py import scann_ops_pybind as scann

from ann_bench import Algorithm
from ann_bench.vectors import prepared

BLOCK = 1 << 16  # rows that are cast to float32 at once, on their way into scann
BATCH = 1 << 10  # rows of one step of an upsert


class Scann(Algorithm):
    """`leaves` x the square root of the points partitions, `search` of them searched, `rerank` points compared exactly.

    Up to `flat` points, all are compared. The partitions and codes are learned anew once as many points were
    inserted as there were when they were learned last.
    """

    def setup(self, max_points: int) -> None:
        """Begin without an index: there is nothing to learn from."""
        self.index: scann.ScannSearcher | None = None
        self.space = "squared_l2" if self.metric == "euclidean" else "dot_product"
        self.known = self.fresh = self.renewals = 0

    def set_query_arguments(self, search: int, rerank: int) -> None:
        """See the class."""
        self.search, self.rerank = search, rerank

    def insert(self, vectors: np.ndarray, ids: np.ndarray, tags: object = None) -> None:
        """Into the partitions that are there; then new ones, where they are due."""
        for start in range(0, len(ids), BLOCK):
            block, names = self._floats(vectors[start : start + BLOCK]), ids[start : start + BLOCK].tolist()
            if self.index is None:
                builder = scann.builder(block, 10, self.space).score_brute_force()
                self.index = builder.set_n_training_threads(self.threads).build(docids=names)
                self.index.set_num_threads(max(1, self.threads - 1))  # the caller works beside the pool
            else:
                self.index.upsert(names, block, batch_size=BATCH)
        self.fresh += len(ids)
        if self.fresh >= max(self.known, self.build["flat"]) and self.index.size() >= self.build["flat"]:
            self._renew()

    def delete(self, ids: np.ndarray) -> None:
        """By id; with the last point goes the index, which could not be searched."""
        self.index.delete(ids.tolist())
        if not self.index.size():
            self.setup(0)

    def query(self, queries: np.ndarray, k: int, tags: object = None) -> np.ndarray:
        """All queries in one call; where scann finds fewer points than asked for, it fills up with other numbers."""
        answers = np.full((len(queries), k), -1, np.int64)
        width = min(k, self.index.size()) if self.index else 0
        if width and len(queries):
            effort = {"leaves_to_search": self.search, "pre_reorder_num_neighbors": max(self.rerank, width)}
            search = self.index.search_batched_parallel if self.threads > 1 else self.index.search_batched
            ids, far = search(self._floats(queries), width, **effort)
            found = np.isfinite(np.asarray(far)) & (np.cumsum(np.isnan(far), axis=1) == 0)
            answers[:, :width] = np.where(found, np.asarray(ids, np.int64), -1)
        return answers

    def stats(self) -> dict[str, int]:
        """How often the partitions were learned."""
        return {"renewals": self.renewals}

    def _renew(self) -> None:
        """A rebalance with another configuration: more partitions for more points."""
        self.known, self.fresh, self.renewals = self.index.size(), 0, self.renewals + 1
        leaves = round(self.build["leaves"] * self.known**0.5)
        builder = scann.builder(np.empty((0, self.dim), np.float32), 10, self.space)
        builder = builder.tree(leaves, min(self.search, leaves), training_sample_size=50 * leaves)
        builder = builder.score_ah(2, anisotropic_quantization_threshold=0.2).reorder(self.rerank)
        self.index.rebalance(builder.create_config())

    def _floats(self, vectors: np.ndarray) -> np.ndarray:
        return prepared(vectors, self.metric)
