"""Names, paths and patterns to manifests."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ann_bench.datasets.cache import cache_folder, cache_root, name_with_hash
from ann_bench.datasets.home import home
from ann_bench.datasets.makers.maker import parse_count, show_count
from ann_bench.datasets.registry import find_manifest, list_manifests
from ann_bench.errors import UsageError


def body(name: str, tracks: str) -> str:
    return (
        f"name: {name}\ntracks: [{tracks}]\nmetric: ip\nbase: {{vectors: {{file: a.npy}}}}\n"
        "queries: {public: {vectors: {file: b.npy}}}\n"
    )


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ANN_BENCH_HOME", str(tmp_path))
    (tmp_path / "datasets").mkdir()
    return tmp_path / "datasets"


def test_by_name_and_track(own_home: Path) -> None:
    (own_home / "a.yaml").write_text(body("one", "filtered"))
    (own_home / "b.yaml").write_text(body("one", "dense, ood"))
    assert find_manifest("one", "ood").origin == own_home / "b.yaml"
    assert find_manifest("one", "filtered").origin == own_home / "a.yaml"
    with pytest.raises(UsageError, match="'one' is not for track 'sparse': it is for dense, filtered, ood"):
        find_manifest("one", "sparse")
    with pytest.raises(UsageError, match="several manifests: name the track: dense, filtered, ood"):
        find_manifest("one")
    with pytest.raises(UsageError, match="unknown data set 'onne': did you mean 'one'"):
        find_manifest("onne")


def test_by_path(own_home: Path, tmp_path: Path) -> None:
    path = tmp_path / "elsewhere.yml"
    path.write_text(body("mine", "filtered"))
    assert find_manifest(str(path)).name == "mine"
    with pytest.raises(UsageError, match="'mine' is not for track 'ood': it is for filtered"):
        find_manifest(str(path), "ood")
    with pytest.raises(UsageError, match=r"none\.yaml: cannot be read"):
        find_manifest("none.yaml")


def test_one_name_and_track_twice(own_home: Path) -> None:
    (own_home / "a.yaml").write_text(body("one", "filtered, dense"))
    (own_home / "b.yaml").write_text(body("one", "dense"))
    (own_home / "c.yaml").write_text(body("other", "dense"))
    for ask in (lambda: find_manifest("one", "filtered"), list_manifests):
        with pytest.raises(UsageError, match=r"a\.yaml and .*b\.yaml: both are 'one' for track dense: rename"):
            ask()
    assert find_manifest("other").name == "other"


def test_a_broken_manifest_stops_only_its_own_name(own_home: Path, caplog: pytest.LogCaptureFixture) -> None:
    (own_home / "good.yaml").write_text(body("good", "dense"))
    (own_home / "bad.yaml").write_text("name: bad\n")
    (own_home / "also.yaml").write_text("name: not so good\n")
    with caplog.at_level(logging.WARNING):
        assert find_manifest("good").name == "good"
    assert "also.yaml" in caplog.text  # it might have been the one
    assert "bad.yaml" not in caplog.text
    with pytest.raises(UsageError, match=r"bad\.yaml"):
        find_manifest("bad")
    with pytest.raises(UsageError, match=r"also\.yaml"):
        list_manifests()


def test_the_list(own_home: Path) -> None:
    (own_home / "a.yaml").write_text(body("one", "dense"))
    known = {item.name: item for item in list_manifests()}
    assert known["one"].tracks == ("dense",)
    assert known["one"].source == str(own_home / "a.yaml")
    assert known["yfcc-like-<N>"].source == "made here by yfcc-like"


def test_made_ones(own_home: Path) -> None:
    assert find_manifest("yfcc-like-8.8M", "filtered").name == "yfcc-like-8.8M"
    assert find_manifest("yfcc-like-100000").name == find_manifest("yfcc-like-0.1M").name == "yfcc-like-100k"
    assert find_manifest("yfcc-like-10M") == find_manifest("yfcc-like-10000k")
    with pytest.raises(UsageError, match="'yfcc-like-1M' is not for track 'ood': it is for filtered"):
        find_manifest("yfcc-like-1M", "ood")
    for name in ("yfcc-like-", "yfcc-like-many", "yfcc-like--5", "yfcc-like-0", "yfcc-like-1.0001k"):
        with pytest.raises(UsageError, match="did you mean 'yfcc-like-<N>'"):
            find_manifest(name)
    with pytest.raises(UsageError, match="between 100 and"):
        find_manifest("yfcc-like-10")


@given(st.integers(1, 10**11))
def test_counts(count: int) -> None:
    assert parse_count(show_count(count)) == count
    assert parse_count(str(count)) == count


def test_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANN_BENCH_HOME", raising=False)
    assert (home() / "algorithms").is_dir()
    monkeypatch.setenv("ANN_BENCH_HOME", str(tmp_path))
    assert home() == tmp_path
    monkeypatch.delenv("ANN_BENCH_CACHE")
    assert cache_root() == tmp_path / "datasets" / "cache"
    monkeypatch.setenv("ANN_BENCH_CACHE", str(tmp_path / "c"))
    assert cache_folder("one") == tmp_path / "c" / "one"


@given(st.text(max_size=200), st.text(), st.text())
def test_cache_names(name: str, one: str, other: str) -> None:
    made = name_with_hash(name, one)
    assert made not in ("", ".", "..")
    assert "/" not in made
    assert not made.startswith(".")
    assert len(made) < 150
    assert (made == name_with_hash(name, other)) == (one == other)


def test_suffixes_stay_last() -> None:
    assert name_with_hash("base.csr.gz", 1).endswith(".csr.gz")
    assert name_with_hash("base.10M.u8bin", 1).startswith("base.10M.")
    assert name_with_hash("GT", 1).startswith("GT.")
