"""splade-like: the same bytes everywhere, canonical rows, and the statistics of the set that it imitates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from ann_bench.arrays import CsrRef
from ann_bench.datasets.dataset import Dataset
from ann_bench.datasets.makers.splade_world import CELL, TERMS, WEIGHTS, World
from ann_bench.datasets.manifest import Manifest
from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest
from ann_bench.errors import UsageError
from tests.datasets.test_makers import hashed, sha256

#: sha256 of the files of splade-like-2000; other bytes need another `version` of the maker.
PINNED = {
    "base": "d618613a2240e8005828c165d7280347a8bcfa723cdccd8108be5972172c4795",
    "public": "f46d60f5e28b310d85db0ed86f94defe958e030fb329288316615dbcff277392",
    "private": "a0f9192dc8149c4ba2d43e6f553a9646e1b72c3cfc98e2f9ec0c6689e3bb1f04",
}


#: Of a whole cell, the second, of the base and of the private queries.
CELLS = {
    "base": "a7ad61423309fa9bc50bfc061452c87c816b69c0b548a66f6e371e0b7d3c9bc3",
    "private": "190018b982d11d7201dee48fd08ffe000146cd4826c1986a1481547f4c5125e6",
}


def matrix(ref: object) -> csr_matrix:
    assert isinstance(ref, CsrRef)
    return ref.open()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANN_BENCH_CACHE", str(tmp_path_factory.mktemp("made")))
        return prepare(find_manifest("splade-like-20k"))


def test_the_bytes_are_pinned() -> None:
    manifest = find_manifest("splade-like-2000", "sparse")
    public, private = prepare(manifest), prepare(manifest, "private")
    refs = {"base": public.base, "public": public.queries.vectors, "private": private.queries.vectors}
    assert {name: sha256(ref.indices.path) for name, ref in refs.items()} == PINNED  # type: ignore[union-attr]


def test_whole_cells_are_pinned() -> None:
    world = World(1, 1)
    found = {}
    for kind, group in ((world.passages, "base"), (world.questions, "private")):
        counts, columns, codes = world.rows(kind, group, 1)
        found[group] = hashed(counts, columns, WEIGHTS[codes])
    assert found == CELLS


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**40), st.integers(0, 10**6), st.integers(1, CELL), st.booleans())
def test_a_cell_is_canonical_and_depends_on_nothing_but_its_place(
    seed: int, cell: int, count: int, asked: bool
) -> None:
    world = World(1, seed)
    kind, group = (world.questions, "public") if asked else (world.passages, "base")
    counts, columns, codes = world.rows(kind, group, cell, count)
    values = WEIGHTS[codes]
    assert (len(counts), counts.sum()) == (count, len(columns))
    assert counts.min() >= 1
    assert 0 <= columns.min() <= columns.max() < TERMS
    falls = np.flatnonzero(columns[1:] <= columns[:-1]) + 1
    assert set(falls.tolist()) <= set(np.cumsum(counts).tolist())
    assert (values > 0).all()
    assert (values <= 3).all()
    again = world.rows(kind, group, cell)
    for part, whole in zip((counts, columns, codes), again, strict=True):
        np.testing.assert_array_equal(part, whole[: len(part)])


def test_a_smaller_set_is_the_beginning_of_a_larger_one(made: Dataset) -> None:
    small = prepare(find_manifest("splade-like-100"))
    assert (small.rows, small.queries.count) == (100, 1_000)
    assert (matrix(small.base) != matrix(made.base)[:100]).nnz == 0
    assert (matrix(small.queries.vectors) != matrix(made.queries.vectors)[:1_000]).nnz == 0


def test_rows_look_like_those_of_splade(made: Dataset) -> None:
    base, queries = matrix(made.base), matrix(made.queries.vectors)
    assert base.shape == (20_000, TERMS)
    assert queries.shape == (2_000, TERMS)
    sizes = np.diff(base.indptr)
    assert 117 < sizes.mean() < 123
    assert 30 < sizes.std() < 50
    assert 46 < np.diff(queries.indptr).mean() < 52
    least, middle, high, most = np.quantile(base.data, [0, 0.5, 0.9, 1])
    assert 0 < least < middle < 0.5 < high < most <= 3
    common = np.sort(np.bincount(base.indices, minlength=TERMS))[::-1] / made.rows
    assert 0.2 < common[0] < 0.4
    assert common[100] < 0.05
    assert common[10_000] < 0.005


def test_neighbours_mean_something(made: Dataset) -> None:
    """The best rows score far above the rest, and few heavy terms of a query already find most of them."""
    base, queries = matrix(made.base), matrix(made.queries.vectors)[:100]
    scores = (queries @ base.T).toarray()
    ordered = np.sort(scores, axis=1)[:, ::-1]
    assert ordered[:, 9].mean() > 1.5 * ordered[:, 999].mean()
    best = np.argsort(-scores, axis=1)[:, :10]
    heavy = queries.toarray()
    heavy[heavy < np.sort(heavy, axis=1)[:, [-10]]] = 0
    found = np.argsort(-(base @ heavy.T).T, axis=1)[:, :50]
    kept = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(best.tolist(), found.tolist(), strict=True)])
    assert kept > 0.85


def test_the_number_of_queries_can_be_chosen() -> None:
    make = {"vectors": {"make": {"generator": "splade-like", "seed": 3, "rows": 300, "queries": 7}}}
    body = {"name": "mine", "tracks": ["sparse"], "metric": "ip", "base": make, "queries": {"hard": make}}
    assert prepare(Manifest.model_validate(body), "hard").queries.count == 7
    body["queries"] = {"hard": make, "learn": make}
    with pytest.raises(UsageError, match=r"splade-like makes vectors of the base and of queries, not learn.vectors"):
        prepare(Manifest.model_validate(body), "hard")
