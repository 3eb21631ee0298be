"""faiss IVF that follows a stream: points come and go by id, and the lists are learned anew as the points change."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor

import faiss
import numpy as np
from faiss.contrib.big_batch_search import big_batch_search

from ann_bench import Algorithm

BLOCK = 1 << 16  # rows that are cast to float32 at once, on their way into faiss
MANY = 16  # queries for each list, on average, from which on going list by list is faster than query by query
BYTES = {"uint8": faiss.ScalarQuantizer.QT_8bit_direct, "int8": faiss.ScalarQuantizer.QT_8bit_direct_signed}


class FaissIVF(Algorithm):
    """`lists` x the square root of the points inverted lists, of which `nprobe` are searched; up to `flat` points, one.

    The lists are learned anew, from the live points, once `renew` times as many points were inserted as there were
    when they were learned last.
    """

    def setup(self, max_points: int) -> None:
        """Begin without an index: there is nothing to learn from."""
        faiss.omp_set_num_threads(self.threads)
        self.live = np.zeros(0, bool)
        self.index: faiss.IndexIVF | None = None
        self.known = self.fresh = self.renewals = 0

    def set_query_arguments(self, nprobe: int) -> None:
        """See the class."""
        self.nprobe = nprobe

    def insert(self, vectors: np.ndarray, ids: np.ndarray, tags: object = None) -> None:
        """Into the lists that are there; then new lists, where they are due."""
        if self.index is None:
            self.index = self._empty_index(1, self._floats(vectors[:BLOCK]))
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
        """All queries in one call: list by list, so that each is read once for many queries, where there are many."""
        if self.index is None:
            return np.full((len(queries), k), -1)
        self.index.nprobe = min(self.nprobe, self.index.nlist)
        if len(queries) * self.index.nprobe < MANY * self.threads * self.index.nlist:
            return self.index.search(self._floats(queries), k)[1]
        with contextlib.redirect_stdout(None), ThreadPoolExecutor(self.threads) as pool:  # it prints
            return np.concatenate(list(pool.map(lambda part: self._by_list(part, k), self._parts(queries))))

    def _parts(self, queries: np.ndarray) -> list[np.ndarray]:
        return [part for part in np.array_split(self._floats(queries), self.threads) if len(part)]

    def _by_list(self, queries: np.ndarray, k: int) -> np.ndarray:
        faiss.omp_set_num_threads(1)  # of this thread
        distances, ids = big_batch_search(self.index, queries, k, verbose=1)
        return np.where(np.abs(distances) < np.finfo(np.float32).max, ids, -1)  # a list shorter than k has no more

    def stats(self) -> dict[str, int]:
        """How often the lists were learned, and how many there are."""
        return {"renewals": self.renewals, "lists": self.index.nlist if self.index else 0}

    def _renew(self) -> None:
        """Learn from a sample of the live points, and move them all over, block by block."""
        ids, old = np.flatnonzero(self.live), self.index
        self.known, self.fresh, self.renewals = len(ids), 0, self.renewals + 1
        wanted = round(self.build["lists"] * len(ids) ** 0.5) if len(ids) > self.build["flat"] else 1
        nlist = max(1, min(wanted, len(ids) // 39))  # faiss wants 39 points a list to learn from
        sample = np.random.default_rng(1).choice(ids, min(len(ids), 50 * nlist), replace=False)
        self.index = self._empty_index(nlist, old.reconstruct_batch(np.sort(sample)))
        for start in range(0, len(ids), BLOCK):
            block = ids[start : start + BLOCK]
            self.index.add_with_ids(old.reconstruct_batch(block), block)

    def _empty_index(self, nlist: int, sample: np.ndarray) -> faiss.IndexIVF:
        euclidean = self.metric == "euclidean"
        metric = faiss.METRIC_L2 if euclidean else faiss.METRIC_INNER_PRODUCT
        quantizer = faiss.IndexFlatL2(self.dim) if euclidean else faiss.IndexFlatIP(self.dim)
        if self.dtype in BYTES and self.metric != "angular":
            index = faiss.IndexIVFScalarQuantizer(quantizer, self.dim, nlist, BYTES[self.dtype], metric, False)
        else:
            index = faiss.IndexIVFFlat(quantizer, self.dim, nlist, metric)
        index.cp.spherical = not euclidean
        index.train(sample)
        index.set_direct_map_type(faiss.DirectMap.Hashtable)
        return index

    def _floats(self, vectors: np.ndarray) -> np.ndarray:
        """As faiss takes them; the angle is the inner product of vectors of length 1."""
        vectors = np.ascontiguousarray(vectors, np.float32)
        if self.metric == "angular":
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return vectors
