"""The halves of the queries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ann_bench.datasets.dataset import Dataset, QuerySet
from ann_bench.datasets.formats import locate, write_spmat, write_xbin
from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest
from ann_bench.errors import UsageError
from ann_bench.tune.parts import part
from tests.support import QUERIES, tiny_dataset

pytestmark = pytest.mark.usefixtures("own_cache")


def lines(ref) -> set[bytes]:
    opened = ref.open()
    rows = opened.toarray() if isinstance(opened, csr_matrix) else opened
    return {row.tobytes() for row in rows}


@pytest.fixture
def filtered(tmp_path) -> Dataset:
    return prepare(find_manifest(str(tiny_dataset(tmp_path / "data")), "filtered"))


def test_both_halves_are_all_the_queries_with_their_tags(filtered) -> None:
    parts = part(filtered, 1)
    seen, held_out = parts.seen.queries, parts.held_out.queries
    assert seen.count + held_out.count == QUERIES
    assert lines(seen.vectors) | lines(held_out.vectors) == lines(filtered.queries.vectors)
    assert not lines(seen.vectors) & lines(held_out.vectors)
    whole = {
        vector.tobytes(): tags.tobytes()
        for vector, tags in zip(filtered.queries.vectors.open(), filtered.queries.tags.open().toarray(), strict=True)
    }
    for half in (seen, held_out):
        for vector, tags in zip(half.vectors.open(), half.tags.open().toarray(), strict=True):
            assert whole[vector.tobytes()] == tags.tobytes()
        assert half.vectors.dtype == filtered.queries.vectors.dtype
        assert half.truth is None
    assert parts.description == "half of the public queries"


def test_the_seed_says_which(filtered) -> None:
    first, same, other = part(filtered, 1), part(filtered, 1), part(filtered, 2)
    assert first == same
    assert lines(first.seen.queries.vectors) != lines(other.seen.queries.vectors)


def dense(folder, learn: int | None = 60, queries: int = 25) -> Dataset:
    rng = np.random.default_rng(1)
    refs = {}
    for name, rows in (("base", 100), ("queries", queries), ("learn", learn or 1)):
        write_xbin(folder / f"{name}.fbin", rng.random((rows, 4), dtype=np.float32))
        refs[name] = locate(folder / f"{name}.fbin")
    learned = refs["learn"] if learn else None
    return Dataset("made", "ip", refs["base"], None, QuerySet("public", refs["queries"]), learned)


def test_sample_queries_go_first_and_the_public_ones_are_not_touched(tmp_path) -> None:
    dataset = dense(tmp_path)
    parts = part(dataset, 1)
    for half in (parts.seen, parts.held_out):
        assert lines(half.queries.vectors) <= lines(dataset.learn)
        assert half.queries.count == 25  # as many as there are public ones
        assert half.learn == parts.seen.queries.vectors  # what is held out is not learned from either
    assert not lines(parts.seen.queries.vectors) & lines(parts.held_out.queries.vectors)
    assert parts.description == "half of the learn queries"


def test_sparse_queries(tmp_path) -> None:
    dataset = dense(tmp_path, learn=None)
    path = tmp_path / "sparse.spmat"
    matrix = csr_matrix(np.random.default_rng(1).random((30, 50)) * (np.random.default_rng(2).random((30, 50)) < 0.1))
    write_spmat(path, matrix.astype(np.float32))
    whole = replace(dataset, queries=QuerySet("public", locate(path)))
    parts = part(whole, 1)
    assert lines(parts.seen.queries.vectors) | lines(parts.held_out.queries.vectors) == lines(whole.queries.vectors)


def test_too_few_queries(tmp_path) -> None:
    with pytest.raises(UsageError, match="19 queries are too few"):
        part(dense(tmp_path, learn=None, queries=19), 1)
