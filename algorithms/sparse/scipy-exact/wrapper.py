"""Exact inner products of sparse rows: scipy's product of CSR matrices, block by block; also for streams."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.sparse import csr_matrix, hstack

from ann_bench import Algorithm

ROWS = 1 << 16  # rows of a block
QUERIES = 32  # queries whose scores of one block stand in memory at once


class ScipyExact(Algorithm):
    """Multiplies all queries with all live rows. The base is kept by term: a product touches the query's terms only."""

    def setup(self, max_points: int) -> None:
        """Begin with no blocks; a block is the ids of its rows (-1: deleted) and the matrix (terms, rows)."""
        if self.metric != "ip":
            raise ValueError(f"scipy-exact finds the largest inner product; it cannot search by {self.metric}")
        self.blocks: list[tuple[np.ndarray, csr_matrix]] = []
        self.pool = ThreadPoolExecutor(self.threads)

    def fit(self, base: csr_matrix, tags: csr_matrix | None = None, learn: csr_matrix | None = None) -> None:
        """All the rows at once."""
        self.setup(base.shape[0])
        self.insert(base, np.arange(base.shape[0]))

    def insert(self, vectors: csr_matrix, ids: np.ndarray, tags: csr_matrix | None = None) -> None:
        """As blocks of their own; a few rows join the last block instead."""
        starts = range(0, len(ids), ROWS)
        made = self.pool.map(lambda start: vectors[start : start + ROWS].T.tocsr(), starts)
        for start, block in zip(starts, made, strict=True):
            joined = (np.array(ids[start : start + ROWS], np.int64), block)
            if self.blocks and len(joined[0]) + len(self.blocks[-1][0]) <= ROWS:
                last = self.blocks.pop()
                joined = (np.concatenate([last[0], joined[0]]), hstack([last[1], block], format="csr"))
            self.blocks.append(joined)

    def delete(self, ids: np.ndarray) -> None:
        """Note which rows are gone; leave them out of a block once they are half of it."""
        for number, (names, block) in enumerate(self.blocks):
            names[np.isin(names, ids)] = -1
            live = np.flatnonzero(names >= 0)
            if 2 * len(live) <= len(names):
                self.blocks[number] = (names[live], block[:, live])
        self.blocks = [block for block in self.blocks if len(block[0])]

    def query(self, queries: csr_matrix, k: int, tags: csr_matrix | None = None) -> np.ndarray:
        """Share out the queries among the threads."""
        answers = np.full((queries.shape[0], k), -1, np.int64)

        def answer(first: int) -> None:
            self._answer(queries[first : first + QUERIES], answers[first : first + QUERIES])

        list(self.pool.map(answer, range(0, len(answers), QUERIES)))
        return answers

    def _answer(self, queries: csr_matrix, answers: np.ndarray) -> None:
        """The best of each block and the best so far, again and again."""
        k = answers.shape[1]
        best = [np.full(k, -np.inf, np.float32) for _ in answers]
        for names, block in self.blocks:
            gone = names < 0
            for line, scores in enumerate((queries @ block).toarray()):
                scores[gone] = -np.inf
                better = np.flatnonzero(scores > best[line][-1])
                if len(better) > k:
                    least = np.partition(scores[better], -k)[-k]
                    better = better[scores[better] >= least]
                values = np.concatenate([best[line], scores[better]])
                order = (-values).argsort(kind="stable")[:k]
                best[line], answers[line] = values[order], np.concatenate([answers[line], names[better]])[order]
