"""kANNolo for sparse vectors: one HNSW graph over all rows, by inner product."""

from __future__ import annotations

import os

import numpy as np
from kannolo import SparseFlatIndex, SparsePlainHNSW
from scipy.sparse import csr_matrix

from ann_bench import Algorithm

FEW = 1000  # up to so many rows are all compared


class KannoloSparse(Algorithm):
    """A graph of `degree` links a row, built with width `ef_construction`, searched with width `ef`."""

    def fit(self, base: csr_matrix, tags: csr_matrix | None = None, learn: csr_matrix | None = None) -> None:
        """One call of kannolo, which keeps the weights in 16 bits."""
        os.environ["RAYON_NUM_THREADS"] = str(self.threads)  # kannolo builds with as many; read at its first call
        if self.metric != "ip":
            raise ValueError(f"kannolo-sparse finds the largest inner product; it cannot search by {self.metric}")
        self.rows, self.terms = base.shape[0], int(base.indices.max(initial=-1)) + 1
        self.few = self.rows <= FEW
        if self.terms and self.few:
            self.index = SparseFlatIndex.build_from_arrays(*_parts(base))
        elif self.terms:
            build = {"m": self.build["degree"], "ef_construction": self.build["ef_construction"]}
            self.index = SparsePlainHNSW.build_from_arrays(*_parts(base), **build)

    def set_query_arguments(self, ef: int) -> None:
        """See the class."""
        self.ef = ef

    def query(self, queries: csr_matrix, k: int, tags: csr_matrix | None = None) -> np.ndarray:
        """One call of kannolo for the whole batch."""
        answers = np.full((queries.shape[0], k), -1, np.int64)
        wanted = min(k, self.rows)
        if not self.terms:  # nothing but empty rows, all alike
            answers[:, :wanted] = np.arange(wanted)
        elif queries.shape[0]:
            known = queries[:, : self.terms]  # kannolo ends the process at a term that is beyond those of the base
            width = {} if self.few else {"ef_search": max(self.ef, wanted)}
            found = self.index.batch_search(*_parts(known), wanted, num_threads=self.threads, **width)[1]
            answers[:, :wanted] = found.reshape(-1, wanted)
        return answers


def _parts(matrix: csr_matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Terms, weights and offsets, as kannolo takes them."""
    matrix = matrix if matrix.has_sorted_indices else matrix.sorted_indices()
    return matrix.indices.astype(np.int32), matrix.data.astype(np.float32), matrix.indptr.astype(np.int64)
