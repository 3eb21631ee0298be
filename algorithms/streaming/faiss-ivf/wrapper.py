"""faiss IVF that follows a stream: points come and go by id, and the lists are learned anew as the points change."""

from __future__ import annotations

import faiss
import numpy as np
from lists import empty_index
from listwise import search

from ann_bench import Algorithm
from ann_bench.vectors import prepared

BLOCK = 1 << 16  # rows that are cast to float32 at once, on their way into faiss


class FaissIVF(Algorithm):
    """`lists` x the square root of the points inverted lists, of which `nprobe` are searched; up to `flat` points, one.

    The lists are learned anew, from the live points, once `renew` times as many points were inserted as there were
    when they were learned last.
    """

    def setup(self, max_points: int) -> None:
        """Begin without an index: there is nothing to learn from."""
        faiss.omp_set_num_threads(self.threads)
        faiss.cvar.distance_compute_blas_threshold = 20  # queries from which on a product of matrices is faster
        self.live = np.zeros(0, bool)
        self.index: faiss.IndexIVF | None = None
        self.known = self.fresh = self.renewals = 0

    def set_query_arguments(self, nprobe: int) -> None:
        """See the class."""
        self.nprobe = nprobe

    def insert(self, vectors: np.ndarray, ids: np.ndarray, tags: object = None) -> None:
        """Into the lists that are there; then new lists, where they are due."""
        if self.index is None:
            self.index = empty_index(self, 1, self._floats(vectors[:BLOCK]))
        for start in range(0, len(ids), BLOCK):
            self.index.add_with_ids(self._floats(vectors[start : start + BLOCK]), ids[start : start + BLOCK])
        self.live = np.pad(self.live, (0, max(0, int(max(ids, default=0)) + 1 - len(self.live))))
        self.live[ids] = True
        self.fresh += len(ids)
        if self.fresh >= self.build["renew"] * max(self.known, self.build["flat"]):
            self._renew()

    def delete(self, ids: np.ndarray) -> None:
        """Out of the lists, which know where each id lies."""
        self.index.remove_ids(ids)
        self.live[ids] = False

    def query(self, queries: np.ndarray, k: int, tags: object = None) -> np.ndarray:
        """All queries in one call; many of them list by list, so that each list is read once for all."""
        if self.index is None:
            return np.full((len(queries), k), -1)
        return search(self.index, self._floats(queries), self.nprobe, k, self.threads)

    def stats(self) -> dict[str, int]:
        """How often the lists were learned, and how many there are."""
        return {"renewals": self.renewals, "lists": self.index.nlist if self.index else 0}

    def _renew(self) -> None:
        """Learn from a sample of the live points, and move them all over, block by block."""
        ids, old = np.flatnonzero(self.live), self.index
        self.known, self.fresh, self.renewals = len(ids), 0, self.renewals + 1
        wanted = round(self.build["lists"] * len(ids) ** 0.5) if len(ids) > self.build["flat"] else 1
        nlist = max(1, min(wanted, len(ids) // 39))  # faiss wants 39 points a list to learn from
        sample = np.random.default_rng(self.build.get("seed", 1)).choice(ids, min(len(ids), 50 * nlist), replace=False)
        self.index = empty_index(self, nlist, old.reconstruct_batch(np.sort(sample)))
        for start in range(0, len(ids), BLOCK):
            block = ids[start : start + BLOCK]
            self.index.add_with_ids(old.reconstruct_batch(block), block)

    def _floats(self, vectors: np.ndarray) -> np.ndarray:
        return prepared(vectors, self.metric)
