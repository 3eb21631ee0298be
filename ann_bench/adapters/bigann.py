"""Wrappers of big-ann-benchmarks as entries: a class that builds from a data set's name and keeps its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from ann_bench.adapters import modules
from ann_bench.adapters.arguments import filled, matrix
from ann_bench.adapters.mapped import writable_csr
from ann_bench.adapters.provided import bigann_base, bigann_data, bigann_io
from ann_bench.adapters.told import Adapter, Told
from ann_bench.algorithm import Ids, Vectors

#: Of `benchmark.dataset_io`, what wrappers may import.
_IO = (
    "bvecs_mmap",
    "download",
    "download_accelerated",
    "ivecs_read",
    "knn_result_read",
    "mmap_sparse_matrix_fields",
    "range_result_read",
    "read_fbin",
    "read_ibin",
    "read_sparse_matrix",
    "read_sparse_matrix_fields",
    "sanitize",
    "u8bin_write",
    "upload_accelerated",
    "usbin_write",
    "write_sparse_matrix",
    "xbin_mmap",
    "xbin_write",
)


def contents(datasets: bigann_data.Datasets) -> modules.Contents:
    """Every module that wrappers may import, and what is in it."""
    io = {name: getattr(bigann_io, name) for name in _IO}
    base = bigann_base.BaseANN
    return {
        "benchmark.algorithms.base": {"BaseANN": base},
        "benchmark.dataset_io": io,
        "benchmark.datasets": {
            "DATASETS": datasets,
            "Dataset": bigann_data.Dataset,
            "BASEDIR": bigann_data.BASEDIR,
            **io,
        },
        "neurips23.filter.base": {"BaseANN": base, "BaseFilterANN": bigann_base.BaseFilterANN},
        "neurips23.ood.base": {"BaseANN": base, "BaseOODANN": bigann_base.BaseOODANN},
        "neurips23.sparse.base": {"BaseANN": base, "BaseSparseANN": bigann_base.BaseSparseANN},
        "neurips23.streaming.base": {"BaseANN": base, "BaseStreamingANN": bigann_base.BaseStreamingANN},
    }


class BigAnn(Adapter):
    """A wrapper of big-ann-benchmarks.

    `module`, `constructor` and `arguments` are those of its config.yaml there, with placeholders as they stand;
    `dataset` is the name that the wrapper gets for the data set.
    """

    def __init__(
        self, metric: str, dim: int, dtype: str, threads: int, *, module: str, constructor: str,
        arguments: Sequence[Any], dataset: str = "dataset",
    ) -> None:  # fmt: skip
        super().__init__(metric, dim, dtype, threads)
        told = self.enter()
        searches = {"queries": told.queries, "k": told.k, "radius": told.radius, "filtered": told.filtered}
        self.data = bigann_data.Dataset(dataset, {"metric": metric, "dim": dim, "dtype": dtype, **searches})
        self.dataset = dataset
        Path(self.data.basedir).mkdir(parents=True)
        modules.provide(contents(bigann_data.Datasets({dataset: lambda: self.data})))
        _show_folder(module, told.folder)
        kind = modules.load(module, constructor, told.folder)
        known = {"@metric": metric, "@dimension": dim, "@count": told.k}
        self.wrapper = kind(*filled(list(arguments), known))
        _check(self.wrapper, told)
        self.at_end(self.wrapper)

    def fit(self, base: Vectors, tags: csr_matrix | None = None, learn: Vectors | None = None) -> None:
        """Their `fit`, which opens the data set by its name; their `load_index` is never called."""
        self.data.hand(base, tags, learn)
        self.wrapper.fit(self.dataset)

    def set_query_arguments(self, arguments: Sequence[Any] | None = None, **named: Any) -> None:
        """Their `set_query_arguments`, with these arguments or one dict of the named ones; not called without any."""
        given = [named] if named else list(arguments or ())
        if given:
            self.wrapper.set_query_arguments(*given)

    def query(self, queries: Vectors, k: int, tags: csr_matrix | None = None) -> Ids:
        """Their `query` or `filtered_query`, then `get_results`."""
        asked = writable_csr(queries) if isinstance(queries, csr_matrix) else queries
        if tags is None:
            self.wrapper.query(asked, k)
        else:
            self.wrapper.filtered_query(asked, writable_csr(tags), k)
        return matrix(self.wrapper.get_results(), k)

    def range_query(self, queries: Vectors, radius: float, tags: csr_matrix | None = None) -> tuple[Ids, Ids]:
        """Their `range_query`, then `get_range_results`."""
        self.wrapper.range_query(writable_csr(queries) if isinstance(queries, csr_matrix) else queries, radius)
        offsets, _, ids = self.wrapper.get_range_results()
        return np.asarray(offsets), np.asarray(ids)

    def setup(self, max_points: int) -> None:
        """Their `setup`."""
        self.wrapper.setup(self.dtype, max_points, self.dim)

    def insert(self, vectors: Vectors, ids: Ids, tags: csr_matrix | None = None) -> None:
        """Their `insert`, with u32 ids."""
        self.wrapper.insert(vectors, ids.astype(np.uint32))

    def delete(self, ids: Ids) -> None:
        """Their `delete`, with u32 ids."""
        self.wrapper.delete(ids.astype(np.uint32))

    def replace(self, vectors: Vectors, ids: Ids, tags: csr_matrix | None = None) -> None:
        """Their `replace` where the wrapper has one, else `delete` and `insert`."""
        if hasattr(self.wrapper, "replace"):
            self.wrapper.replace(vectors, ids.astype(np.uint32))
        else:
            super().replace(vectors, ids, tags)

    def stats(self) -> dict[str, Any]:
        """What the wrapper says of itself, under `get_additional` and `name`."""
        said = self.wrapper.get_additional()
        return {"name": str(self.wrapper), **(said if isinstance(said, Mapping) else {"get_additional": said})}


def _check(wrapper: object, told: Told) -> None:
    """NotImplementedError, before hours of building, where the wrapper lacks what will be asked of it."""
    if told.filtered and (told.stream or told.radius is not None):
        raise NotImplementedError("big-ann-benchmarks has filters neither on streams nor with a radius")
    wanted = ["filtered_query" if told.filtered else "query" if told.radius is None else "range_query"]
    wanted += ["setup", "insert", "delete"] if told.stream else ["fit"]
    for name in wanted:
        method = getattr(type(wrapper), name, None)
        if method is None or getattr(method, "__module__", "") == bigann_base.__name__:
            raise NotImplementedError(f"{type(wrapper).__name__} has no {name}(), which this track asks for")


def _show_folder(module: str, folder: Path) -> None:
    """Let the wrapper find its folder where it is over there, relative to the working folder."""
    place = Path(*modules.package_of(module, folder).split("."))
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(folder, target_is_directory=True)
