"""Queries per second at a recall between two query configs, and the verdict that follows."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ann_bench.cli import main
from ann_bench.compare.matched import E, NotReachedError, at_recall, point
from ann_bench.compare.verdict import Side, compare
from ann_bench.errors import ResultError, UsageError
from ann_bench.results.model import Bundle, Status
from ann_bench.results.store import Store
from ann_bench.stats import Verdict
from tests.results import made

CURVE = [(0.80, 8000.0), (0.90, 4000.0), (0.97, 1500.0)]
SHAPE = (3, 5, 1)


def curve(name: str = "one", factor: float = 1.0, points=CURVE, **fields: Any) -> list[Bundle]:
    """An algorithm at rising effort, with three builds of five runs."""
    return [
        made.bundle(
            recall, factor * qps, algorithm=name, query={"effort": i}, seed=10 * len(name) + i, shape=SHAPE, **fields
        )
        for i, (recall, qps) in enumerate(points)
    ]


def side(label: str, bundles: list[Bundle]) -> Side:
    return Side(label, str(bundles[0].identity["algorithm"]), bundles)


def test_between_two_configs() -> None:
    points = [point(bundle) for bundle in curve()]
    low, high = points[1].figures, points[2].figures
    recall = 0.94
    share = math.log((1 + E - low.recall) / (1 + E - recall)) / math.log((1 + E - low.recall) / (1 + E - high.recall))
    matched = at_recall(points, recall, "one")
    assert matched.rates.shape == SHAPE[:2]
    assert np.allclose(np.log(matched.rates), (1 - share) * np.log(points[1].rates) + share * np.log(points[2].rates))
    assert '{"effort":1}' in matched.how and '{"effort":2}' in matched.how
    assert matched.exact and abs(matched.influence.sum()) < 1e-6


def test_a_beaten_config_plays_no_part() -> None:
    points = [point(bundle) for bundle in curve()]
    beaten = point(made.bundle(0.93, 500.0, query={"effort": 9}, seed=5, shape=SHAPE))
    assert np.array_equal(at_recall([*points, beaten], 0.94, "x").rates, at_recall(points, 0.94, "x").rates)


POINTS = [point(bundle) for bundle in curve()]


@given(recall=st.floats(0.5, 1.0))
def test_speed_falls_with_recall(recall: float) -> None:
    points = POINTS
    most = max(one.figures.recall for one in points)
    if recall > most:
        with pytest.raises(NotReachedError, match="does not reach"):
            at_recall(points, recall, "one")
        return
    here = np.median(at_recall(points, recall, "one").rates)
    more = np.median(at_recall(points, min(most, recall + 0.01), "one").rates)
    assert more <= here * 1.001
    assert points[2].figures.qps * 0.9 <= here <= points[0].figures.qps * 1.1


def test_a_recall_that_is_not_reached_names_the_nearest() -> None:
    with pytest.raises(
        NotReachedError, match=r"A \(one\) does not reach recall 0.99: its nearest is 0.9\d+ .*--recall 0.9"
    ) as e:
        compare(side("A", curve()), side("B", curve("two", points=[(1.0, 100.0)])), 0.99)
    assert e.value.exit_code == 2
    with pytest.raises(NotReachedError, match=r"B \(two\) does not reach") as e:
        compare(side("A", curve()), side("B", curve("two", points=[(0.9, 100.0)])), 0.95)
    assert e.value.exit_code == 1


def test_more_recall_than_asked_for_stands_in_and_is_told() -> None:
    found = compare(side("A", curve()), side("B", curve("exact", points=[(1.0, 183.0)])), 0.9)
    assert found.verdict is Verdict.SLOWER
    assert any("B (exact) has more recall than asked for" in note for note in found.notes)


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.3, Verdict.FASTER), (0.7, Verdict.SLOWER), (1.0, Verdict.CANNOT_TELL)]
)
def test_the_verdict(factor: float, verdict: Verdict) -> None:
    found = compare(side("A", curve()), side("B", curve("two", factor)), 0.93)
    assert found.verdict is verdict
    assert found.sure.low <= found.ratio.low <= found.ratio.value <= found.ratio.high <= found.sure.high
    assert found.ratio.low < factor * 1.05 and found.ratio.high > factor * 0.95
    assert found.fails(0.0) == (verdict is Verdict.SLOWER)
    assert not found.fails(0.5)


def test_one_run_has_no_interval() -> None:
    a, b = ([made.bundle(r, f * q, query={"e": r}, shape=(1, 1, 1)) for r, q in CURVE] for f in (1, 9))
    found = compare(side("A", a), side("B", b), 0.9)
    assert found.verdict is Verdict.CANNOT_TELL
    assert found.to_json()["ratio"]["low"] is None
    assert "one run of one build" in found.notes[0]


def test_what_keeps_two_apart() -> None:
    with pytest.raises(UsageError, match=r"`limits.memory_bytes` differs"):
        compare(side("A", curve()), side("B", curve(limits={"cpus": 2, "memory_bytes": 5})), 0.9)
    with pytest.raises(ResultError, match=r"B: two .* is crashed"):
        compare(side("A", curve()), side("B", [made.failed(Status.CRASHED, algorithm="two")]), 0.9)


def test_a_drift_that_both_have_cancels_where_they_were_measured_in_turn() -> None:
    """With runs in turn the ratio is sure; apart, the same numbers could be anything."""
    drift = np.linspace(1.0, 3.0, 15).reshape(3, 5, 1)
    a, b = (
        [dataclasses.replace(one, seconds=one.seconds * drift) for one in curve("one", factor)] for factor in (1, 1.1)
    )
    apart = compare(side("A", a), side("B", b), 0.93)
    assert apart.verdict is Verdict.CANNOT_TELL
    in_turn = [
        [dataclasses.replace(one, provenance={**one.provenance, "pair": "x"}) for one in bundles] for bundles in (a, b)
    ]
    paired = compare(side("A", in_turn[0]), side("B", in_turn[1]), 0.93)
    assert paired.paired and not apart.paired
    assert paired.verdict is Verdict.FASTER


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    for name, factor in (("a", 1.0), ("b", 0.7)):
        store = Store(tmp_path / name)
        for bundle in [*curve("one", factor), *curve("two", 1.0)]:
            store.write(bundle)
    return [str(tmp_path / "a"), str(tmp_path / "b")]


def test_two_folders(folders: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *folders, "--recall", "0.93"]) == 1
    shown = capsys.readouterr().out
    assert "B (one) is slower than A (one): 0.7" in shown
    assert "cannot tell B (two) from A (two): 1.000 x" in shown
    assert main(["compare", *folders, "--recall", "0.93", "--at-most", "50%"]) == 0
    assert main(["compare", *reversed(folders), "--recall", "0.93"]) == 0
    assert "B (one) is faster" in capsys.readouterr().out
    assert main(["compare", *folders, "--recall", "0.93", "--algorithm", "two", "--json"]) == 0
    (only,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert only["verdict"] == "cannot tell" and only["a"]["algorithm"] == "two"


def test_markdown(folders: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *folders, "--recall", "0.93", "--format", "markdown"]) == 1
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 4 and len({row.replace("\\|", "").count("|") for row in rows}) == 1
    assert "**slower**" in rows[2] and "**cannot tell**" in rows[3]
    assert main(["compare", *folders, "--recall", "0.99", "--format", "markdown"]) == 2
    assert "does not reach recall 0.99" in capsys.readouterr().out


def test_wrong_usage(folders: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in [
        (["compare", folders[0]], "name two"),
        (["compare", folders[0], "exact"], "a folder of results and the other is not"),
        (["compare", *folders, "--history", folders[0]], "--history goes without"),
        (["compare", *folders, "--at-most", "x"], "is no share"),
        (["compare", *folders, "--algorithm", "none"], "no results of none"),
        (["compare", *folders, "--recall", "0.999"], "does not reach"),
        (["compare", "nobody-1", "nobody-2"], "unknown algorithm"),
    ]:
        assert main(arguments) == 2
        assert said in capsys.readouterr().err.splitlines()[-1]
