"""Percentiles of latencies compared, and modes and challenges by the real command."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest

from ann_bench.cli import main
from ann_bench.compare.figure import PERCENTILES, QPS, influence
from ann_bench.compare.summary import markdown, sentence
from ann_bench.compare.verdict import Side, compare
from ann_bench.compare.wanted import Wanted
from ann_bench.errors import UsageError
from ann_bench.results.model import Bundle
from ann_bench.results.store import Store
from ann_bench.stats import LEVEL, VERDICT_LEVEL, Verdict
from ann_bench.stats.goal import levels
from tests.results import made
from tests.support import bench, write_entry


def single(recall: float, seconds: float, *, queries: int = 1000, mode: str = "latency", seed: int = 0) -> Bundle:
    """One query config whose queries take about so long each, in three builds of three runs."""
    shape = (3, 3, 1)
    one = made.bundle(recall, 1 / seconds, shape=shape, queries=queries, mode={"kind": mode}, query={"n": recall})
    asks, rng = made.asks(one, seconds), np.random.default_rng(seed)
    hard = np.random.default_rng(1).lognormal(0, 0.5, queries)  # the same queries are hard for everybody
    took = seconds * hard * rng.lognormal(0, 0.05, (*shape[:2], queries)) * rng.lognormal(0, 0.01, (*shape[:2], 1))
    return dataclasses.replace(one, asks=dataclasses.replace(asks, answered=asks.due + took))


def side(label: str, factor: float = 1.0, **fields: int) -> Side:
    bundles = [
        single(r, factor * s, seed=len(label) + i, **fields) for i, (r, s) in enumerate([(0.9, 1e-3), (0.98, 3e-3)])
    ]
    return Side(label, "one", bundles)


def test_the_figure_follows_from_the_mode() -> None:
    latency, batch = side("A"), Side("A", "one", [made.bundle()])
    assert Wanted(0.95).questions(latency, latency) == [(0.95, PERCENTILES["p99"])]
    assert Wanted(0.95, "p50").questions(latency, latency) == [(0.95, PERCENTILES["p50"])]
    assert Wanted(0.95).questions(batch, batch) == [(0.95, QPS)]
    with pytest.raises(UsageError, match="cannot be compared by p50; by qps; latencies need --mode latency"):
        Wanted(0.95, "p50").questions(batch, batch)


def test_what_was_stopped_when_it_looked_certain_takes_more_certainty() -> None:
    plain, stopped = (
        [
            Side(name, "one", [made.bundle(0.95, 1000, shape=(5, 3, 1), seed=seed, **fields)])
            for seed, name in enumerate("AB")
        ]
        for fields in ({}, {"until": 0.02})
    )
    usual, strict = compare(*plain, 0.9), compare(*stopped, 0.9)
    assert (usual.certainty, strict.certainty) == ((LEVEL, VERDICT_LEVEL), levels(stopped=True))
    assert strict.sure.width > usual.sure.width and strict.ratio.width > usual.ratio.width
    assert strict.levels[0].width > usual.levels[0].width
    assert "99.7 % interval" in sentence(strict) and "99.5 % interval" in sentence(usual)
    assert "| 99.5 % or 99.7 % interval |" in markdown([usual, strict], [])


def test_less_latency_is_faster() -> None:
    found = compare(side("A"), side("long B", 1.3), 0.95, PERCENTILES["p50"])
    assert found.verdict is Verdict.SLOWER and found.ratio.value == pytest.approx(1.3, rel=0.05)
    assert found.fails(0.2) and not found.fails(0.3)
    assert compare(side("long B", 1.3), side("A"), 0.95, PERCENTILES["p50"]).verdict is Verdict.FASTER
    same = compare(side("A"), side("long B"), 0.95, PERCENTILES["p99"])
    assert same.verdict is Verdict.CANNOT_TELL and same.sure.low < 1 < same.sure.high
    low, high = found.levels
    assert (
        low.value == pytest.approx(found.a.points(PERCENTILES["p50"])[0].value * 3**0.4, rel=0.25)
        and high.value > low.value
    )


def test_so_high_a_percentile_takes_more_queries() -> None:
    few = compare(side("A", queries=200), side("long B", queries=200), 0.95, PERCENTILES["p99"])
    assert few.verdict is Verdict.CANNOT_TELL and not math.isfinite(few.sure.low)
    assert "too few queries" in few.notes[0]
    assert math.isfinite(compare(few.a, few.b, 0.95, PERCENTILES["p50"]).sure.low)


@pytest.mark.parametrize("share", [0.5, 0.99])
def test_the_influence_of_queries_gives_the_spread_of_a_percentile(share: float) -> None:
    """What it says of one sample of queries is how percentiles of many samples differ."""
    rng = np.random.default_rng(3)
    samples = rng.lognormal(0, 0.7, (300, 4000))
    spread = float(np.std(np.log(np.quantile(samples, share, axis=1))))
    said = [float(np.std(influence([one], share))) / math.sqrt(4000) for one in samples[:40]]
    assert float(np.median(said)) == pytest.approx(spread, rel=0.25)


def test_a_mode_and_a_challenge_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = bench(tmp_path)
    slow = "def query(self, queries, k, tags=None):\n    import time\n    time.sleep(0.004)\n"
    slow += "    return self.exact(queries, k, tags)"
    entries = [write_entry(tmp_path / name / "mine", body) for name, body in (("v1", ""), ("v2", slow))]
    words = ["--dataset", str(place.manifest), "--builds", "2", "--runs", "4", "--memory", "1g", "--recall", "1"]
    words += ["--mode", "latency", "--figure", "p50", "--challenge", "secret", "--results", str(tmp_path / "pair")]
    assert main(["compare", *map(str, entries), *words, "--json"]) in (0, 1)
    (only,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert (
        only["figure"] == "p50" and only["paired"] and only["ratio"]["value"] > 2 and only["b"]["p50"]["value"] > 0.004
    )
    ((bundle,), _), _ = (Store(tmp_path / "pair" / name).load() for name in "ab")
    assert bundle.control is not None and bundle.identity["mode"] == {"kind": "latency"}
    assert bundle.identity["challenge"]["changes"] == "rows+columns"
    assert main(["verify", "--results", str(tmp_path / "pair" / "a"), "--results", str(tmp_path / "pair" / "b")]) == 0
