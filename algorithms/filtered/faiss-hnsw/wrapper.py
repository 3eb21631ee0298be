"""faiss HNSW with an id selector per set of tags; few matching rows are compared one by one instead."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import faiss
import numpy as np
from scipy.sparse import csr_matrix

from ann_bench import Algorithm

BLOCK = 1 << 16  # rows that are cast to float32 at once, on their way into faiss
BYTES = {"uint8": faiss.ScalarQuantizer.QT_8bit_direct, "int8": faiss.ScalarQuantizer.QT_8bit_direct_signed}


class FaissHNSW(Algorithm):
    """A graph of `degree` links a row, searched with width `ef`; up to `max_scan` matching rows are all compared.

    The search walks over all rows and keeps those that match: the fewer match, the fewer of them lie on its way.
    """

    def fit(self, base: np.ndarray, tags: csr_matrix | None = None, learn: np.ndarray | None = None) -> None:
        """Add block by block; note the rows of each tag."""
        faiss.omp_set_num_threads(self.threads)
        self.base = np.asarray(base)
        self.index = self._empty_index(self.build["degree"])
        self.index.hnsw.efConstruction = self.build["ef_construction"]
        for start in range(0, len(base), BLOCK):
            self.index.add(self._floats(self.base[start : start + BLOCK]))
        self.postings = Postings(csr_matrix((len(base), 0)) if tags is None else tags)
        # Whole groups are shared out among the threads, so inside of a call faiss itself is to use one.
        self.pool = ThreadPoolExecutor(self.threads, initializer=faiss.omp_set_num_threads, initargs=(1,))

    def set_query_arguments(self, ef: int, max_scan: int) -> None:
        """See the class."""
        self.ef, self.max_scan = ef, max_scan

    def query(self, queries: np.ndarray, k: int, tags: csr_matrix | None = None) -> np.ndarray:
        """Answer queries with the same tags together."""
        queries = self._floats(queries)
        answers = np.full((len(queries), k), -1, np.int64)

        def answer(share: list[tuple[tuple[int, ...], list[int]]]) -> None:
            for wanted, members in share:
                rows = self.postings.matching(wanted) if wanted else None
                few = rows is not None and len(rows) <= self.max_scan
                answers[members] = (self._scan if few else self._walk)(queries[members], k, rows)

        list(self.pool.map(answer, _shares(tags, len(queries), self.threads)))
        return answers

    def _empty_index(self, degree: int) -> faiss.IndexHNSW:
        metric = faiss.METRIC_L2 if self.metric == "euclidean" else faiss.METRIC_INNER_PRODUCT
        if self.dtype not in BYTES or self.metric == "angular":
            return faiss.IndexHNSWFlat(self.dim, degree, metric)
        index = faiss.IndexHNSWSQ(self.dim, BYTES[self.dtype], degree, metric)
        index.is_trained = True  # bytes are stored as they are: there is nothing to learn
        return index

    def _floats(self, vectors: np.ndarray) -> np.ndarray:
        """As faiss takes them; the angle is the inner product of vectors of length 1."""
        vectors = np.ascontiguousarray(vectors, np.float32)
        if self.metric == "angular":
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return vectors

    def _scan(self, queries: np.ndarray, k: int, rows: np.ndarray) -> np.ndarray:
        if not len(rows):
            return np.full((len(queries), k), -1)
        _, places = faiss.knn(queries, self._floats(self.base.take(rows, axis=0)), k, self.index.metric_type)
        return np.where(places < 0, -1, rows[places])

    def _walk(self, queries: np.ndarray, k: int, rows: np.ndarray | None) -> np.ndarray:
        selector = None if rows is None else faiss.IDSelectorBitmap(self.postings.bitmap(rows))
        parameters = faiss.SearchParametersHNSW(efSearch=self.ef, sel=selector)
        return self.index.search(queries, k, params=parameters)[1]


class Postings:
    """Which rows hold which tags; a row that holds a tag twice holds it once."""

    def __init__(self, tags: csr_matrix) -> None:
        by_tag = csr_matrix((np.ones(tags.nnz, np.int8), tags.indices, tags.indptr), tags.shape).tocsc()
        by_tag.sum_duplicates()
        self.starts, self.rows, self.count = by_tag.indptr, by_tag.indices, tags.shape[0]
        # To look a row up in a long list takes many steps; in a bitmap, it takes one.
        common = np.flatnonzero(np.diff(self.starts) > self.count // 64)
        self.bits = {tag: self.bitmap(self.of(tag)) for tag in common.tolist()}

    def of(self, tag: int) -> np.ndarray:
        """The rows that hold this tag, ascending."""
        return self.rows[self.starts[tag] : self.starts[tag + 1]]

    def bitmap(self, rows: np.ndarray) -> np.ndarray:
        """One bit for each row of the base, the lowest of a byte first."""
        mask = np.zeros(self.count, bool)
        mask[rows] = True
        return np.packbits(mask, bitorder="little")

    def matching(self, wanted: tuple[int, ...]) -> np.ndarray:
        """The rows that hold all these tags (at least one), ascending."""
        rarest, *others = sorted(wanted, key=lambda tag: self.starts[tag + 1] - self.starts[tag])
        found = self.of(rarest)
        for tag in others:
            if tag in self.bits:
                found = found[(self.bits[tag].take(found >> 3) >> (found & 7).astype(np.uint8) & 1).view(bool)]
            elif len(found):
                rows = self.of(tag)
                found = found[rows.take(np.searchsorted(rows, found), mode="clip") == found]
        return found


def _shares(tags: csr_matrix | None, count: int, threads: int) -> list[list[tuple[tuple[int, ...], list[int]]]]:
    """The queries that ask for the same tags, as (tags, queries), dealt out into small shares for the threads."""
    ends, flat = ([0] * (count + 1), []) if tags is None else (tags.indptr.tolist(), tags.indices.tolist())
    groups: dict[tuple[int, ...], list[int]] = {}
    for query in range(count):
        groups.setdefault(tuple(sorted(set(flat[ends[query] : ends[query + 1]]))), []).append(query)
    shares = 8 * threads
    most = -(-count // shares)  # of one group in one piece: tags that many ask for must not keep one thread busy
    pieces = [(wanted, who[at : at + most]) for wanted, who in groups.items() for at in range(0, len(who), most)]
    return [pieces[share::shares] for share in range(shares)]
