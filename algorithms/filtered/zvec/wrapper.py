"""Zvec: a database in the process, whose graph is searched under a condition on the tags."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import zvec
from scipy.sparse import csr_matrix

from ann_bench import Algorithm
from ann_bench.tags import Share, shares
from ann_bench.vectors import prepared

BLOCK = 1000  # rows of one insert: zvec takes up to 1,024
TYPES = {"float32": "VECTOR_FP32", "float16": "VECTOR_FP16", "int8": "VECTOR_INT8"}


class Zvec(Algorithm):
    """A graph of `degree` links a row, built with `ef_construction`, searched with `ef`; and lists of rows by tag."""

    def fit(self, base: np.ndarray, tags: csr_matrix | None = None, learn: np.ndarray | None = None) -> None:
        """Insert into a collection in a folder, which is gone with the entry; build the graph; open it for reading."""
        with contextlib.suppress(RuntimeError):  # a process can say so once
            zvec.init(log_level=zvec.LogLevel.ERROR, query_threads=self.threads, optimize_threads=self.threads)
        self.taken = np.dtype(self.dtype if self.dtype in TYPES and self.metric != "angular" else np.float32)
        build = {"m": self.build["degree"], "ef_construction": self.build["ef_construction"]}
        metric = zvec.MetricType.L2 if self.metric == "euclidean" else zvec.MetricType.IP
        graph, lists = zvec.HnswIndexParam(metric_type=metric, **build), zvec.InvertIndexParam()
        kind = getattr(zvec.DataType, TYPES[self.taken.name])
        fields = [zvec.FieldSchema("tags", zvec.DataType.ARRAY_INT32, nullable=True, index_param=lists)]
        vectors = [zvec.VectorSchema("vector", kind, self.dim, index_param=graph)]
        folder = tempfile.mkdtemp()
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        path = str(Path(folder) / "rows")
        collection = zvec.create_and_open(path, zvec.CollectionSchema(name="rows", fields=fields, vectors=vectors))
        for start in range(0, len(base), BLOCK):
            rows = self._vectors(base[start : start + BLOCK])
            held = [[]] * len(rows) if tags is None else tags[start : start + BLOCK].tolil().rows.tolist()
            documents = zip(range(start, start + len(rows)), rows, held, strict=True)
            collection.insert([zvec.Doc(str(row), None, {"vector": v}, {"tags": t}) for row, v, t in documents])
        collection.optimize(zvec.OptimizeOption(concurrency=self.threads))
        collection.close()
        self.collection = zvec.open(path, zvec.CollectionOption(read_only=True))
        self.row_of = np.array(self.collection.resolve_internal_ids(np.arange(len(base)))).astype(np.int64)
        self.pool = ThreadPoolExecutor(self.threads)

    def set_query_arguments(self, ef: int) -> None:
        """See the class."""
        self.ef = ef

    def query(self, queries: np.ndarray, k: int, tags: csr_matrix | None = None) -> np.ndarray:
        """Zvec has no batches: each thread takes a part of the queries."""
        vectors, answers = self._vectors(queries), np.full((len(queries), k), -1, np.int64)
        width, effort = min(k, len(self.row_of)), zvec.HnswQueryParam(ef=max(self.ef, k))

        def answer(share: Share) -> None:
            for wanted, members in share:
                condition = f"tags CONTAIN_ALL ({', '.join(map(str, wanted))})" if wanted else None
                for line in members:
                    query = zvec.Query("vector", vector=vectors[line], param=effort)
                    found = self.collection.query_internal_ids(query, topk=width, filter=condition)
                    answers[line, : len(found)] = np.where(found < 0, -1, self.row_of[found])

        list(self.pool.map(answer, shares(tags, len(queries), self.threads)))
        return answers

    def _vectors(self, vectors: np.ndarray) -> np.ndarray:
        return prepared(vectors, self.metric, self.taken)
