"""faiss IVF that follows a stream: points come and go by id, and the lists are learned anew as the points change."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import faiss
import numpy as np

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
        """All queries in one call; many of them list by list, so that each list is read once for all."""
        if self.index is None:
            return np.full((len(queries), k), -1)
        queries, index = self._floats(queries), self.index
        index.nprobe = min(self.nprobe, index.nlist)
        if len(queries) * index.nprobe < MANY * index.nlist or not isinstance(index, faiss.IndexIVFFlat):
            return index.search(queries, k)[1]
        found = _Found(queries, index.quantizer.search(queries, index.nprobe)[1], k, index)
        with ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(found.search, [range(first, index.nlist, self.threads) for first in range(self.threads)]))
        return found.best()

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
