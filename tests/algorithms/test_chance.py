"""What config.yaml says of chance is true: a seed makes another index, and any order of rows will do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ann_bench.entries.entry import Entry, plan_configs
from tests.algorithms.support import entries, load, recall

ROWS, DIM, ASKED = 1500, 20, 150

ENTRIES = {
    f"{track}/{entry.name}": entry
    for track in ("dense", "filtered", "ood", "sparse", "streaming")
    for entry in entries(track).values()
    if entry.folder.parent.name == track
}
#: Arguments of the build and of queries with which chance shows: no row is found by comparing all.
BUILD: dict[str, dict[str, Any]] = {"streaming/faiss-ivf": {"flat": 50, "lists": 1}}
QUERY: dict[str, dict[str, Any]] = {"max_scan": 0, "scan": False, "rerank": 2, "cap": 20, "ef": 10, "nprobe": 1}


def _index(name: str, order: np.ndarray, seed: int | None = None) -> Any:
    """The index over the rows in this order."""
    entry, base = ENTRIES[name], _data(ENTRIES[name])[order]
    build = {**plan_configs(entry, "some-set")[0], **BUILD.get(name, {})}
    if seed is not None and entry.config.seed:
        build[entry.config.seed] = seed
    sparse = isinstance(base, csr_matrix)
    # one thread: what several make of chance is not what is tried here
    index = load(entry)("ip" if sparse else "euclidean", base.shape[1], "float32", 1, **build)
    if name.startswith("streaming"):
        index.setup(ROWS)
        index.insert(base, np.arange(ROWS))
    else:
        index.fit(base, _tags(ROWS) if name.startswith("filtered") else None)
    return index


def _data(entry: Entry) -> Any:
    """Rows by clusters, so that their order is as unlike chance as it can be."""
    rng = np.random.default_rng(7)
    if "sparse" in entry.config.tracks:
        dense = rng.gamma(1, 1, (ROWS, 60)) * (rng.random((ROWS, 60)) < 0.3)
        return csr_matrix(dense.astype(np.float32))
    middles = np.repeat(rng.normal(0, 1, (20, DIM)), ROWS // 20, axis=0)
    return (middles + rng.normal(0, 1, (ROWS, DIM))).astype(np.float32)


def _tags(rows: int) -> csr_matrix:
    """One that all rows have."""
    return csr_matrix(np.ones((rows, 1), np.float32))


def _answers(name: str, index: Any, order: np.ndarray, config: int) -> np.ndarray:
    """The rows that are found, by their numbers before they were put in this order."""
    query = ENTRIES[name].config.query["default"][config]
    index.set_query_arguments(**{key: QUERY.get(key, value) if config == 0 else value for key, value in query.items()})
    queries = _data(ENTRIES[name])[:: ROWS // ASKED]
    found = np.asarray(index.query(queries, 10, _tags(ASKED) if name.startswith("filtered") else None))
    return np.where(found >= 0, order[found], -1)


def _truth(entry: Entry) -> np.ndarray:
    rows = _data(entry)
    asked = rows[:: ROWS // ASKED]
    if isinstance(rows, csr_matrix):
        return np.argsort(-(asked @ rows.T).toarray(), axis=1, kind="stable")[:, :10]
    return np.argsort(((asked[:, None] - rows[None]) ** 2).sum(axis=2), axis=1, kind="stable")[:, :10]


@pytest.mark.parametrize("name", sorted(name for name, entry in ENTRIES.items() if entry.config.seed))
def test_another_seed_makes_another_index(name: str) -> None:
    order = np.arange(ROWS)
    one, again, other = (_answers(name, _index(name, order, seed), order, 0) for seed in (11, 11, 12))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("name", sorted(name for name, entry in ENTRIES.items() if entry.config.any_order))
def test_rows_may_come_in_any_order(name: str) -> None:
    truth, found = _truth(ENTRIES[name]), []
    for order in (np.arange(ROWS), np.random.default_rng(3).permutation(ROWS)):
        index = _index(name, order)
        found.append(recall(_answers(name, index, order, -1), truth))
    assert found[1] >= found[0] - 0.05
    assert found[1] >= 0.5
