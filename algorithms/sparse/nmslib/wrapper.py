"""nmslib for sparse vectors: one HNSW graph over all rows, by inner product."""

from __future__ import annotations

from pathlib import Path

import nmslib
import numpy as np
from scipy.sparse import csr_matrix

from ann_bench import Algorithm

BLOCK = 1 << 16  # rows that are handed over at once


class Nmslib(Algorithm):
    """A graph of `degree` links a row, built with width `ef_construction` and searched with width `ef`."""

    def fit(self, base: csr_matrix, tags: csr_matrix | None = None, learn: csr_matrix | None = None) -> None:
        """Add block by block, then build the graph."""
        if self.metric != "ip":
            raise ValueError(f"nmslib finds the largest inner product; it cannot search by {self.metric}")
        self.index = _empty_index()
        for start in range(0, base.shape[0], BLOCK):
            block = base[start : start + BLOCK].astype(np.float32)
            self.index.addDataPointBatch(block, np.arange(start, start + block.shape[0], dtype=np.int32))
        build = {"M": self.build["degree"], "efConstruction": self.build["ef_construction"], "post": 0}
        self.index.createIndex({**build, "indexThreadQty": self.threads})
        self.rows = base.shape[0]

    def set_query_arguments(self, ef: int) -> None:
        """See the class."""
        self.ef = ef

    def query(self, queries: csr_matrix, k: int, tags: csr_matrix | None = None) -> np.ndarray:
        """One call of nmslib for the whole batch; a query that the graph leads to fewer rows gets fewer."""
        answers = np.full((queries.shape[0], k), -1, np.int64)
        wanted = min(k, self.rows)
        self.index.setQueryTimeParams({"ef": max(self.ef, wanted)})
        if queries.shape[0]:
            found = self.index.knnQueryBatch(queries.astype(np.float32), wanted, self.threads)
            for line, (rows, _) in enumerate(found):
                answers[line, : len(rows)] = rows
        return answers

    def save(self, folder: Path) -> None:
        """The graph, and the rows beside it."""
        self.index.saveIndex(str(folder / "index"), save_data=True)

    def load(self, folder: Path) -> bool:
        """What `save` wrote."""
        self.index = _empty_index()
        self.index.loadIndex(str(folder / "index"), load_data=True)
        self.rows = len(self.index)
        return True


def _empty_index() -> nmslib.dist.FloatIndex:
    kinds = {"data_type": nmslib.DataType.SPARSE_VECTOR, "dtype": nmslib.DistType.FLOAT}
    return nmslib.init(method="hnsw", space="negdotprod_sparse_fast", **kinds)
