"""`msturing-like`: the same bytes everywhere, clusters in the order of their rows, something for an index to learn."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from ann_bench.datasets.dataset import Dataset
from ann_bench.datasets.makers import find_maker
from ann_bench.datasets.makers.book import cluster_ranges
from ann_bench.datasets.makers.msturing_world import CELL, CLUSTERS, DIM, HIDDEN, SIZES, World
from ann_bench.datasets.manifest import Make, Manifest
from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest
from ann_bench.errors import UsageError
from ann_bench.tracks import find_track
from ann_bench.workload import Insert

#: sha256 of the files of msturing-like-3000. They must never change; other bytes need another `version` of the maker.
PINNED = {
    "base": "d10f9636e05b60cc74cafe533b703df3fd20c5f89ca6c6116226834e552f43dd",
    "public": "6c005acb98b7c0263a54770a85b9550f70c6548953f52d450e29a03aaffb8c5a",
    "private": "16b506b9e9d00da7162c77750a3bbbf3e55772be4ca8536efcd33c61664b147e",
    "runbook": "1b4572619b8db3494ab1ad6c7409a2926570df0750c6ca3038cd7ec1750ee81b",
}


def sha256(path: Path | str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANN_BENCH_CACHE", str(tmp_path_factory.mktemp("made")))
        return prepare(find_manifest("msturing-like-20k", "streaming"))


def test_the_bytes_are_pinned() -> None:
    manifest = find_manifest("msturing-like-3000", "streaming")
    public, private = prepare(manifest), prepare(manifest, "private")
    assert public.runbook is not None
    found = {
        "base": sha256(public.base.path),  # type: ignore[union-attr]
        "public": sha256(public.queries.vectors.path),  # type: ignore[union-attr]
        "private": sha256(private.queries.vectors.path),  # type: ignore[union-attr]
        "runbook": sha256(public.runbook),
    }
    assert found == PINNED


def test_shapes_and_tracks(made: Dataset) -> None:
    assert (made.rows, made.dim, made.dtype, made.metric) == (20_000, 100, "float32", "euclidean")
    assert made.queries.count == 10_000
    workload = find_track("streaming").workload(made, 10)
    assert len(workload.operations) > 1000
    assert sum(len(op.ids) for op in workload.operations if isinstance(op, Insert)) == 20_000
    assert 0.3 < workload.max_points / made.rows < 0.37
    assert find_manifest("msturing-like-20k", "dense").tracks == ("streaming", "dense")


def test_the_products_are_exact() -> None:
    """Sums stay below 2**24 however they are cut, so no BLAS can change a byte."""
    world = World(1, 7, 3000)
    tables = world._tables
    largest = 510 + np.abs(tables.kinds).max(axis=0).astype(int) + np.abs(tables.drift).max(axis=0)
    assert (largest @ np.abs(tables.basis)).max() + np.abs(tables.noise).max() < 2**24
    assert (510 + np.abs(tables.kinds.astype(int)).max() + np.abs(tables.drift.astype(int)).max()) < 2**15
    vectors = np.concatenate([world.vectors(cell) for cell in range(world.cells)])
    whole = vectors.astype(np.float64) * 2**20
    np.testing.assert_array_equal(whole, np.round(whole))


def test_cells_do_not_depend_on_each_other() -> None:
    rows = 2 * CELL + 100
    one, other = World(1, 1, rows), World(1, 1, rows)
    backwards = [other.vectors(cell) for cell in (2, 1, 0)][::-1]
    for cell, expected in enumerate(backwards):
        np.testing.assert_array_equal(one.vectors(cell), expected)
    assert len(backwards[2]) == 100
    assert (World(1, 2, rows).vectors(0) != backwards[0]).any()
    assert (one.queries("public", 50, 0) != one.queries("private", 50, 0)).any()
    assert one.queries("public", CELL + 7, 1).shape == (7, DIM)


@pytest.mark.parametrize("rows", [100, 101, 1023, 1025])
def test_small_sizes(rows: int) -> None:
    world = World(1, 1, rows)
    vectors = np.concatenate([world.vectors(cell) for cell in range(world.cells)])
    assert vectors.shape == (rows, DIM)
    assert len(np.unique(vectors, axis=0)) == rows
    assert np.isfinite(world.queries("public", 9, 0)).all()


def test_rows_are_sorted_by_cluster(made: Dataset) -> None:
    """Rows of a stretch of the runbook's clusters lie nearer to each other than to others."""
    base = made.base.open()
    means = np.array([base[ids.start : ids.stop].mean(axis=0) for ids in cluster_ranges(20_000, CLUSTERS, SIZES)])
    within, between = [], []
    for at, ids in enumerate(cluster_ranges(20_000, CLUSTERS, SIZES)):
        away = np.linalg.norm(base[ids.start : ids.stop][:, None] - means, axis=2).mean(axis=0)
        within.append(away[at])
        between.append(np.delete(away, at).mean())
    assert np.mean(within) < 0.85 * np.mean(between)


