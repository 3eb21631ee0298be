"""text2image-like: the same bytes everywhere, and queries that are not like the base."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ann_bench.datasets.dataset import Dataset
from ann_bench.datasets.makers.text2image_world import CELL, DIM, HIDDEN, STYLE, World
from ann_bench.datasets.manifest import Manifest
from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest
from ann_bench.errors import UsageError
from tests.datasets.test_makers import sha256

#: sha256 of the files of text2image-like-2000; other bytes need another `version` of the maker.
PINNED = {
    "base": "26656f311d2107ad0bf28b8db990ed5bec1f87bf304072752e160c5ce46528eb",
    "public": "49de646011460f186d7f3a71cd2009a8eb6c24e8749455aeb2220ad46105af93",
    "private": "6db003e50b4aa4c40eb0a2491b3917d464db6f42392337d44cb2f7f5ccf8c6e1",
    "learn": "1b334867cd755356c6e1e6309e7a2462a94bf69a7946e23feb48d8508382e632",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANN_BENCH_CACHE", str(tmp_path_factory.mktemp("made")))
        return prepare(find_manifest("text2image-like-20k"))


def test_the_bytes_are_pinned() -> None:
    manifest = find_manifest("text2image-like-2000", "ood")
    public, private = prepare(manifest), prepare(manifest, "private")
    refs = {"base": public.base, "public": public.queries.vectors, "private": private.queries.vectors}
    found = {name: sha256(ref.path) for name, ref in (refs | {"learn": public.learn}).items()}  # type: ignore[union-attr]
    assert found == PINNED


def test_the_products_are_exact_however_they_are_cut() -> None:
    world = World(1, 7)
    for look in (world.pictures, world.texts):
        largest = np.full(HIDDEN + look.style, 255)
        largest[:HIDDEN] += 765
        assert (largest @ np.abs(look.basis[:-1]) + np.abs(look.basis[-1])).max() < 2**24
        assert (look.basis == np.rint(look.basis)).all()
    assert world.texts.style == STYLE


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**40), st.integers(0, 10**6), st.integers(1, CELL), st.sampled_from(["base", "public", "learn"]))
def test_a_cell_depends_on_nothing_but_its_place(seed: int, cell: int, count: int, group: str) -> None:
    world, other = World(1, seed), World(1, seed)
    look = "pictures" if group == "base" else "texts"
    whole = world.rows(getattr(world, look), group, cell)
    other.rows(other.pictures, "base", cell + 1, 10)
    np.testing.assert_array_equal(other.rows(getattr(other, look), group, cell, count), whole[:count])
    assert np.isfinite(whole).all()
    assert whole.dtype == np.float32


def test_a_smaller_set_is_the_beginning_of_a_larger_one(made: Dataset) -> None:
    small = prepare(find_manifest("text2image-like-100"))
    assert (small.rows, small.queries.count) == (100, 1_000)
    np.testing.assert_array_equal(small.base.open(), made.base.open()[:100])
    np.testing.assert_array_equal(small.queries.vectors.open(), made.queries.vectors.open()[:1_000])


def test_shapes(made: Dataset) -> None:
    assert (made.rows, made.dim, made.dtype, made.metric) == (20_000, DIM, "float32", "ip")
    assert made.learn is not None
    assert made.learn.shape == made.queries.vectors.shape == (2_000, DIM)
    assert (made.learn.open() != made.queries.vectors.open()).any(axis=1).all()


def test_queries_are_not_like_the_base(made: Dataset) -> None:
    """Another mean, other directions, and far away in the base's own measure; those to learn from are like them."""
    base, queries = (np.asarray(ref.open(), np.float64) for ref in (made.base, made.queries.vectors))
    assert made.learn is not None
    mean, inverse = base.mean(axis=0), np.linalg.inv(np.cov(base.T))

    def distance(rows: np.ndarray) -> float:
        apart = rows - mean
        return float(np.median(np.sqrt(np.einsum("ij,jk,ik->i", apart, inverse, apart))))

    world = World(1, 1)
    held = world.rows(world.pictures, "held out", 0, 2_000).astype(np.float64)
    assert distance(held) < 16
    assert distance(queries) > 2 * distance(held)
    assert distance(made.learn.open()) == pytest.approx(distance(queries), rel=0.05)
    principal = [np.linalg.eigh(np.cov(rows.T))[1][:, -HIDDEN:] for rows in (base, queries, held)]
    shared = [np.linalg.norm(principal[0].T @ other) ** 2 / HIDDEN for other in principal[1:]]
    assert shared[0] < 0.75 < 0.95 < shared[1]


def test_lengths_vary_and_few_directions_hold_most(made: Dataset) -> None:
    base = made.base.open()
    lengths = np.linalg.norm(base, axis=1)
    assert 0.7 < lengths.mean() < 1.1
    assert 0.1 < lengths.std() / lengths.mean() < 0.25
    spectrum = np.linalg.eigvalsh(np.cov(base.T))[::-1]
    assert 0.85 < spectrum[:HIDDEN].sum() / spectrum.sum() < 0.97
    assert 12 < spectrum.sum() ** 2 / (spectrum**2).sum() < 30


def test_the_number_of_queries_can_be_chosen() -> None:
    def vectors(**more: int) -> dict[str, object]:
        return {"vectors": {"make": {"generator": "text2image-like", "seed": 1, "rows": 300, **more}}}

    body = {"name": "mine", "tracks": ["ood"], "metric": "ip", "base": vectors()}
    body["queries"] = {"hard": vectors(queries=7), "learn": vectors(queries=11)}
    data = prepare(Manifest.model_validate(body), "hard")
    assert data.learn is not None
    assert (data.queries.count, data.learn.shape[0]) == (7, 11)
    body["base"] = {**vectors(), "tags": vectors()["vectors"]}
    with pytest.raises(UsageError, match=r"text2image-like makes vectors, not base.tags"):
        prepare(Manifest.model_validate(body), "hard")
    with pytest.raises(UsageError, match="between 100 and"):
        find_manifest("text2image-like-99")
