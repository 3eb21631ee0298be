"""hnswlib in a stream: deleted points are marked, and new ones take their places in the graph."""

from __future__ import annotations

import hnswlib
import numpy as np

from ann_bench import Algorithm

BLOCK = 1 << 16  # rows that are cast to float32 at once, on their way into hnswlib
SPACES = {"euclidean": "l2", "ip": "ip", "angular": "cosine"}


class Hnswlib(Algorithm):
    """A graph of `degree` links a point, built with width `ef_construction`, searched with width `ef`.

    A point has a label of its own in the graph, never used twice: hnswlib loses a label that is given again while
    a deleted point still has it.
    """

    def setup(self, max_points: int) -> None:
        """An empty graph of this size: deleted points are replaced, so there are never more in it than were live."""
        self.index = hnswlib.Index(SPACES[self.metric], self.dim)
        build = {"M": self.build["degree"], "ef_construction": self.build["ef_construction"]}
        self.index.init_index(
            max_elements=max_points, random_seed=self.build.get("seed", 1), allow_replace_deleted=True, **build
        )
        self.label_of: dict[int, int] = {}
        self.id_of = np.empty(0, np.int64)

    def set_query_arguments(self, ef: int) -> None:
        """See the class."""
        self.ef = ef

    def insert(self, vectors: np.ndarray, ids: np.ndarray, tags: object = None) -> None:
        """Into the places of deleted points while there are any."""
        for start in range(0, len(ids), BLOCK):
            some = ids[start : start + BLOCK]
            labels = np.arange(len(self.id_of), len(self.id_of) + len(some))
            block = np.asarray(vectors[start : start + BLOCK], np.float32)
            self.index.add_items(block, labels, num_threads=self.threads, replace_deleted=True)
            self.id_of = np.append(self.id_of, some)
            self.label_of.update(zip(some.tolist(), labels.tolist(), strict=True))

    def delete(self, ids: np.ndarray) -> None:
        """Mark them; hnswlib takes one at a time."""
        for one in ids.tolist():
            self.index.mark_deleted(self.label_of.pop(one))

    def query(self, queries: np.ndarray, k: int, tags: object = None) -> np.ndarray:
        """All queries in one call, as long as each finds k points."""
        answers = np.full((len(queries), k), -1, np.int64)
        width = min(k, len(self.label_of))
        if width:
            self.index.set_ef(max(self.ef, k))
            self._answer(np.asarray(queries, np.float32), answers[:, :width])
        return answers

    def _answer(self, queries: np.ndarray, answers: np.ndarray) -> None:
        """Where the graph does not lead one query of a batch to k points, hnswlib refuses the batch: halve it."""
        half = len(queries) // 2
        try:
            labels = self.index.knn_query(queries, answers.shape[1], num_threads=self.threads)[0]
            answers[:] = self.id_of[labels.astype(np.int64)]
        except RuntimeError:
            if half:
                self._answer(queries[:half], answers[:half])
                self._answer(queries[half:], answers[half:])
            elif answers.shape[1] > 1:
                self._answer(queries, answers[:, :-1])
