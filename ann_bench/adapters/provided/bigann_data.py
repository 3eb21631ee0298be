"""The data set that a wrapper of big-ann-benchmarks asks for by its name: what the judge has handed over, no more.

A wrapper opens files by itself. Where the judge's file has their layout, it gets that very file under their kind of
name; else the rows are written into one, block by block, in the working folder (its time counts as building time).
There is no ground truth here, and of queries only the public sample to learn from, where the entry's config asks for
it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from scipy.sparse import csr_matrix

from ann_bench.adapters.mapped import whole_file, writable_csr
from ann_bench.adapters.provided.bigann_io import write_sparse_matrix
from ann_bench.algorithm import Vectors
from ann_bench.arrays import Array

#: Where wrappers look for data, relative to where they run.
BASEDIR = "data/"

_ENDINGS = {"float32": "fbin", "uint8": "u8bin", "int8": "i8bin", "float16": "hbin", "int32": "ibin"}
_BLOCK = 64 << 20


class NotHanded(RuntimeError):
    """A wrapper asks its data set for what the judge does not give away."""


class Dataset:
    """A data set as wrappers see it; `nb` rows of `d` dimensions, `nq` queries in a batch.

    What has not been handed over yet, or never will be, raises NotHanded where it is asked for.
    """

    def __init__(self, name: str, facts: Mapping[str, Any]) -> None:
        self._name, self._facts = name, facts
        self._base: Vectors | None = None
        self._tags: csr_matrix | None = None
        self._learn: Vectors | None = None
        self.d: int = facts["dim"]
        self.dtype: str = facts["dtype"]
        self.basedir = str(Path(BASEDIR) / name)
        self.gt_fn = self.private_qs_url = self.private_gt_url = None

    def hand(self, base: Vectors, tags: csr_matrix | None, learn: Vectors | None) -> None:
        """Take what the judge gives."""
        self._base, self._tags, self._learn = base, tags, learn

    @property
    def nb(self) -> int:
        """Rows of the base."""
        return int(self._rows().shape[0])

    @property
    def nq(self) -> int:
        """Queries in a batch."""
        if self._facts["queries"] is None:
            _refuse("nq: the judge did not say how many queries it will ask")
        return int(self._facts["queries"])

    def prepare(self, *arguments: Any, **named: Any) -> None:
        """Nothing: all is there."""

    def distance(self) -> str:
        """`euclidean`, `ip` or `angular`."""
        return str(self._facts["metric"])

    def search_type(self) -> str:
        """`knn`, `range` or `knn_filtered`."""
        if self._facts["radius"] is not None:
            return "range"
        return "knn_filtered" if self._facts["filtered"] else "knn"

    def data_type(self) -> str:
        """`dense` or `sparse`."""
        return "sparse" if isinstance(self._base, csr_matrix) else "dense"

    def default_count(self) -> float:
        """How many neighbours are asked for; of a range search, the radius."""
        if self._facts["radius"] is not None:
            return float(self._facts["radius"])
        return int(self._facts["k"] or 10)

    def short_name(self) -> str:
        """A name for files."""
        return f"{self._name}-{self.nb}"

    def __str__(self) -> str:
        return f"Dataset {self._name}: {self.nb} rows of {self.d} dimensions, {self.distance()}, {self.search_type()}"

    def get_dataset(self) -> Vectors:
        """All the rows: an array that is mapped read-only, or a CSR matrix."""
        rows = self._rows()
        return writable_csr(rows) if isinstance(rows, csr_matrix) else rows

    def get_dataset_iterator(self, bs: int = 512, split: tuple[int, int] = (1, 0)) -> Iterator[Vectors]:
        """Blocks of at most `bs` rows; of shard `p` of `n` where `split` is (n, p)."""
        rows, (shards, shard) = self.get_dataset(), split
        first, last = self.nb * shard // shards, self.nb * (shard + 1) // shards
        for start in range(first, last, bs):
            yield rows[start : min(start + bs, last)]

    def get_data_in_range(self, start: int, end: int) -> Vectors:
        """The rows `start` to `end`, without `end`."""
        if not 0 <= start <= end <= self.nb:
            raise ValueError(f"rows {start} to {end} of {self.nb}")
        return self.get_dataset()[start:end]

    def get_dataset_metadata(self) -> csr_matrix:
        """The tags of the rows, (nb, vocabulary)."""
        return writable_csr(self._bags())

    def get_dataset_fn(self) -> str:
        """A file with the rows, in their format: vectors with a header of two u32, or .spmat."""
        rows = self._rows()
        if isinstance(rows, csr_matrix):
            return self._sparse_file(rows, "base.csr")
        return self._dense_file(rows, f"base.{_ENDINGS.get(self.dtype, 'bin')}")

    @property
    def ds_fn(self) -> str:
        """The name of that file in `basedir`."""
        return Path(self.get_dataset_fn()).name

    @property
    def ds_metadata_fn(self) -> str:
        """The name of a file with the tags, .spmat, in `basedir`."""
        return Path(self._sparse_file(self._bags(), "base.metadata.spmat")).name

    @property
    def qs_fn(self) -> str:
        """The name of a file of sample queries in `basedir`; there is no such file where none were handed over."""
        name = f"query.learn.{_ENDINGS.get(self.dtype, 'bin')}"
        if isinstance(self._learn, np.ndarray):
            self._dense_file(self._learn, name)
        return name

    def get_query_train(self, maxn: int = 10**6) -> Vectors:
        """Sample queries to learn from, at most `maxn`."""
        if self._learn is None:
            _refuse("sample queries: this data set has none, or `learn: true` is missing in the entry's config.yaml")
        return self._learn[:maxn]

    def get_queries(self) -> Vectors:
        """Sample queries to learn from; those that are judged are never here."""
        return self.get_query_train()

    def get_private_queries(self) -> NoReturn:
        """Refused."""
        _refuse("get_private_queries(): queries come with the call that asks them, not before")

    def get_queries_metadata(self) -> NoReturn:
        """Refused."""
        _refuse("get_queries_metadata(): the tags of queries come with the call that asks them, not before")

    get_private_queries_metadata = get_queries_metadata

    def get_groundtruth(self, k: int | None = None) -> NoReturn:
        """Refused."""
        _refuse("get_groundtruth(): no ground truth enters the sandbox")

    get_private_groundtruth = get_groundtruth

    def _rows(self) -> Vectors:
        if self._base is None:
            _refuse("the rows of the data set: they are handed over with fit(), and on a stream with insert()")
        return self._base

    def _bags(self) -> csr_matrix:
        if self._tags is None:
            _refuse(
                "the tags of the rows: they are handed over with fit(), and this search has no filters without them"
            )
        return self._tags

    def _dense_file(self, rows: Array, name: str) -> str:
        """A file with this header and these rows: the judge's own where it is one."""
        path = self._folder() / name
        if path.exists():
            return str(path)
        header = struct.pack("<II", *rows.shape)
        where = whole_file(rows)
        if where and where[1] == len(header) and _begins(where[0], header, len(header) + rows.nbytes):
            path.symlink_to(where[0].resolve())
            return str(path)
        with path.open("wb") as file:
            file.write(header)
            block = max(1, _BLOCK // max(1, rows[:1].nbytes))
            for start in range(0, len(rows), block):
                np.ascontiguousarray(rows[start : start + block]).tofile(file)
        return str(path)

    def _sparse_file(self, rows: csr_matrix, name: str) -> str:
        """A .spmat file of this matrix: the judge's own where it is one."""
        path = self._folder() / name
        if path.exists():
            return str(path)
        where = whole_file(rows.indices)
        count, nonzeros = rows.shape[0], int(rows.indptr[-1])
        start = 24 + 8 * (count + 1)
        header = struct.pack("<qqq", *rows.shape, nonzeros)
        plain = rows.indices.dtype == np.int32 and rows.data.dtype == np.float32
        if where and plain and where[1] == start and _begins(where[0], header, start + 8 * nonzeros):
            path.symlink_to(where[0].resolve())
        else:
            write_sparse_matrix(rows, str(path))
        return str(path)

    def _folder(self) -> Path:
        folder = Path(self.basedir)
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def _begins(path: Path, header: bytes, size: int) -> bool:
    with path.open("rb") as file:
        return file.read(len(header)) == header and path.stat().st_size == size


def _refuse(what: str) -> NoReturn:
    raise NotHanded(what)


class Datasets(dict[str, Callable[[], Dataset]]):
    """What wrappers call DATASETS: it has the one data set of this run, under the name that the wrapper was given."""

    def __missing__(self, name: str) -> NoReturn:
        raise NotHanded(f"DATASETS[{name!r}]: here is only {', '.join(map(repr, self))}, the data set that is measured")
