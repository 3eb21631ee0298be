"""DiskANN's dynamic index in memory: a Vamana graph with lazy deletes, consolidated when many have gathered."""

from __future__ import annotations

import diskannpy
import numpy as np

from ann_bench import Algorithm

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
        self.label_of: dict[int, int] = {}
        self.id_of = np.full(1, -1, np.int64)  # diskannpy has no label 0

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
            self.index.batch_insert(self._numbers(vectors[start : start + BLOCK]), labels, self.threads)
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
            found = self.index.batch_search(self._numbers(queries), width, max(self.search, width), self.threads)
            labels = np.where(found.identifiers < len(self.id_of), found.identifiers, 0).astype(np.int64)
            answers[:, :width] = _once(self.id_of[labels])
        return answers

    def _consolidate(self) -> None:
        if self.waiting:
            self.index.consolidate_delete()
            self.waiting = 0

    def _numbers(self, vectors: np.ndarray) -> np.ndarray:
        vectors = np.ascontiguousarray(vectors, self.number)
        if self.metric == "angular":
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return vectors


def _once(ids: np.ndarray) -> np.ndarray:
    """Each line without -1 and repetitions, which go to its end as -1."""
    order = ids.argsort(axis=1, kind="stable")
    ranked = np.take_along_axis(ids, order, axis=1)
    again = np.zeros(ids.shape, bool)
    np.put_along_axis(again, order[:, 1:], ranked[:, 1:] == ranked[:, :-1], axis=1)
    gone = again | (ids < 0)
    return np.take_along_axis(np.where(gone, -1, ids), gone.argsort(axis=1, kind="stable"), axis=1)
