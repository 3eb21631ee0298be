"""pynndescent: nearest neighbour descent, and search in the graph that it finds."""

from __future__ import annotations

import warnings

import numpy as np
from pynndescent import NNDescent

from ann_bench import Algorithm

FEW = 64  # rows that are all compared: the descent wants more than a list of neighbours


class PyNNDescent(Algorithm):
    """A graph of `neighbours` a row, pruned for search; `epsilon` widens the walk."""

    def fit(self, base: np.ndarray, tags: None = None, learn: np.ndarray | None = None) -> None:
        """One call; the rows are copied as float32."""
        rows = np.array(base, dtype=np.float32, order="C")
        if self.metric == "ip":
            lengths = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
            rows = np.column_stack([rows, np.sqrt(lengths.max(initial=0.0) - lengths)]).astype(np.float32)
        elif self.metric == "angular":
            rows = _unit(rows)
        self.rows, self.index = rows, None
        if len(rows) > FEW:
            with warnings.catch_warnings():  # of rows that are alike it says that they are hard
                warnings.simplefilter("ignore")
                many = {"n_neighbors": min(self.build["neighbours"], len(rows) // 2), "n_jobs": self.threads}
                self.index = NNDescent(rows, metric="euclidean", random_state=1, **many)
                self.index.prepare()

    def set_query_arguments(self, epsilon: float) -> None:
        """See the class."""
        self.epsilon = epsilon

    def query(self, queries: np.ndarray, k: int, tags: None = None) -> np.ndarray:
        """One call for the whole batch."""
        asked = np.array(queries, dtype=np.float32, order="C")
        if self.metric == "ip":
            asked = np.column_stack([asked, np.zeros(len(asked), np.float32)])
        elif self.metric == "angular":
            asked = _unit(asked)
        answers = np.full((len(asked), k), -1, np.int64)
        if not len(asked):
            return answers
        if self.index is None or k > len(self.rows) // 2:
            far = ((asked[:, None, :].astype(np.float64) - self.rows[None]) ** 2).sum(axis=2)
            found = np.argsort(far, axis=1, kind="stable")[:, :k]
        else:
            found, _ = self.index.query(asked, k=k, epsilon=self.epsilon)
        answers[:, : found.shape[1]] = _distinct(found)
        return answers


def _unit(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return (vectors / np.maximum(lengths, np.finfo(np.float32).tiny)).astype(np.float32)


def _distinct(found: np.ndarray) -> np.ndarray:
    """Where it finds too few rows it repeats one: each row once, -1 behind them."""
    ordered = np.sort(found, axis=1)
    if not (ordered[:, 1:] == ordered[:, :-1]).any():
        return found
    lines = [list(dict.fromkeys(line[line >= 0].tolist())) for line in found]
    return np.array([line + [-1] * (found.shape[1] - len(line)) for line in lines])
