"""Wrappers of ann-benchmarks as entries: a class that builds from an array and answers one query or a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from ann_bench.adapters import modules
from ann_bench.adapters.arguments import filled, matrix
from ann_bench.adapters.mapped import writable
from ann_bench.adapters.provided import annbenchmarks_base as provided
from ann_bench.adapters.told import Adapter, Told
from ann_bench.algorithm import Ids, Vectors
from ann_bench.arrays import Array

#: Every module that wrappers may import, and what is in it.
CONTENTS: modules.Contents = {
    "ann_benchmarks.algorithms.base": {"BaseANN": provided.BaseANN},
    "ann_benchmarks.algorithms.base.module": {"BaseANN": provided.BaseANN},
    "ann_benchmarks.constants": {"INDEX_DIR": provided.INDEX_DIR},
    "ann_benchmarks.distance": {
        "Metric": provided.Metric,
        "compute_distance": provided.compute_distance,
        "euclidean": provided.euclidean,
        "metrics": provided.metrics,
        "norm": provided.norm,
    },
    "ann_benchmarks.util": {"get_bool_env_var": provided.get_bool_env_var},
}


class AnnBenchmarks(Adapter):
    """A wrapper of ann-benchmarks.

    `module`, `constructor` and `arguments` are those of its config.yml there, with placeholders as they stand.
    """

    def __init__(
        self, metric: str, dim: int, dtype: str, threads: int, *, module: str, constructor: str,
        arguments: Sequence[Any],
    ) -> None:  # fmt: skip
        super().__init__(metric, dim, dtype, threads)
        told = self.enter()
        provided.BaseANN.threads = threads
        Path(provided.INDEX_DIR).mkdir()
        modules.provide(CONTENTS)
        kind = modules.load(_file(module, told.folder), constructor, told.folder)
        known = {"@metric": metric, "@dimension": dim, "@count": told.k}
        self.wrapper = kind(*filled(list(arguments), known))
        _check(self.wrapper, told)
        self._answer = _way(self.wrapper)
        self.at_end(self.wrapper)

    def fit(self, base: Vectors, tags: csr_matrix | None = None, learn: Vectors | None = None) -> None:
        """Their `fit`, on floats that it may write to; then `freeze_index`, where there is one."""
        self.wrapper.fit(_floats(base))
        if hasattr(self.wrapper, "freeze_index"):
            self.wrapper.freeze_index()

    def set_query_arguments(self, arguments: Sequence[Any] | None = None, **named: Any) -> None:
        """Their `set_query_arguments`, with these arguments or one dict of the named ones; not called without any."""
        given = [named] if named else list(arguments or ())
        if given:
            self.wrapper.set_query_arguments(*given)

    def query(self, queries: Vectors, k: int, tags: csr_matrix | None = None) -> Ids:
        """Their batch search; one query after the other where the wrapper prepares single queries only."""
        if tags is not None:
            raise NotImplementedError("ann-benchmarks has no search with filters")
        return matrix(self._answer(_floats(queries), k), k)

    def stats(self) -> dict[str, Any]:
        """What the wrapper says of itself, under `get_additional` and `name`."""
        said = self.wrapper.get_additional() if hasattr(self.wrapper, "get_additional") else {}
        return {"name": str(self.wrapper), **(said if isinstance(said, Mapping) else {"get_additional": said})}


def _file(module: str, folder: Path) -> str:
    """The module that holds the class: `<module>.module`, or the module itself as it was years ago."""
    return f"{module}.module" if (folder / "module.py").is_file() else module


def _way(wrapper: Any) -> Callable[[Array, int], Any]:
    """How the wrapper answers a batch; the same choice as over there, where batches are asked for."""
    if hasattr(wrapper, "supports_prepared_queries"):
        wrapper.supports_prepared_queries()
    if hasattr(wrapper, "prepare_batch_query"):

        def prepared(queries: Array, k: int) -> Any:
            wrapper.prepare_batch_query(queries, k)
            wrapper.run_batch_query()
            return wrapper.get_batch_results()

        return prepared
    if hasattr(wrapper, "prepare_query") and not (_own(wrapper, "batch_query") or _own(wrapper, "query")):
        return lambda queries, k: [_one(wrapper, query, k) for query in queries]
    if not hasattr(wrapper, "batch_query"):
        return lambda queries, k: [wrapper.query(query, k) for query in queries]

    def batch(queries: Array, k: int) -> Any:
        wrapper.batch_query(queries, k)
        return wrapper.get_batch_results()

    return batch


def _own(wrapper: object, name: str) -> bool:
    """Whether the wrapper has a method of this name that is not the base class's."""
    return getattr(type(wrapper), name, None) not in (None, getattr(provided.BaseANN, name, None))


def _one(wrapper: Any, query: Array, k: int) -> Any:
    wrapper.prepare_query(query, k)
    wrapper.run_prepared_query()
    return wrapper.get_prepared_query_results()


def _floats(vectors: Vectors) -> Array:
    """Floats that may be written to, as over there; nothing is copied where the vectors are floats already."""
    if isinstance(vectors, csr_matrix):
        raise NotImplementedError("ann-benchmarks has no sparse vectors of floats")
    if vectors.dtype in (np.float32, np.float64):
        return writable(vectors)
    return vectors.astype(np.float32)


def _check(wrapper: object, told: Told) -> None:
    """NotImplementedError, before anything is built, for what no wrapper of ann-benchmarks can do."""
    lacks = "filters" if told.filtered else "streams" if told.stream else "a radius" if told.radius is not None else ""
    if lacks:
        raise NotImplementedError(f"ann-benchmarks has no search with {lacks}")
