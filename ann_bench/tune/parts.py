"""Queries to tune with, and queries that the search never sees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from ann_bench.arrays import CsrRef, Ref
from ann_bench.datasets.cache import cache_root
from ann_bench.datasets.dataset import Dataset, QuerySet
from ann_bench.datasets.files import atomic
from ann_bench.datasets.fingerprint import fingerprint
from ann_bench.datasets.formats import locate, write_spmat
from ann_bench.errors import UsageError

#: Fewer queries than this cannot be parted.
LEAST = 20


@dataclass(frozen=True)
class Parts:
    """The data set with the queries to tune with, the same with those that are held out, and what both are."""

    seen: Dataset
    held_out: Dataset
    description: str


def part(dataset: Dataset, seed: int) -> Parts:
    """Two halves of the sample queries where the data set has some, else of its query set; the seed says which.

    Sample queries have no tags: where searches are filtered, the query set is parted. Of sample queries no more are
    taken than twice as many as the query set has. An entry that learns from sample queries gets those of the first
    half only. The files lie in the cache, under a name that follows from content and seed. Raises UsageError where
    there are too few queries.
    """
    queries = dataset.queries
    learn = dataset.learn if queries.tags is None else None
    vectors = queries.vectors if learn is None else learn
    count = vectors.shape[0]
    if count < LEAST:
        raise UsageError(f"{dataset.name}: {count} queries are too few to tune with: {LEAST} or more are needed")
    most = count if learn is None else min(count, 2 * queries.count)
    order = np.random.default_rng(seed).permutation(count)[:most]
    whole = QuerySet(queries.name if learn is None else "learn", vectors, queries.tags)
    folder = cache_root() / ".parts" / f"{fingerprint(vectors)[:16]}-{seed}-{most}"
    first, second = (np.sort(half) for half in np.array_split(order, 2))
    seen, held_out = (
        replace(dataset, queries=_half(folder, name, whole, rows))
        for name, rows in (("seen", first), ("held-out", second))
    )
    if learn is not None:
        seen, held_out = (replace(one, learn=seen.queries.vectors) for one in (seen, held_out))
    return Parts(seen, held_out, f"half of the {whole.name} queries")


def _half(folder: Path, name: str, queries: QuerySet, rows: npt.NDArray[np.intp]) -> QuerySet:
    """The queries of these rows, with their tags."""
    vectors, tags = queries.vectors, queries.tags
    asked = _written(folder / f"{name}.{'spmat' if isinstance(vectors, CsrRef) else 'npy'}", vectors, rows)
    told = None if tags is None else _written(folder / f"{name}-{fingerprint(tags)[:16]}.tags.spmat", tags, rows)
    assert told is None or isinstance(told, CsrRef)
    return QuerySet(f"{queries.name}-{name}", asked, told)


def _written(path: Path, ref: Ref, rows: npt.NDArray[np.intp]) -> Ref:
    """A file with these rows, unless it is there."""
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        some = ref.open()[rows]
        if isinstance(some, csr_matrix):
            write_spmat(path, some)
        else:
            with atomic(path) as stream:
                np.save(stream, some)
    return locate(path)
