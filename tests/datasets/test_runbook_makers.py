"""Made runbooks: each passes the parser, at every size, and has the shape that it is named for."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ann_bench.datasets.makers import Order, Part, find_maker, makers
from ann_bench.datasets.makers.book import Dice, cluster_ranges
from ann_bench.datasets.manifest import Make, Manifest
from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest, list_manifests
from ann_bench.datasets.runbook import read_runbook
from ann_bench.errors import UsageError
from ann_bench.tracks import find_track
from ann_bench.workload import Delete, Insert, Replace, Search, Workload
from tests.support import tiny_dataset

PART = Part("runbook", "file")
SHAPES = [maker.name for maker in makers() if maker.name.startswith("runbook-")]

#: sha256 of the runbooks over 1,000 rows, seed 1, other arguments as they stand. They must never change.
PINNED = {
    "runbook-clustered": "f603f3b85b33381f5a79d838ebce70210c7b2b5e81894b1b9c24e9d1f4b2477f",
    "runbook-expiration-time": "6d4a7d33c57715ec0368e599e173a567aec073b33bbd17671111910875d84d94",
    "runbook-replace": "725489590fdfdb8face56f8ab26a994f06d8a7e1dd3086f2760229e10b3d33b5",
    "runbook-rounds": "ada6bb7cc5aa0b62cd839068eeafa7d570ce13b3848df928667cac5d75fa2c19",
    "runbook-sliding-window": "8031f433b3636c3844cd3234b10f2304888d36a12cde72c2e80e24f573478268",
}


def text(generator: str, **arguments: Any) -> str:
    maker = find_maker(generator)
    checked = maker.arguments(Make(generator=generator, **{"seed": 1, "rows": 1000, **arguments}))
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "book.yaml"
        maker.write(Order(PART, checked, lambda part: target, dataset="tiny"), target)
        assert target.stat().st_size <= maker.size(PART, checked)
        return target.read_text()


def made(generator: str, **arguments: Any) -> Workload:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "book.yaml"
        path.write_text(text(generator, **arguments))
        return read_runbook(path, "tiny", arguments.get("rows", 1000), Search(1, 1))


def count(workload: Workload, kind: type[Any]) -> int:
    return sum(isinstance(op, kind) for op in workload.operations)


def points(workload: Workload, kind: type[Any]) -> int:
    return sum(len(op.ids) for op in workload.operations if isinstance(op, kind))


def most(workload: Workload) -> int:
    live = high = 0
    for op in workload.operations:
        live += len(op.ids) if isinstance(op, Insert) else -len(op.ids) if isinstance(op, Delete) else 0
        high = max(high, live)
    return high


def test_the_bytes_are_pinned() -> None:
    assert {name: hashlib.sha256(text(name).encode()).hexdigest() for name in SHAPES} == PINNED


CLUSTERS = st.fixed_dictionaries({"clusters": st.integers(1, 40), "sizes": st.sampled_from(["equal", "zipf"])})
OPTIONS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "runbook-clustered": CLUSTERS,
    "runbook-rounds": CLUSTERS.flatmap(
        lambda d: st.tuples(st.integers(0, 100), st.integers(0, 100)).map(lambda p: {**d, "delete": sorted(p)})
    ),
    "runbook-replace": CLUSTERS.flatmap(
        lambda d: st.sampled_from(["same", "random"]).map(lambda s: {**d, "source": s})
    ),
    "runbook-sliding-window": st.integers(2, 40).flatmap(
        lambda steps: st.fixed_dictionaries({"steps": st.just(steps), "window": st.integers(1, steps - 1)})
    ),
    "runbook-expiration-time": st.fixed_dictionaries(
        {
            "steps": st.integers(2, 40),
            "lifetimes": st.tuples(st.integers(1, 50), st.integers(1, 9)),
            "weights": st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 9)),
            "delete": st.booleans(),
            "replace": st.booleans(),
        }
    ),
}


def test_every_shape_is_tried() -> None:
    assert OPTIONS.keys() == PINNED.keys() == set(SHAPES)


@pytest.mark.parametrize("generator", SHAPES)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_every_made_runbook_passes_the_parser(generator: str, data: st.DataObject) -> None:
    rows = data.draw(st.one_of(st.integers(1, 30), st.integers(1, 5000)))
    options = {"rows": rows, "seed": data.draw(st.integers(0, 2**63 - 1)), **data.draw(OPTIONS[generator])}
    workload = made(generator, **options)
    assert 1 <= most(workload) == workload.max_points <= rows
    assert len(made(generator, **options, searches=1).searches) == 1


def test_rounds_have_the_shape_of_the_competition() -> None:
    workload = made("runbook-rounds", rows=1_000_000, sizes="zipf")
    assert len(workload.operations) == 1280
    assert (count(workload, Insert), count(workload, Delete), len(workload.searches)) == (320, 320, 640)
    assert points(workload, Insert) == 1_000_000
    assert 0.9 < points(workload, Delete) / 1_000_000 < 0.95  # 0.921 in the original
    assert 0.3 < workload.max_points / 1_000_000 < 0.37  # 0.343 in the original
    assert all(isinstance(op, Search) == bool(at % 2) for at, op in enumerate(workload.operations))


def test_searches_are_thinned_evenly_and_the_last_one_stays() -> None:
    workload = made("runbook-rounds", rows=100_000, searches=32)
    assert len(workload.searches) == 32
    assert len(workload.operations) == 640 + 32
    places = [at for at, op in enumerate(workload.operations) if isinstance(op, Search)]
    assert set(np.diff(places).tolist()) == {21}
    assert places[-1] == len(workload.operations) - 1
    with pytest.raises(ValueError, match="at most 640 fit into this runbook, found 641"):
        made("runbook-rounds", searches=641)


def test_a_window_slides() -> None:
    workload = made("runbook-sliding-window", rows=10_000)
    assert (count(workload, Insert), count(workload, Delete), len(workload.searches)) == (200, 100, 100)
    assert (workload.max_points, points(workload, Delete)) == (5_000, 5_000)


def test_blocks_expire() -> None:
    plain = made("runbook-expiration-time", rows=100_000)
    assert points(plain, Insert) == 100_000
    assert 0.6 < points(plain, Delete) / 100_000 < 0.95
    assert count(plain, Replace) == 0
    only = made("runbook-expiration-time", rows=100_000, replace=True, delete=False)
    assert count(only, Delete) == 0
    assert points(only, Replace) > 10_000
    both = made("runbook-expiration-time", rows=100_000, replace=True)
    assert points(both, Delete) > 30_000
    assert points(both, Replace) > 10_000


def test_replaces_take_the_rest_of_a_cluster() -> None:
    same = made("runbook-replace", rows=64_000)
    ranges = cluster_ranges(64_000, 64, "equal")
    for op in same.operations:
        if isinstance(op, Replace):
            assert op.ids.start // 1000 == op.rows.start // 1000
            assert op.ids.start == ranges[op.ids.start // 1000].start
    other = made("runbook-replace", rows=64_000, source="random")
    far = [op for op in other.operations if isinstance(op, Replace) and op.ids.start // 1000 != op.rows.start // 1000]
    assert len(far) > 50


@given(st.integers(0, 100_000), st.integers(1, 300), st.sampled_from(["equal", "zipf"]))
def test_clusters_cover_all_rows(rows: int, clusters: int, sizes: Any) -> None:
    ranges = cluster_ranges(rows, clusters, sizes)
    assert len(ranges) == clusters
    assert [i for part in ranges for i in part] == list(range(rows))


def test_shares_follow_their_distribution() -> None:
    dice = Dice("test")
    weights = (100, 15, 10, 5, 3)
    drawn = np.array([dice.dirichlet(weights) for _ in range(3000)], dtype=float) / 2**64
    mean = np.array(weights) / 133
    assert drawn.sum(axis=1) == pytest.approx(1)
    assert drawn.mean(axis=0) == pytest.approx(mean, abs=0.003)
    assert drawn.std(axis=0) == pytest.approx(np.sqrt(mean * (1 - mean) / 134), rel=0.06)
    assert sorted(dice.shuffled(9)) == list(range(9))
    assert {dice.share(100, 50, 52) for _ in range(99)} == {50, 51}


def test_a_manifest_names_a_made_runbook(tmp_path: Path) -> None:
    make = {"generator": "runbook-rounds", "seed": 3, "rows": 300, "clusters": 4, "searches": 7}
    manifest = tiny_dataset(tmp_path / "data", tracks=["streaming"], runbook={"make": make})
    dataset = prepare(find_manifest(str(manifest), "streaming"))
    workload = find_track("streaming").workload(dataset, 10)
    assert len(workload.searches) == 7
    assert points(workload, Insert) == 300


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"generator": "runbook-round"}, "did you mean"),
        ({"cluster": 3}, "unknown key 'cluster' for generator runbook-rounds; did you mean 'clusters'"),
        ({"clusters": 0}, "clusters for generator runbook-rounds: input should be greater"),
        ({"delete": [90, 50]}, "percent from the least to the most"),
        ({"generator": "runbook-sliding-window", "steps": 5, "window": 5}, "fewer than the 5 steps"),
        ({"generator": "runbook-expiration-time", "weights": [0, 0, 0]}, "not all 0"),
        ({"generator": "runbook-expiration-time", "lifetimes": [0, 5]}, "lifetimes: steps from 1 on"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="runbook") as caught:
        Make.model_validate({"generator": "runbook-rounds", "seed": 1, "rows": 100, **arguments})
    assert message in str(caught.value)


def test_a_shape_is_no_data_set() -> None:
    with pytest.raises(UsageError, match="unknown data set"):
        find_manifest("runbook-rounds-1000")
    assert not [known for known in list_manifests() if known.name.startswith("runbook-")]
    with pytest.raises(UsageError, match="makes runbooks, no data sets"):
        find_maker("runbook-rounds").manifest_of("runbook-rounds-1000", 1000)
    make = {"make": {"generator": "runbook-rounds", "seed": 1, "rows": 9}}
    body = {"base": {"vectors": make}, "queries": {"public": {"vectors": make}}}
    manifest = Manifest.model_validate({"name": "mine", "tracks": ["dense"], "metric": "euclidean", **body})
    with pytest.raises(UsageError, match=r"makes runbooks, not base.vectors"):
        prepare(manifest)
