"""Recall over the queries, and how long they wait: what is drawn follows from raw answers, times and the cache."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ann_bench.cli import main
from ann_bench.report.operating import nearest
from ann_bench.report.palette import styles_over
from ann_bench.report.pareto import pictures
from ann_bench.report.slices import slice_scatters
from ann_bench.report.waiting import latency_scatters, load_scatters
from ann_bench.results.figures import figures
from ann_bench.results.model import Bundle
from ann_bench.results.store import Store
from ann_bench.truth import kept
from ann_bench.truth.dimension import local_dimension
from tests.results import made

KEY = "7a" * 32
QUERIES = 200


def filtered(hits: np.ndarray, name: str = "a", **fields: object) -> Bundle:
    """A result with one run in which each query found so many of ten."""
    one = made.bundle(algorithm=name, queries=QUERIES, shape=(1, 1, 1), metric="euclidean", **fields)
    return dataclasses.replace(one, scores=(made.score(hits, np.full(QUERIES, 10)),), truths=(KEY,))


def keep(cache: Path, rows: np.ndarray, distances: np.ndarray | None = None) -> None:
    folder = cache / "truth"
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / f"{KEY}.matching.npy", rows)
    if distances is not None:
        part = kept.Part(folder / f"{KEY}.truth", kept.Outline(KEY, ((KEY, QUERIES, 10),)), ((0,),))
        part.write(kept.Block(0, 0, QUERIES), [(0, np.zeros((QUERIES, 10), np.int32), distances)])
        part.finish()


def test_recall_by_selectivity(own_cache: Path) -> None:
    rows = np.repeat([2, 200, 9000], [40, 60, 100])  # of 20,000
    keep(own_cache, rows)
    hits = np.repeat([10, 5, 8], [40, 60, 100])
    bundle = filtered(hits)
    (scatter,) = slice_scatters([figures(bundle)], "selectivity", lambda one: bundle)
    xs, ys = zip(*scatter.points["a"], strict=True)
    assert xs == pytest.approx((1e-4, 0.01, 0.45))
    assert ys == pytest.approx((1, 0.5, 0.8))
    (band,) = scatter.bands
    assert [count for _, _, count in band.bars] == [40, 60, 100], "all queries, each in one bucket"
    assert all(low <= x < high for (low, high, _), (x, _) in zip(band.bars, scatter.points["a"], strict=True))
    assert scatter.notes["a"] == f"({hits.sum() / 10 / QUERIES:.3f})"


def test_queries_without_an_answer_or_a_known_filter_are_left_out(own_cache: Path) -> None:
    keep(own_cache, np.repeat([0, 50, 5000], [40, 60, 100]))
    bundle = filtered(np.full(QUERIES, 9))
    (scatter,) = slice_scatters([figures(bundle)], "selectivity", lambda one: bundle)
    assert [count for _, _, count in scatter.bands[0].bars] == [60, 100]
    keep(own_cache, np.full(QUERIES, 77))
    assert slice_scatters([figures(bundle)], "selectivity", lambda one: bundle) == [], "all alike"
    assert slice_scatters([figures(bundle)], "selectivity", lambda one: None) == [], "the bundle is gone"
    (own_cache / "truth" / f"{KEY}.matching.npy").unlink()
    assert slice_scatters([figures(bundle)], "selectivity", lambda one: bundle) == [], "the cache does not know"


def test_recall_by_difficulty(own_cache: Path) -> None:
    dimension = np.geomspace(2, 60, QUERIES)
    distances = np.arange(1, 11)[None, :] ** (2 / dimension[:, None])  # squared; within r are r ** dimension rows
    keep(own_cache, np.full(QUERIES, 20_000), distances)
    easy = np.where(np.arange(QUERIES) < 100, 10, 4)
    bundle = filtered(easy)
    (scatter,) = slice_scatters([figures(bundle)], "difficulty", lambda one: bundle)
    xs, ys = zip(*scatter.points["a"], strict=True)
    assert ys == pytest.approx((1, 1, 1, 1, 0.4, 0.4, 0.4, 0.4))
    assert list(xs) == sorted(xs)
    assert "Queries in a group: 25." in scatter.caption
    product = filtered(easy, track="ood")
    product = dataclasses.replace(product, identity=made.identity(**{**product.identity.fields, "metric": "ip"}))
    assert slice_scatters([figures(product)], "difficulty", lambda one: product) == [], "no distance"


@given(st.floats(1, 80), st.integers(6, 40), st.floats(1e-3, 1e3))
def test_the_dimension_of_a_ball(dimension: float, k: int, scale: float) -> None:
    radii = scale * (np.arange(1, k + 1) / k) ** (1 / dimension)
    (found,) = local_dimension(radii[None, :])
    expected = -(k - 1) / (np.log(np.arange(1, k) / k).sum() / dimension)
    assert found == pytest.approx(expected)
    padded = np.concatenate((radii, [np.inf, np.inf]))
    assert local_dimension(padded[None, :])[0] == pytest.approx(expected), "rows that are not there say nothing"
    assert np.isnan(local_dimension(np.full((1, k), scale))).all(), "all as far away"
    assert np.isnan(local_dimension(radii[None, :5])).all(), "too few"


def test_the_nearest_operating_point() -> None:
    found = [
        figures(made.bundle(recall, 1000 * n, algorithm="a", query={"n": n}, queries=2000, seed=n))
        for n, recall in enumerate((0.7, 0.89, 0.99), start=1)
    ]
    (picture,) = pictures(found)
    assert nearest(picture)["a"].query == '{"n":2}'


def single(name: str, rate: float | None, seconds: float, query: int = 1, recall: float = 0.9) -> Bundle:
    mode = {"kind": "latency"} if rate is None else {"kind": "load", "rate": rate}
    one = made.bundle(recall, algorithm=name, mode=mode, query={"ef": query}, queries=QUERIES, shape=(1, 1, 1))
    asks = made.asks(one, seconds, rate=rate or np.nan)
    due = np.arange(QUERIES) / (rate or 1000) + np.zeros((1, 1, 1))
    answered = due + (asks.answered - asks.due)
    return dataclasses.replace(one, asks=dataclasses.replace(asks, due=due, sent=due, answered=answered))


def test_latencies_by_share() -> None:
    bundle = single("a", None, 0.002)
    (scatter,) = latency_scatters([figures(bundle)], lambda one: bundle)
    assert bundle.asks is not None
    times = np.sort((bundle.asks.answered - bundle.asks.due).ravel())
    for x, y in scatter.points["a"]:
        assert y == pytest.approx(1e3 * np.quantile(times, 1 - 1 / x, method="inverted_cdf"))
    assert scatter.points["a"][-1][0] == QUERIES, "no percentile that rests on less than one query"
    assert scatter.name == "filtered-debian-20k-latency-percentiles"


def test_rates_of_one_config_share_a_picture() -> None:
    bundles = [single("a", rate, 0.001 * step, recall=0.91) for step, rate in ((1, 500.0), (2, 1000.0), (4, 2000.0))]
    bundles += [single("a", 500.0, 0.001, query=2, recall=0.9), single("b", 1000.0, 0.003)]
    (scatter,) = load_scatters([figures(one) for one in bundles], lambda one: None)
    assert scatter.name == "filtered-debian-20k-load-rates"
    assert [x for x, _ in scatter.points["a"]] == [500, 1000, 2000], "the config of the most rates"
    assert [y for _, y in scatter.points["a"]] == sorted(y for _, y in scatter.points["a"])
    assert [x for x, _ in scatter.points["b"]] == [1000]
    (band,) = scatter.bands
    assert all(p50 < p99 for (_, p50), (_, p99) in zip(band.points["a"], scatter.points["a"], strict=True))


def test_a_style_is_the_same_in_all_pictures() -> None:
    groups = [["a", "b", "c"], ["c", "d", "e"], ["e", "f", "a"], [f"n{i}" for i in range(20)]]
    found = styles_over(groups)
    for group in groups[:3]:
        assert len({found[name].colour for name in group}) == len({found[name].marker for name in group}) == 3
        assert len({found[name].dashes for name in group}) == 3, "apart in black and white"
    assert styles_over(reversed([reversed(group) for group in groups])) == found


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--kind", "selectivity"], "searches with filters"),
        (["--kind", "difficulty"], "ann-bench truth"),
        (["--kind", "latency"], "--mode latency"),
        (["--kind", "load"], "at several rates"),
        (["--kind", "scaling"], "differ in their size only"),
        (["--kind", "speed"], "unknown kind of plot 'speed'"),
        (["--style", "grey"], "unknown style 'grey'"),
        (["--width", "poster"], "unknown width 'poster'"),
        (["--at-qps", "5"], "leave it out"),
        (["--mode", "load"], "is of --mode load"),
    ],
)
def test_what_cannot_be_drawn_is_said(
    arguments: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Store(tmp_path / "results").write(made.bundle(0.95))
    assert main(["plot", "--results", str(tmp_path / "results"), "--output", str(tmp_path / "p"), *arguments]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert line in said
    assert not (tmp_path / "p").exists()


def test_pictures_of_queries_from_the_command(
    own_cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(own_cache, np.repeat([2, 200, 9000], [40, 60, 100]))
    store = Store(tmp_path / "results")
    for number, name in enumerate("ab"):
        store.write(filtered(np.repeat([10, 5 + number, 9], [40, 60, 100]), name))
    places = ["--results", str(store.folder), "--output", str(tmp_path / "p"), "--format", "svg"]
    assert main(["plot", *places, "--kind", "selectivity", "--style", "dark"]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path / "p" / "filtered-debian-20k-selectivity-dark.svg")]
