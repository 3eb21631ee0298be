"""What holds for every entry: wrappers are small, and what one process saves another can load."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ann_bench.entries.entry import Entry
from tests.algorithms.support import HOME, entries, made

WRAPPERS = sorted((HOME / "algorithms").glob("*/*/wrapper.py"))
#: A wrapper has fewer lines; what is more has a job of its own, and a file of its own.
LINES = 80

#: Those that can be saved, with query arguments that leave nothing to luck.
SAVED = {
    "dense/faiss-ivf": {"nprobe": 1000},
    "dense/faiss-hnsw": {"ef": 200},
    "dense/hnswlib": {"ef": 200},
    "dense/usearch": {"ef": 200},
    "sparse/nmslib": {"ef": 200},
}


@pytest.mark.parametrize("wrapper", WRAPPERS, ids=lambda wrapper: "-".join(wrapper.parts[-3:-1]))
def test_a_wrapper_is_small(wrapper: Path) -> None:
    assert len(wrapper.read_text(encoding="utf-8").splitlines()) < LINES


def test_there_are_as_many_entries_as_were_asked_for() -> None:
    assert len(WRAPPERS) >= 20


def test_all_that_can_be_saved_are_tried_here() -> None:
    can = {"/".join(path.parts[-3:-1]) for path in WRAPPERS if "def save(" in path.read_text(encoding="utf-8")}
    assert can == set(SAVED)


def _entry(name: str) -> Entry:
    track, _, name = name.partition("/")
    return entries(track)[name]


@pytest.mark.parametrize("name", SAVED)
@pytest.mark.parametrize("rows", [1, 3000])
def test_a_saved_index_answers_as_before(name: str, rows: int, tmp_path: Path) -> None:
    entry, rng = _entry(name), np.random.default_rng(1)
    base = rng.standard_normal((rows, 12)).astype(np.float32)
    queries = rng.standard_normal((20, 12)).astype(np.float32)
    if name.startswith("sparse/"):
        base, queries = csr_matrix(np.maximum(base, 0)), csr_matrix(np.maximum(queries, 0))
    metric = "ip" if isinstance(base, csr_matrix) else "angular"
    index, other = made(entry, metric, 12, "float32"), made(entry, metric, 12, "float32")
    index.fit(base)
    index.save(tmp_path)
    assert other.load(tmp_path) is True
    for one in (index, other):
        one.set_query_arguments(**SAVED[name])
    assert other.query(queries, 10).tolist() == index.query(queries, 10).tolist()
