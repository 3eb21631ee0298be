"""Exact search in a stream, with tags or without: every live point that holds a query's tags is compared."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.sparse import csr_matrix

from ann_bench import Algorithm
from ann_bench.tags import Postings, Share, shares

ROWS = 1 << 13  # points that are compared at once
QUERIES = 64  # queries that are compared at once: their distances are 4 MiB


class Block:
    """Points that were inserted together: ids (-1: deleted), vectors, posting lists of tags."""

    def __init__(self, vectors: np.ndarray, ids: np.ndarray, tags: csr_matrix | None) -> None:
        self.ids, self.vectors = np.array(ids, np.int64), np.array(vectors)
        self.postings = Postings(tags, len(ids))

    def matching(self, wanted: tuple[int, ...]) -> np.ndarray:
        """The rows of live points that hold all these tags."""
        rows = self.postings.matching(wanted) if wanted else np.arange(len(self.ids))
        return rows[self.ids[rows] >= 0]


class Exact(Algorithm):
    """Compares all matching points in float64. Recall is 1 by construction."""

    def setup(self, max_points: int) -> None:
        """Begin with nothing."""
        self.blocks: list[Block] = []
        self.pool = ThreadPoolExecutor(self.threads)

    def insert(self, vectors: np.ndarray, ids: np.ndarray, tags: csr_matrix | None = None) -> None:
        """As blocks of their own."""
        for part in (slice(start, start + ROWS) for start in range(0, len(ids), ROWS)):
            self.blocks.append(Block(vectors[part], ids[part], None if tags is None else tags[part]))

    def delete(self, ids: np.ndarray) -> None:
        """Mark the points; a block that nothing lives in any more goes."""
        for block in self.blocks:
            block.ids[np.isin(block.ids, ids)] = -1
        self.blocks = [block for block in self.blocks if (block.ids >= 0).any()]

    def query(self, queries: np.ndarray, k: int, tags: csr_matrix | None = None) -> np.ndarray:
        """Answer queries with the same tags together."""
        answers = np.full((len(queries), k), -1, np.int64)

        def answer(share: Share) -> None:
            for wanted, members in share:
                for start in range(0, len(members), QUERIES):
                    some = members[start : start + QUERIES]
                    answers[some] = self._nearest(np.asarray(queries)[some].astype(np.float64), wanted, k)

        list(self.pool.map(answer, shares(tags, len(queries), self.threads)))
        return answers

    def _nearest(self, queries: np.ndarray, wanted: tuple[int, ...], k: int) -> np.ndarray:
        """The best of each block and the best so far, again and again."""
        far, ids = np.full((len(queries), k), np.inf), np.full((len(queries), k), -1)
        for block in self.blocks:
            rows = block.matching(wanted)
            if len(rows):
                names = np.broadcast_to(block.ids[rows], (len(queries), len(rows)))
                far = np.hstack([far, self._distances(queries, block.vectors[rows].astype(np.float64))])
                order = np.argpartition(far, k - 1)[:, :k]
                far, ids = (np.take_along_axis(all_, order, 1) for all_ in (far, np.hstack([ids, names])))
        return np.take_along_axis(ids, far.argsort(kind="stable"), 1)

    def _distances(self, queries: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Of each query to each point, up to what is the same for all points."""
        products, squares = queries @ points.T, np.einsum("ij,ij->i", points, points)
        if self.metric == "euclidean":
            return squares - 2 * products
        return -products / np.sqrt(np.maximum(squares, np.finfo(float).tiny) if self.metric == "angular" else 1)
