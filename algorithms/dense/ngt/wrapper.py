"""NGT: the graph ANNG, entered through a tree of the rows."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

import ngtpy
import numpy as np

from ann_bench import Algorithm

BLOCK = 1 << 16  # rows that are cast to float32 at once, on their way into NGT
TINY = np.finfo(np.float32).tiny


class NGT(Algorithm):
    """A graph of `edges` links to nearer rows each, and those back; a search looks `epsilon` beyond the nearest."""

    def fit(self, base: np.ndarray, tags: None = None, learn: np.ndarray | None = None) -> None:
        """Add block by block; the index has a folder, which is gone with the entry."""
        self.rows = len(base)
        folder = tempfile.mkdtemp()
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        path = str(Path(folder) / "index")
        own = {"uint8": "Byte", "float16": "Float16"} if self.metric == "euclidean" else {}
        distance = {"ip": "Inner Product"}.get(self.metric, "L2")
        kinds = {"distance_type": distance, "object_type": own.get(self.dtype, "Float")}
        ngtpy.create(path, self.dim, edge_size_for_creation=self.build["edges"], **kinds)
        self.index = ngtpy.Index(path, log_disabled=True)
        for start in range(0, self.rows, BLOCK):
            self.index.batch_insert(self._floats(base[start : start + BLOCK]), num_threads=self.threads)

    def set_query_arguments(self, epsilon: float) -> None:
        """See the class."""
        self.index.set(epsilon=epsilon)

    def query(self, queries: np.ndarray, k: int, tags: None = None) -> np.ndarray:
        """One call of NGT for the whole batch."""
        answers = np.full((len(queries), k), -1, np.int64)
        if len(queries):
            results = ngtpy.BatchResults()
            self.index.batch_search(self._floats(queries), results, min(k, self.rows), with_distance=False)
            ends = results.get_index().astype(np.int64)
            line = np.repeat(np.arange(len(queries)), np.diff(ends))
            answers[line, np.arange(ends[-1]) - ends[line]] = results.get_indexed_ids()
        return answers

    def _floats(self, vectors: np.ndarray) -> np.ndarray:
        """As NGT takes them; the angle is the distance of vectors of length 1."""
        vectors = np.ascontiguousarray(vectors, np.float32)
        if self.metric == "angular":
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), TINY)
        return vectors
