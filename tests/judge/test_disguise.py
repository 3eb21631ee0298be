"""Data in disguise: every distance stays, nothing of it is left behind, and no figure of an honest entry moves."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse import random as random_sparse

from ann_bench.arrays import CsrRef, held, held_csr
from ann_bench.cli import main
from ann_bench.datasets.cache import cache_root
from ann_bench.datasets.dataset import Dataset, QuerySet
from ann_bench.datasets.fingerprint import fingerprint
from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest
from ann_bench.entries.discovery import entry_at
from ann_bench.errors import StorageError
from ann_bench.judge import disguise_files
from ann_bench.judge.asked import published
from ann_bench.judge.disguise import Challenge, Disguise, disguised
from ann_bench.judge.measure import measure
from ann_bench.judge.noise import Noise, spread_of
from ann_bench.judge.plan import Options, plan, setting
from ann_bench.judge.run import ask_all
from ann_bench.judge.verify_steps import verify_steps
from ann_bench.ragged import Ragged
from ann_bench.results.figures import figures
from ann_bench.results.model import Status
from ann_bench.sandbox import find_sandbox
from ann_bench.truth.exact import exact
from ann_bench.truth.model import Problem
from ann_bench.workload import Search
from tests.judge.ranges import range_bench, range_entry
from tests.judge.test_streams import STREAM, stream
from tests.support import Bench, json_of, tiny_dataset, write_entry

K = 7
KINDS = [
    ("euclidean", "float32"), ("euclidean", "uint8"), ("euclidean", "int8"), ("euclidean", "float16"),
    ("ip", "float32"), ("ip", "int8"), ("ip", "uint8"), ("angular", "float32"), ("angular", "uint8"),
    ("ip", "sparse"),
]  # fmt: skip


def values(rng: np.random.Generator, rows: int, dim: int, dtype: str, *, edges: bool) -> Any:
    if dtype == "sparse":
        return csr_matrix(random_sparse(rows, dim, 0.4, random_state=rng, dtype=np.float32), dtype=np.float32)
    if np.dtype(dtype).kind == "f":
        return rng.normal(size=(rows, dim)).astype(dtype)
    info = np.iinfo(dtype)
    low = info.min if edges else info.min + 2
    return rng.integers(low, info.max, (rows, dim), dtype=dtype, endpoint=True)


def dataset(seed: int, metric: Any, dtype: str, *, tagged: bool, edges: bool = True) -> Dataset:
    rng = np.random.default_rng(seed)
    rows, dim, queries = int(rng.integers(1, 90)), int(rng.integers(2, 12)), 6
    base, asked, learn = (values(rng, n, dim, dtype, edges=edges) for n in (rows, queries, 5))
    tags = csr_matrix(rng.random((rows, 4)) < 0.6, dtype=np.float32) if tagged else None
    wanted = csr_matrix(np.eye(4, dtype=np.float32)[rng.integers(0, 4, queries)]) if tagged else None
    sets = QuerySet("public", held(asked), held_csr(wanted) if wanted is not None else None)
    return Dataset("made", metric, held(base), held_csr(tags) if tags is not None else None, sets, held(learn))


def answers(data: Dataset, vectors: Any, tags: Any) -> tuple[Any, Any]:
    problem = Problem(data.metric, K, data.base, held(vectors), data.tags if tags is not None else None)
    if tags is not None:
        problem = replace(problem, query_tags=held_csr(tags))
    return exact(problem)


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.sampled_from(KINDS), st.booleans(), st.booleans(), st.booleans())
def test_the_truth_stays(seed: int, kind: tuple[str, str], tagged: bool, rows: bool, columns: bool) -> None:
    """Exact answers on the data in disguise, mapped back, are exact answers on the data; noise in the queries too."""
    data = dataset(seed, *kind, tagged=tagged)
    search = Search(data.queries.count, K, filtered=tagged)
    noise = Noise(seed % 999, spread_of(data.base.open(), data.queries.vectors.open()))
    asked = replace(published(data, search), noise=noise)
    numbers = np.arange(search.queries)[::-1]
    plain_ids, plain = answers(data, *asked.take(numbers))
    with disguised(data, seed, rows=rows, columns=columns) as view:
        assert view.dataset.dtype == data.dtype
        assert view.dataset.base.shape == data.base.shape
        shown = view.asked(asked).take(numbers)
        ids, distances = answers(view.dataset, *shown)
        back = view.back(ids.astype(np.int64))
    exactly = kind[1] in ("uint8", "int8") and kind[0] != "angular"
    np.testing.assert_allclose(distances, plain, rtol=0 if exactly else 2e-5, atol=0 if exactly else 1e-5)
    if exactly:
        for one, other, line in zip(back, plain_ids, plain, strict=True):
            assert set(one[line < line.max()]) == set(other[line < line.max()])  # the last may be ties
    assert view.back(np.array([[-1, -2, 2**40, 10**6]])).tolist() == [[-1, -2, 2**40, 10**6]]


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.sampled_from(KINDS), st.booleans())
def test_rows_and_tags_stay_together(seed: int, kind: tuple[str, str], tagged: bool) -> None:
    """Row `i` that is seen is row `order[i]`, changed as queries are; so are its tags; CSR rows ascend; blocks do not
    matter, and the same seed makes the same bytes."""
    data = dataset(seed, *kind, tagged=tagged)
    with disguised(data, "a seed", columns=True) as view, pytest.MonkeyPatch.context() as patch:
        patch.setattr(disguise_files, "_BLOCK_BYTES", 64)
        with disguised(data, "a seed", columns=True) as again:
            assert fingerprint(view.dataset.base) == fingerprint(again.dataset.base)
            assert view.dataset.tags is None or fingerprint(view.dataset.tags) == fingerprint(again.dataset.tags)
        assert view.look is not None
        tags = data.tags.open()[view.order] if data.tags else None
        vectors, wanted = view.look.queries(data.base.open()[view.order], tags)
        shown = view.dataset.base.open()
        if isinstance(vectors, csr_matrix):
            assert (shown != vectors).nnz == 0
            assert csr_matrix((shown.data, shown.indices, shown.indptr), shown.shape).has_canonical_format
        else:
            np.testing.assert_array_equal(shown, vectors)
        if wanted is not None:
            assert (view.dataset.tags.open() != wanted).nnz == 0
        assert isinstance(view.dataset.learn, type(view.dataset.base))


def test_what_is_mirrored() -> None:
    """A byte is mirrored where that keeps distances, a signed number where its negative is there."""

    def mirrored(metric: str, dtype: str, *, edges: bool) -> tuple[bool, bool]:
        with disguised(dataset(5, metric, dtype, tagged=False, edges=edges), 3, columns=True) as view:
            return bool(view.look.vectors.mirrored.any()), view.look.vectors.within

    assert mirrored("euclidean", "uint8", edges=True) == (True, True)
    assert mirrored("ip", "uint8", edges=False) == (False, False)
    assert mirrored("angular", "int8", edges=False) == (True, False)
    assert mirrored("ip", "float32", edges=True) == (True, False)
    extreme = dataset(5, "ip", "int8", tagged=False)
    extreme = replace(extreme, base=held(np.full(extreme.base.shape, -128, dtype=np.int8)))
    with disguised(extreme, 3, columns=True) as view:
        assert not view.look.vectors.mirrored.any()


def test_nothing_is_left_and_nothing_is_told(own_cache: Path) -> None:
    data = dataset(1, "ip", "sparse", tagged=True)
    dead = own_cache / "scratch" / f"{2**22 + 1}-of-somebody-killed"
    dead.mkdir(parents=True)
    with disguised(data, "very secret", columns=True) as view:
        assert not dead.exists()
        assert isinstance(view.dataset.base, CsrRef)
        paths = [path for path in own_cache.rglob("*") if path.is_file()]
        assert view.dataset.base.indices.path in map(str, paths)
        assert not any(word in str(path) for path in paths for word in ("secret", "made", "disguise", "base"))
    assert not (own_cache / "scratch").exists()
    with pytest.raises(RuntimeError), disguised(data, 1):
        raise RuntimeError
    assert not (own_cache / "scratch").exists()
    assert cache_root() == own_cache


def test_a_full_disk_is_said_before_anything_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1))
    with (
        pytest.raises(StorageError, match=r"in disguise needs .* free some space"),
        disguised(dataset(1, "ip", "float32", tagged=False), 1),
    ):
        pytest.fail("there was no room")


def test_answers_within_a_radius_are_mapped_back() -> None:
    view = Disguise(dataset(1, "ip", "float32", tagged=False), np.array([2, 0, 1]))
    back = view.back(Ragged(np.array([0, 2, 3]), np.array([0, 7, 2])))
    assert (back.offsets.tolist(), back.ids.tolist()) == ([0, 2, 3], [2, 7, 1])


@pytest.mark.parametrize("by", ["rows", "both"])
def test_a_run_with_a_challenge(tmp_path: Path, by: str, capsys: pytest.CaptureFixture[str], own_cache: Path) -> None:
    place = Bench(tmp_path, tiny_dataset(tmp_path / "data"))
    entry = write_entry(tmp_path / "mine")
    assert place.run(entry, "--runs", "1") == 0
    assert "challenge" not in place.bundle().identity.fields
    capsys.readouterr()
    assert place.run(entry, "--runs", "1", "--challenge", "hush", "--challenge-by", by) == 0
    shown = capsys.readouterr().out
    changes = "rows+columns" if by == "both" else by
    assert f"on the data in disguise: {changes}" in shown
    assert "As published, and in disguise" in shown
    assert not (own_cache / "scratch").exists()
    (bundle,) = [one for one in place.bundles() if "challenge" in one.identity.fields]
    row = figures(bundle)
    assert (row.status, row.recall, row.recall_strict, row.control_recall) == ("ok", 1.0, 1.0, 1.0)
    assert row.challenge == changes
    assert "hush" not in str(bundle.identity.fields) + str(bundle.provenance)
    assert main(["verify", "--results", str(place.results)]) == 0
    assert main(["export", "--results", str(place.results), "--format", "json"]) == 0
    assert sorted(one["challenge"] for one in json_of(capsys.readouterr().out.partition("\n")[2])) == ["", changes]


def test_another_seed_is_another_measurement() -> None:
    one, other = (Challenge(seed).to_json() for seed in ("hush", "another"))
    assert one == Challenge("hush").to_json()
    assert one["seed_digest"] != other["seed_digest"]
    assert one != Challenge("hush", rows=False).to_json()


def test_queries_one_by_one(tmp_path: Path) -> None:
    place = Bench(tmp_path, tiny_dataset(tmp_path / "data"))
    assert place.run(write_entry(tmp_path / "mine"), "--runs", "1", "--mode", "latency", "--challenge", "hush") == 0
    row = figures(place.bundle())
    assert (row.recall_strict, row.control_recall, row.challenge) == (1.0, 1.0, "rows+columns")


@pytest.mark.docker
def test_in_a_container(tmp_path: Path, engine: Any) -> None:
    """The files of the disguise are all that the entry gets, and it may read them as somebody else."""
    place = Bench(tmp_path, tiny_dataset(tmp_path / "data"))
    before = os.umask(0o077)
    try:
        options = ("--runs", "1", "--cpus", "1", "--memory", "256m", "--sandbox", "docker", "--challenge", "hush")
        assert place.run(write_entry(tmp_path / "mine"), *options) == 0
    finally:
        os.umask(before)
    bundle = place.bundle()
    assert (bundle.identity["sandbox"], figures(bundle).recall_strict) == ("docker", 1.0)


def test_a_run_within_a_radius(tmp_path: Path) -> None:
    place = range_bench(tmp_path)
    assert place.run(range_entry(tmp_path / "mine"), "--runs", "1", "--challenge", "hush") == 0
    assert figures(place.bundle()).recall_strict == 1.0
    assert main(["verify", "--results", str(place.results)]) == 0


@pytest.mark.parametrize("columns", [True, False])
def test_a_stream_in_disguise(tmp_path: Path, columns: bool) -> None:
    """Inserts, deletes and replaces, filtered searches among them; other rows under each id."""
    data = prepare(find_manifest(str(tiny_dataset(tmp_path / "data")), "filtered"), "public")
    entry = entry_at(write_entry(tmp_path / "mine", STREAM), "filtered")
    common = setting(stream(), data, find_sandbox("process"), Options(challenge=Challenge("x", columns=columns)))
    kept = []
    with plan(common, [entry]).shown() as whole:
        (job,) = whole.jobs
        order = whole.setting.shown.order
        assert order is not None
        assert (order != np.arange(len(order))).mean() > 0.8
        measure(whole.setting, job, job.configs, ask_all(data, common.workload), kept.append)
    row = figures(kept[0])
    changes = "rows+columns" if columns else "rows"
    assert (kept[0].outcome.status, row.recall_strict, row.challenge) == (Status.OK, 1.0, changes)
    verify_steps(kept[0])


#: Recognises the published rows, and is of no use on any other.
KNOWS = """
def query(self, queries, k, tags=None):
    if self.base[:5].tolist() != FIRST:
        return np.full((len(queries), k), -1)
    return self.exact(queries, k, tags)
"""


def test_an_entry_that_knows_the_data_is_lost(tmp_path: Path) -> None:
    manifest = tiny_dataset(tmp_path / "data")
    first = prepare(find_manifest(str(manifest), "filtered"), "public").base.open()[:5].tolist()
    place = Bench(tmp_path, manifest)
    entry = write_entry(tmp_path / "mine", KNOWS, start=f"FIRST = {first}")
    assert place.run(entry, "--runs", "1") == 0
    assert figures(place.bundle()).recall == 1.0
    assert place.run(entry, "--runs", "1", "--challenge", "a") == 0
    assert sorted(figures(one).recall for one in place.bundles()) == [0.0, 1.0]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--challenge", " "), "needs a seed"),
        (("--challenge", "a", "--challenge-by", "signs"), "Invalid value"),
    ],
)
def test_bad_input(tmp_path: Path, options: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    place = Bench(tmp_path, tiny_dataset(tmp_path / "data"))
    assert place.run(write_entry(tmp_path / "mine"), *options) == 2
    assert text in capsys.readouterr().err
