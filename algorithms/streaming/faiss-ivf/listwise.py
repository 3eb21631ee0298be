"""Search of inverted lists for many queries at once: list by list, so that each list is read once for all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import faiss
import numpy as np

MANY = 16  # queries for each list, on average, from which on going list by list is faster than query by query


def search(index: faiss.IndexIVF, queries: np.ndarray, nprobe: int, k: int, threads: int) -> np.ndarray:
    """The k nearest points of the `nprobe` nearest lists: ids (queries, k), -1 where there are too few."""
    index.nprobe = min(nprobe, index.nlist)
    if len(queries) * index.nprobe < MANY * index.nlist or not isinstance(index, faiss.IndexIVFFlat):
        return index.search(queries, k)[1]
    found = _Found(queries, index.quantizer.search(queries, index.nprobe)[1], k, index)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(found.search, [range(first, index.nlist, threads) for first in range(threads)]))
    return found.best()


class _Found:
    """The `k` nearest points of each list that a query probes, `probes` (queries, nprobe), compared list by list.

    What is found for one list lies together, in the order of the lists, so that memory is written in one go.
    """

    def __init__(self, queries: np.ndarray, probes: np.ndarray, k: int, index: faiss.IndexIVFFlat) -> None:
        self.queries, self.nprobe, self.k, self.index = queries, probes.shape[1], k, index
        self.order = np.argsort(probes, axis=None, kind="stable")
        self.edges = np.searchsorted(probes.ravel()[self.order], np.arange(index.nlist + 1)).tolist()
        self.ids = np.full((probes.size, k), -1)
        self.far = np.full((probes.size, k), np.inf, np.float32)

    def search(self, lists: range) -> None:
        """One thread's part."""
        faiss.omp_set_num_threads(1)
        inverted = self.index.invlists
        for number in lists:
            part, size = slice(*self.edges[number : number + 2]), inverted.list_size(number)
            if part.stop > part.start and size:
                points = faiss.rev_swig_ptr(inverted.get_codes(number), size * inverted.code_size).view(np.float32)
                ids = faiss.rev_swig_ptr(inverted.get_ids(number), size)
                asked = self.queries[self.order[part] // self.nprobe]
                far, which = faiss.knn(asked, points.reshape(size, -1), min(self.k, size), self.index.metric_type)
                self.far[part, : far.shape[1]] = far if self.index.metric_type == faiss.METRIC_L2 else -far
                self.ids[part, : far.shape[1]] = ids[which]

    def best(self) -> np.ndarray:
        """The nearest of all lists, (queries, k)."""
        places = np.empty_like(self.order)
        places[self.order] = np.arange(len(places))
        places = places.reshape(len(self.queries), -1)
        far = self.far[places].reshape(len(places), -1)
        near = np.argpartition(far, self.k - 1, axis=1)[:, : self.k]
        near = np.take_along_axis(near, np.argsort(np.take_along_axis(far, near, 1), axis=1), 1)
        return self.ids[np.take_along_axis(places, near // self.k, 1), near % self.k]
