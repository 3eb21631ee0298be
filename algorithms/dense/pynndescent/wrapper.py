"""pynndescent: nearest neighbour descent, and search in the graph that it finds."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
from pynndescent import NNDescent

from ann_bench import Algorithm
from ann_bench.vectors import prepared

FEW = 64  # rows that are all compared: the descent wants more than a list of neighbours


class PyNNDescent(Algorithm):
    """A graph of `neighbours` a row, pruned for search; `epsilon` widens the walk."""

    def __init__(self, metric: str, dim: int, dtype: str, threads: int, **build: int) -> None:
        """Compile, before there is any data."""
        super().__init__(metric, dim, dtype, threads, **build)
        _compile(threads)

    def fit(self, base: np.ndarray, tags: None = None, learn: np.ndarray | None = None) -> None:
        """One call; the rows are copied as float32, since numba compiles anew for what is read-only."""
        rows = prepared(np.array(base, np.float32), self.metric)
        if self.metric == "ip":  # distances, with one dimension more, in which all rows are equally long
            lengths = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
            rows = np.column_stack([rows, np.sqrt(lengths.max(initial=0.0) - lengths)]).astype(np.float32)
        self.rows = rows
        self.index = _index(rows, self.build, self.threads) if len(rows) > FEW else None

    def set_query_arguments(self, epsilon: float) -> None:
        """See the class."""
        self.epsilon = epsilon

    def query(self, queries: np.ndarray, k: int, tags: None = None) -> np.ndarray:
        """One call for the whole batch."""
        asked = prepared(np.array(queries, np.float32), self.metric)
        if self.metric == "ip":
            asked = np.column_stack([asked, np.zeros(len(asked), np.float32)])
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


def _index(rows: np.ndarray, build: dict[str, int], threads: int) -> NNDescent:
    with warnings.catch_warnings():  # of rows that are alike it says that they are hard
        warnings.simplefilter("ignore")
        many = {"n_neighbors": min(build["neighbours"], len(rows) // 2), "n_jobs": threads}
        index = NNDescent(rows, metric="euclidean", random_state=build.get("seed", 1), **many)
        index.prepare()
    return index


@cache
def _compile(threads: int) -> None:
    """An index of random rows and a search make numba compile all there is, for this process."""
    rows = np.random.default_rng(1).standard_normal((2 * FEW, 8), np.float32)
    _index(rows, {"neighbours": 30}, threads).query(rows, k=10, epsilon=0.1)


def _distinct(found: np.ndarray) -> np.ndarray:
    """Where it finds too few rows it repeats one: each row once, -1 behind them."""
    ordered = np.sort(found, axis=1)
    if not (ordered[:, 1:] == ordered[:, :-1]).any():
        return found
    lines = [list(dict.fromkeys(line[line >= 0].tolist())) for line in found]
    return np.array([line + [-1] * (found.shape[1] - len(line)) for line in lines])
