"""SINDI of VSAG: an inverted index scanned window by window; the best rows are compared exactly."""

from __future__ import annotations

import json

import numpy as np
import pyvsag
from scipy.sparse import csr_matrix

from ann_bench import Algorithm


class Sindi(Algorithm):
    """Lists in windows of rows, without the lightest terms of a row (`doc_prune` of its weight).

    A query goes without its lightest terms (`query_prune` of its weight) and without the tail of each list
    (`term_prune` of it); `candidates` rows are compared exactly.
    """

    def fit(self, base: csr_matrix, tags: csr_matrix | None = None, learn: csr_matrix | None = None) -> None:
        """One call of pyvsag."""
        if self.metric != "ip":
            raise ValueError(f"sindi finds the largest inner product; it cannot search by {self.metric}")
        pyvsag.set_logger_off()
        self.rows = base.shape[0]
        index = {"use_reorder": True, "term_id_limit": base.shape[1], "doc_prune_ratio": self.build["doc_prune"]}
        index["window_size"] = self.build["window"]
        settings = {"dtype": "sparse", "metric_type": "ip", "dim": base.shape[1], "index_param": index}
        self.index = pyvsag.Index("sindi", json.dumps(settings))
        offsets, terms = base.indptr.astype(np.uint32), base.indices.astype(np.uint32)
        self.index.build(offsets, terms, base.data.astype(np.float32), np.arange(self.rows, dtype=np.int64))

    def set_query_arguments(self, query_prune: float, term_prune: float, candidates: int) -> None:
        """See the class."""
        self.arguments = {"query_prune_ratio": query_prune, "term_prune_ratio": term_prune}
        self.candidates = candidates

    def query(self, queries: csr_matrix, k: int, tags: csr_matrix | None = None) -> np.ndarray:
        """One query after the other: pyvsag has no batches, and holds Python's lock while it searches."""
        answers = np.full((queries.shape[0], k), -1, np.int64)
        wanted = min(k, self.rows)
        candidates = min(max(self.candidates, wanted), self.rows)  # pyvsag loses its way where there are fewer rows
        arguments = json.dumps({"sindi": {**self.arguments, "n_candidate": candidates}})
        ends, terms = queries.indptr.tolist(), queries.indices.astype(np.uint32)
        weights, bounds = queries.data.astype(np.float32), np.zeros(2, np.uint32)
        for line in range(len(answers)):
            own = slice(ends[line], ends[line + 1])
            bounds[1] = own.stop - own.start
            answers[line, :wanted] = self.index.knn_search(bounds, terms[own], weights[own], wanted, arguments)[0][0]
        # Where it finds fewer rows, pyvsag leaves what was in memory in the rest of the line.
        ordered = np.sort(answers[:, :wanted], axis=1)
        wrong = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1) | (ordered < 0).any(axis=1)
        for line in np.flatnonzero(wrong | (ordered[:, -1:] >= self.rows).any(axis=1)):
            kept = [row for row in dict.fromkeys(answers[line].tolist()) if 0 <= row < self.rows]
            answers[line] = -1
            answers[line, : len(kept)] = kept
        return answers
