"""Another look of the same data: row numbers, coordinates, tags and terms under other names, and the truth unchanged.

What no honest index minds, and what an entry that knows a published data set or its answers cannot stand:

- rows: the base (with its tags) in another order, so that every row has another number; learn queries too; of a
  stream within the pieces that its operations take as a whole;
- columns: coordinates in another order and some of them mirrored; terms of sparse rows and tags renamed.

Both keep every distance. Only files for the entry are written: the judge computes with the data as they are. Queries
are changed on their way to the entry (`Look.queries`, after any noise), answers mapped back (`Disguise.back`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.arrays import Array, ArrayRef, CsrRef, Ref
from ann_bench.datasets.dataset import Dataset
from ann_bench.errors import UsageError
from ann_bench.judge.asked import Asked
from ann_bench.judge.disguise_files import Writer, blocks_of, scratch
from ann_bench.judge.disguise_streams import Orders, stream_orders
from ann_bench.judge.look import Columns, Look, Names
from ann_bench.judge.noise import key_of
from ann_bench.ragged import Ragged
from ann_bench.workload import Workload

#: What a challenge may change, by the words that are typed.
ROWS, COLUMNS = "rows", "columns"


@dataclass(frozen=True)
class Challenge:
    """A wish to measure on disguised data: a seed that entries must not know, and what is to change."""

    seed: str
    rows: bool = True
    columns: bool = True

    def __post_init__(self) -> None:
        """UsageError for an empty seed, and for a choice that changes nothing."""
        if not self.seed.strip():
            raise UsageError("a challenge needs a seed that no entry can guess: give --challenge some random text")
        if not (self.rows or self.columns):
            raise UsageError("a challenge changes rows, columns or both; this one changes nothing")

    @property
    def changes(self) -> str:
        """What changes, in a word for tables."""
        return "+".join(name for name, wanted in ((ROWS, self.rows), (COLUMNS, self.columns)) if wanted)

    def to_json(self) -> dict[str, str]:
        """For identities: what changes, and a digest of the seed that is slow to guess from; never the seed."""
        digest = hashlib.scrypt(self.seed.encode(), salt=b"ann-bench challenge", n=2**14, r=8, p=1, dklen=8)
        return {"changes": self.changes, "seed_digest": digest.hex()}


@dataclass(frozen=True)
class Disguise:
    """A data set as an entry is to see it, and the way back.

    Of `dataset` base, tags and learn queries lie in new files; its query set is the original one, which `asked` changes
    as it is put. `order` (ids,) int64 names for each id that the entry sees the original one; None: the same. Ids are
    row numbers, but in a stream.
    """

    dataset: Dataset
    order: npt.NDArray[np.int64] | None = None
    look: Look | None = None

    def asked(self, asked: Asked) -> Asked:
        """The same queries as the entry is to see them."""
        return replace(asked, look=self.look)

    def back(self, ids: Array | Ragged) -> Any:
        """Answers as ids of the original rows, in the form that they came in; numbers that no row has stay."""
        if self.order is None:
            return ids
        if isinstance(ids, Ragged):
            return Ragged(ids.offsets, self._named(ids.ids))
        return self._named(ids)

    def _named(self, ids: Array) -> Array:
        assert self.order is not None
        there = (ids >= 0) & (ids < len(self.order))
        return np.where(there, self.order[np.where(there, ids, 0)], ids).astype(ids.dtype)


@contextmanager
def disguised(
    dataset: Dataset, seed: object, *, rows: bool = True, columns: bool = False, stream: Workload | None = None
) -> Iterator[Disguise]:
    """The data set in disguise; the same seed makes the same one. Its files are removed when the block ends.

    Of a `stream` rows change places only with those that all its operations take together with them.
    They lie in the cache under random names, take what the arrays that change take there, and are written in blocks
    of a few megabytes. Beside these a permutation is held, 8 bytes a row. Raises StorageError where the disk is full.
    """
    orders = _orders(dataset, seed, stream) if rows else None
    order = orders.rows if orders else None
    learn = _permutation(dataset.learn.shape[0], seed, "learn") if rows and dataset.learn is not None else None
    look = look_of(dataset, seed) if columns else None
    parts: list[Ref | None] = [dataset.base, dataset.tags, dataset.learn]
    needed = sum(ref.nbytes for ref in parts if ref is not None) if rows or columns else 0
    with scratch(needed) as writer:
        base = _written(writer, dataset.base, order, look.vectors if look else None)
        tags = None if dataset.tags is None else _written(writer, dataset.tags, order, look.tags if look else None)
        own = None if dataset.learn is None else _written(writer, dataset.learn, learn, look.vectors if look else None)
        assert tags is None or isinstance(tags, CsrRef)
        yield Disguise(replace(dataset, base=base, tags=tags, learn=own), orders.ids if orders else None, look)


def _orders(dataset: Dataset, seed: object, stream: Workload | None) -> Orders:
    if stream is not None and stream.mutates:
        return stream_orders(stream, dataset.rows, seed)
    order = _permutation(dataset.rows, seed, "rows")
    return Orders(order, order)


def look_of(dataset: Dataset, seed: object) -> Look:
    """Which coordinate, term and tag stands where, and which coordinates are mirrored."""
    order = _permutation(dataset.dim, seed, "columns")
    tags = None if dataset.tags is None else Names(_permutation(dataset.tags.shape[1], seed, "tags"))
    if dataset.sparse:
        return Look(Names(order), tags)
    wanted = np.random.default_rng(key_of(seed, "signs")).random(dataset.dim) < 0.5
    mirrored, whole = _mirrored(dataset, wanted)
    return Look(Columns(order, mirrored[order], whole), tags)


def _mirrored(dataset: Dataset, wanted: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.bool_], bool]:
    """Which coordinates are mirrored exactly, and whether within the type's range (else: x becomes -x).

    Floats have their negative. A whole number x has -1 - x (signed) or 255 - x in its type, which keeps euclidean
    distances, and no other. For other metrics signed numbers are negated where the least of the type, and its neighbour
    (noise may step down to it), appear nowhere; unsigned ones stay.
    """
    kind = np.dtype(dataset.dtype).kind
    if kind == "f":
        return wanted, False
    if dataset.metric == "euclidean":
        return wanted, True
    if kind == "u":
        return np.zeros_like(wanted), False
    refs = [ref for ref in (dataset.base, dataset.queries.vectors, dataset.learn) if isinstance(ref, ArrayRef)]
    least = np.iinfo(dataset.dtype).min + 1
    for ref in refs:
        array = ref.open()
        for rows in blocks_of(ref):
            wanted = wanted & (array[rows.start : rows.stop] > least).all(axis=0)
    return wanted, False


def _permutation(count: int, seed: object, what: str) -> npt.NDArray[np.int64]:
    return np.random.default_rng(key_of(seed, what)).permutation(count).astype(np.int64, copy=False)


def _written(writer: Writer, ref: Ref, order: npt.NDArray[np.int64] | None, change: Columns | Names | None) -> Ref:
    """The array with its rows in this order and each block of them changed, in a new file; as it is without either."""
    if order is None and change is None:
        return ref
    if isinstance(ref, CsrRef):
        return writer.sparse(ref, order, change.apply if isinstance(change, Names) else _same)
    return writer.dense(ref, order, change.apply if isinstance(change, Columns) else _same)


def _same(rows: Any) -> Any:
    return rows