def test_clusters_drift(made: Dataset) -> None:
    base = made.base.open()
    ids = max(cluster_ranges(20_000, CLUSTERS, SIZES), key=len)
    rows = base[ids.start : ids.stop].astype(np.float64)
    quarter = len(rows) // 4
    moved = np.linalg.norm(rows[:quarter].mean(axis=0) - rows[-quarter:].mean(axis=0))
    still = np.linalg.norm(rows[::2][:quarter].mean(axis=0) - rows[1::2][:quarter].mean(axis=0))
    assert moved > 2 * still


def test_queries_are_of_the_same_mixture(made: Dataset) -> None:
    base, queries = made.base.open()[::4], made.queries.vectors.open()
    assert queries.mean(axis=0) == pytest.approx(base.mean(axis=0), abs=0.02)
    assert np.cov(queries.T).trace() == pytest.approx(np.cov(base.T).trace(), rel=0.05)


def test_there_is_something_to_learn(made: Dataset) -> None:
    base = made.base.open().astype(np.float64)
    spectrum = np.linalg.eigvalsh(np.cov(base[::4].T))[::-1]
    assert spectrum[:HIDDEN].sum() > 0.85 * spectrum.sum()
    assert 15 < spectrum.sum() ** 2 / (spectrum**2).sum() < 35
    # The nearest rows of a query lie in few of the cells of a coarse partition: what an IVF index relies on.
    centres = base[::200]
    home = np.linalg.norm(base[:, None, :32] - centres[None, :, :32], axis=2).argmin(axis=1)
    query = made.queries.vectors.open()[:100].astype(np.float64)
    near = ((query**2).sum(1)[:, None] - 2 * query @ base.T + (base**2).sum(1)).argsort(axis=1)[:, :10]
    probes = np.linalg.norm(query[:, None, :32] - centres[None, :, :32], axis=2).argsort(axis=1)[:, :20]
    assert np.mean([np.isin(home[near[i]], probes[i]).mean() for i in range(100)]) > 0.6


def test_what_it_refuses() -> None:
    with pytest.raises(UsageError, match="between 100 and"):
        find_manifest("msturing-like-99")
    make = {"make": {"generator": "msturing-like", "seed": 1, "rows": 200, "queries": 7}}
    body = {"base": {"vectors": make}, "queries": {"public": {"vectors": make}}}
    manifest = Manifest.model_validate({"name": "mine", "tracks": ["dense"], "metric": "euclidean", **body})
    assert prepare(manifest).queries.count == 7
    maker = find_maker("msturing-like")
    assert maker.arguments(Make(generator="msturing-like", seed=1, rows=200)).queries == 10_000
    body["base"]["tags"] = make  # type: ignore[assignment]
    manifest = Manifest.model_validate({"name": "mine", "tracks": ["dense"], "metric": "euclidean", **body})
    with pytest.raises(UsageError, match=r"msturing-like makes vectors, not base.tags"):
        prepare(manifest)
