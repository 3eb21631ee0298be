"""VSAG: the graph `hgraph`, walked with 8-bit codes, the best rows compared as float32."""

from __future__ import annotations

import json

import numpy as np
import pyvsag

from ann_bench import Algorithm

TINY = np.finfo(np.float32).tiny


class VSAG(Algorithm):
    """A graph of up to `degree` links a row, built with width `ef_construction` and searched with width `ef`.

    `codes` is the number type that the walk compares (`sq8`, `fp16`, `fp32`, ...).
    """

    def fit(self, base: np.ndarray, tags: None = None, learn: np.ndarray | None = None) -> None:
        """One call of pyvsag, which copies the rows."""
        pyvsag.set_logger_off()
        self.rows, codes = len(base), self.build["codes"]
        index = {
            "base_quantization_type": codes,
            "use_reorder": codes != "fp32",
            "precise_quantization_type": "fp32",
            "max_degree": self.build["degree"],
            "ef_construction": self.build["ef_construction"],
            "build_thread_count": self.threads,
        }
        metric = "l2" if self.metric == "euclidean" else "ip"
        settings = {"dtype": "float32", "metric_type": metric, "dim": self.dim, "index_param": index}
        self.index = pyvsag.Index("hgraph", json.dumps(settings))
        self.index.build(self._floats(base).ravel(), np.arange(self.rows, dtype=np.int64), self.rows, self.dim)

    def set_query_arguments(self, ef: int) -> None:
        """See the class."""
        self.ef = ef

    def query(self, queries: np.ndarray, k: int, tags: None = None) -> np.ndarray:
        """One query after the other: pyvsag has no batches, and holds Python's lock while it searches."""
        answers = np.full((len(queries), k), -1, np.int64)
        wanted = min(k, self.rows)
        arguments = json.dumps({"hgraph": {"ef_search": max(self.ef, wanted)}})
        for line, query in enumerate(self._floats(queries)):
            answers[line, :wanted] = self.index.knn_search(query, wanted, arguments)[0]
        # Where the graph leads to fewer rows, pyvsag leaves what was in memory in the rest of the line.
        ordered = np.sort(answers[:, :wanted], axis=1)
        wrong = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1) | (ordered < 0).any(axis=1)
        for line in np.flatnonzero(wrong | (ordered[:, -1:] >= self.rows).any(axis=1)):
            kept = [row for row in dict.fromkeys(answers[line].tolist()) if 0 <= row < self.rows]
            answers[line] = -1
            answers[line, : len(kept)] = kept
        return answers

    def _floats(self, vectors: np.ndarray) -> np.ndarray:
        """As pyvsag takes them, which ends the process where it may not write; the angle needs vectors of length 1."""
        vectors = np.require(vectors, np.float32, ["C", "W"])
        if self.metric == "angular":
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), TINY)
        return vectors
