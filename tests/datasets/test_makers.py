"""Synthetic data: the same bytes everywhere, and the statistics of the set that it imitates."""

from __future__ import annotations

import hashlib
import multiprocessing
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ann_bench.datasets.dataset import Dataset
from ann_bench.datasets.makers import find_maker, makers, register
from ann_bench.datasets.makers.streams import Stream, lookup, zipf
from ann_bench.datasets.makers.yfcc_world import CELL, HIDDEN, TAGS, World
from ann_bench.datasets.manifest import Manifest
from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest
from ann_bench.errors import UsageError

#: sha256 of the files of yfcc-like-2000. They must never change; other bytes need another `version` of the maker.
PINNED = {
    "base.vectors": "d191ce63993dfc2a0306f4de67f92a650585cfe0dda5d5c9cce749b3c5147e6c",
    "base.tags": "5972f7a66e561de38996996ffabc3c395ae0c66ca0caf163c8f78fea70aadc69",
    "public.vectors": "c9c6e56e04cc5593afb440e1ff7acdbf6298aa1be1f7704bb09f8437f70c23ab",
    "public.tags": "4f28ea88b2222bd378941899424e572f0150e44edc188193d40cb7dadff3a416",
    "private.vectors": "dede2af66fcdab9e2ebf7483cb80479faae68d32f77efb44b32cbbf160c60f11",
    "private.tags": "8e76938c74316cc0dbc396d2463f635ce3ceab96605f91ea9efb0fd08587d1de",
}


#: Of whole cells of yfcc-like-3M: its vectors, and its tags; the last cell is cut short.
CELLS = {
    0: (
        "50ae495bcf84ba4443adc7dd2d3e156057f982ffdee96f54d71cf4e055b2411e",
        "4e6522ea6af5eff5fcc7c13a4bd3732c8222f15b8784ae0a937268fb1a7ceeeb",
    ),
    366: (
        "585bf1c08db70a0fff5233f660f262bc63a8ca49a4480be13da62e4145aba1d4",
        "09e6ef68587ee167cbd42658b3ade56c67752f04649cebf0391012e87de14512",
    ),
}


def hashed(*arrays: np.ndarray) -> str:
    joined = hashlib.sha256()
    for array in arrays:
        joined.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
    return joined.hexdigest()


