"""DiskANN's dynamic index in memory: a Vamana graph with lazy deletes, consolidated when many have gathered."""

from __future__ import annotations

import diskannpy
import numpy as np
from labels import ids_once

from ann_bench import Algorithm
from ann_bench.vectors import prepared

BLOCK = 1 << 16  # rows that are cast at once, on their way into diskannpy
SLACK = 4  # deleted points are consolidated when they are a quarter of the points that may be live


class DiskANN(Algorithm):
    """A graph of `degree` links a point, built with a list of `complexity` candidates, searched with one of `search`.

    A point has a label of its own in the graph, never used twice: a deleted one keeps its label until it is
    consolidated. Bytes stay bytes for euclidean distances, everything else becomes float32.
    """

    def setup(self, max_points: int) -> None:
        """An empty graph, with room for the deleted points that wait to be consolidated."""
        self.room, self.waiting = max_points + max_points // SLACK + 1, 0
        self.label_of, self.id_of = {}, np.full(1, -1, np.int64)  # diskannpy has no label 0
        self.number = np.dtype(self.dtype if self.dtype in ("int8", "uint8") and self.metric == "euclidean" else "f4")
        self.index = diskannpy.DynamicMemoryIndex(
            distance_metric="mips" if self.metric == "ip" else "l2",
            vector_dtype=self.number.type,
            dimensions=self.dim,
            max_vectors=self.room,
            complexity=self.build["complexity"],
            graph_degree=self.build["degree"],
            saturate_graph=True,
            num_threads=self.threads,
            search_threads=self.threads,
            initial_search_complexity=self.build["complexity"],
        )

    def set_query_arguments(self, search: int) -> None:
        """See the class."""
        self.search = search

    def insert(self, vectors: np.ndarray, ids: np.ndarray, tags: object = None) -> None:
        """Block by block; consolidate before, where there would be no room."""
        for start in range(0, len(ids), BLOCK):
            some = ids[start : start + BLOCK]
            if len(self.label_of) + self.waiting + len(some) > self.room:
                self._consolidate()
            labels = np.arange(len(self.id_of), len(self.id_of) + len(some), dtype=np.uint32)
            block = prepared(vectors[start : start + BLOCK], self.metric, self.number)
            self.index.batch_insert(block, labels, self.threads)
            self.id_of = np.append(self.id_of, some)
            self.label_of.update(zip(some.tolist(), labels.tolist(), strict=True))

    def delete(self, ids: np.ndarray) -> None:
        """Mark them, one at a time; consolidate where many have gathered."""
        for one in ids.tolist():
            label = self.label_of.pop(one)
            self.index.mark_deleted(label)
            self.id_of[label] = -1
        self.waiting += len(ids)
        if self.waiting * SLACK > len(self.label_of) + self.waiting:
            self._consolidate()

    def query(self, queries: np.ndarray, k: int, tags: object = None) -> np.ndarray:
        """All queries in one call; fewer points than k leave labels behind that mean nothing."""
        answers = np.full((len(queries), k), -1, np.int64)
        width = min(k, len(self.label_of))
        if width and len(queries):
            queries = prepared(queries, self.metric, self.number)
            found = self.index.batch_search(queries, width, max(self.search, width), self.threads)
            answers[:, :width] = ids_once(self.id_of, found.identifiers)
        return answers

    def _consolidate(self) -> None:
        self.index.consolidate_delete()
        self.waiting = 0