def sha256(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def hashes(public: Dataset, private: Dataset) -> dict[str, str]:
    assert public.tags and public.queries.tags and private.queries.tags
    return {
        "base.vectors": sha256(public.base.path),  # type: ignore[union-attr]
        "base.tags": sha256(public.tags.data.path),
        "public.vectors": sha256(public.queries.vectors.path),  # type: ignore[union-attr]
        "public.tags": sha256(public.queries.tags.data.path),
        "private.vectors": sha256(private.queries.vectors.path),  # type: ignore[union-attr]
        "private.tags": sha256(private.queries.tags.data.path),
    }


def test_the_bytes_are_pinned() -> None:
    manifest = find_manifest("yfcc-like-2000", "filtered")
    assert manifest.name == "yfcc-like-2000"
    assert hashes(prepare(manifest), prepare(manifest, "private")) == PINNED


def test_cells_of_a_large_set_are_pinned() -> None:
    world = World(1, 1, 3_000_000)
    assert {cell: (hashed(world.vectors(cell)), hashed(*world.tags(cell))) for cell in (0, world.cells - 1)} == CELLS


def test_threads_change_no_byte() -> None:
    world = World(1, 1, 20_000)
    alone = [hashed(world.vectors(cell), *world.tags(cell)) for cell in range(world.cells)]
    other = World(1, 1, 20_000)
    with ThreadPoolExecutor(4) as pool:
        together = pool.map(lambda cell: hashed(other.vectors(cell), *other.tags(cell)), range(world.cells))
    assert list(together) == alone


def test_streams() -> None:
    assert Stream("a", 1).words(3).tolist() == Stream("a", 1).words(5).tolist()[:3]
    assert Stream("a", 1).words(3).tolist() != Stream("a", 2).words(3).tolist()
    assert Stream("a").words(1).view(np.uint8).tolist() == Stream("a").parts(np.uint8, 8).tolist()
    assert Stream("a").parts(np.uint16, 3, 5).shape == (3, 5)


def test_a_bell() -> None:
    bell = Stream("bell").bell(500, 100).astype(float)
    assert abs(bell.mean()) < 3
    assert abs(bell.std() - 147.8) < 2


def test_lookup_tables() -> None:
    table = lookup(np.array([6, 3, 1]), 4)
    assert np.bincount(table).tolist() == [8, 5, 3]
    assert len(lookup(zipf(TAGS, 24), 21)) == 1 << 21
    assert set(lookup(zipf(1000, 1), 10).tolist()) == set(range(1000))
    with pytest.raises(ValueError, match="do not fit"):
        lookup(zipf(1000, 1), 9)


def test_the_products_are_exact_however_they_are_cut() -> None:
    """float32 products equal those of whole numbers, so no BLAS and no block size can change a byte."""
    world = World(1, 7, 3000)
    basis = world._tables.basis
    largest = np.full((1, HIDDEN), 510 + 765)
    assert (largest @ np.abs(basis[:HIDDEN]) + basis[HIDDEN]).max() < 2**24
    hidden = world.stream("test").bell(3000, HIDDEN)
    lifted = np.ones((3000, HIDDEN + 1), np.float32)
    lifted[:, :HIDDEN] = hidden
    exact = lifted.astype(np.int64) @ basis.astype(np.int64)
    np.testing.assert_array_equal((lifted @ basis).astype(np.int64), exact)
    for step in (1, 7, 1024):
        pieces = [lifted[i : i + step] @ basis for i in range(0, 300, step)]
        np.testing.assert_array_equal(np.concatenate(pieces)[:300].astype(np.int64), exact[:300])


def test_cells_do_not_depend_on_each_other() -> None:
    rows = 2 * CELL + 100
    one, other = World(1, 1, rows), World(1, 1, rows)
    backwards = [other.vectors(cell) for cell in (2, 1, 0)][::-1]
    np.testing.assert_array_equal(np.concatenate([one.vectors(cell) for cell in range(3)]), np.concatenate(backwards))
    assert len(backwards[2]) == 100
    tags = [other.tags(cell) for cell in (2, 0, 1)]
    for cell, (counts, columns) in zip((2, 0, 1), tags, strict=True):
        again = one.tags(cell)
        np.testing.assert_array_equal(again[0], counts)
        np.testing.assert_array_equal(again[1], columns)


def test_seeds_and_sets_differ() -> None:
    assert (World(1, 1, 500).vectors(0) != World(1, 2, 500).vectors(0)).any()
    manifest = find_manifest("yfcc-like-500")
    public, private = prepare(manifest), prepare(manifest, "private")
    assert (public.queries.vectors.open() != private.queries.vectors.open()).any()
    assert public.base == private.base


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANN_BENCH_CACHE", str(tmp_path_factory.mktemp("made")))
        return prepare(find_manifest("yfcc-like-20k"))


def test_shapes(made: Dataset) -> None:
    assert (made.rows, made.dim, made.dtype) == (20_000, 192, "uint8")
    assert made.tags is not None
    assert made.tags.shape == (20_000, 200_386)
    assert made.queries.count == 2_000


def test_bags_look_like_those_of_yfcc(made: Dataset) -> None:
    assert made.tags is not None
    tags = made.tags.open()
    sizes = np.diff(tags.indptr)
    assert 10.3 < sizes.mean() < 11.3
    assert sizes.min() >= 2
    common = np.sort(np.bincount(tags.indices, minlength=TAGS))[::-1] / made.rows
    assert 0.1 < common[0] < 0.3
    assert common[100] < 0.05
    assert common[2000] < 0.005
    assert tags.has_sorted_indices
    assert (tags.data == 1).all()


def test_every_query_has_matches_of_many_selectivities(made: Dataset) -> None:
    assert made.tags is not None
    assert made.queries.tags is not None
    tags, asked = made.tags.open(), made.queries.tags.open()
    sizes = np.diff(asked.indptr)
    assert set(sizes.tolist()) == {1, 2}
    assert 0.45 < (sizes == 1).mean() < 0.55
    hits = csr_matrix(asked[:500].astype(np.int32) @ tags.astype(np.int32).T)
    matches = np.array([(hits[i].data == sizes[i]).sum() for i in range(500)])
    assert matches.min() >= 1
    share = np.quantile(matches / made.rows, [0.1, 0.5, 0.95])
    assert share[0] < 0.001 < share[2]
    assert 0.0001 < share[1] < 0.02


def test_filter_and_distance_know_of_each_other(made: Dataset) -> None:
    """Near rows share more tags than rows at random do."""
    assert made.tags is not None
    base = made.base.open().astype(np.float32)
    tags = made.tags.open()
    tags.data = np.ones(tags.nnz, dtype=np.float32)
    query = np.arange(100)
    distances = ((base[query] ** 2).sum(1)[:, None] - 2 * base[query] @ base.T) + (base**2).sum(1)
    near = np.argsort(distances, axis=1)[:, 1:11]
    shared_near = np.mean([tags[i].dot(tags[near[i]].T).mean() for i in query])
    shared_any = np.mean([tags[i].dot(tags[5000:5200].T).mean() for i in query])
    assert shared_near > 2 * shared_any


def test_vectors_have_structure_to_learn(made: Dataset) -> None:
    base = made.base.open()[:5000].astype(np.float64)
    centred = base - base.mean(axis=0)
    spectrum = np.linalg.eigvalsh(np.cov(centred.T))[::-1]
    assert spectrum[:HIDDEN].sum() > 0.8 * spectrum.sum()
    assert ((base == 0) | (base == 255)).mean() < 0.01
    assert 15 < base.std(axis=0).mean() < 50


def test_the_number_of_queries_can_be_chosen() -> None:
    make = {"make": {"generator": "yfcc-like", "seed": 3, "rows": 300, "queries": 7}}
    pair = {"vectors": make, "tags": make}
    body = {"name": "mine", "tracks": ["filtered"], "metric": "euclidean", "base": pair, "queries": {"hard": pair}}
    assert prepare(Manifest.model_validate(body), "hard").queries.count == 7
    body["queries"] = {"hard": {**pair, "truth": make}}
    with pytest.raises(UsageError, match=r"yfcc-like makes vectors and tags, not hard.truth"):
        prepare(Manifest.model_validate(body), "hard")


def _prepare_in_process(cache: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANN_BENCH_CACHE", cache)
        prepare(find_manifest("yfcc-like-9000"))


def test_two_processes_make_one_set(own_cache: Path) -> None:
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=_prepare_in_process, args=(str(own_cache),)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(60)
    assert [process.exitcode for process in both] == [0, 0]
    folder = own_cache / "yfcc-like-9000"
    assert len([p for p in folder.iterdir() if not p.name.endswith(".lock")]) == 4


def test_an_interrupt_leaves_nothing_half_made(own_cache: Path) -> None:
    def interrupt(task: str, done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(find_manifest("yfcc-like-9000"), progress=interrupt)
    left = [p.name for p in (own_cache / "yfcc-like-9000").iterdir()]
    assert all(name.endswith(".lock") for name in left)


def test_to_list_makers_imports_no_compiler() -> None:
    look = "import sys; from ann_bench.datasets.makers import makers; print(len(makers()), 'numba' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout.split() == [str(len(makers())), "False"]


def test_makers_have_names_of_their_own() -> None:
    assert "yfcc-like" in [maker.name for maker in makers()]
    with pytest.raises(ValueError, match="two makers"):
        register(find_maker("yfcc-like"))
