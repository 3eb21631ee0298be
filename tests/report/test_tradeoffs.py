"""What speed costs, and how it falls with size."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ann_bench.report.tradeoffs import Goal, cost_scatters, scaling_scatters, slope
from ann_bench.results.figures import Figures, figures
from ann_bench.results.model import Step
from tests.results import made


def result(name: str, qps: float, recall: float = 0.95, rows: int = 20_000, **more: Any) -> Figures:
    bundle = made.bundle(recall, qps, algorithm=name, **more)
    data = {**bundle.provenance["data"], "rows": rows}
    return figures(dataclasses.replace(bundle, provenance={**bundle.provenance, "data": data}))


def test_the_ranked_operating_point_is_drawn() -> None:
    found = [result("a", 9000, 0.5), result("a", 1000, query={"ef": 2}), result("b", 10, 0.5)]
    (scatter,) = cost_scatters(found, "build")
    ((x, y),) = scatter.points["a"]
    assert (x, y) == (found[1].build_seconds, found[1].qps)
    assert "b" not in scatter.points, "it does not reach the track's recall"
    (memory,) = cost_scatters(found, "memory")
    assert memory.points["a"][0][0] == pytest.approx(412 / 1024)


def test_recall_at_a_speed() -> None:
    found = [result("a", 9000, 0.5), result("a", 1000, query={"ef": 2}), result("b", 10, 0.99)]
    for speed, recalls in ((5000, {"a": found[0].recall}), (500, {"a": found[1].recall})):
        (scatter,) = cost_scatters(found, "build", Goal(speed))
        assert {name: y for name, ((_, y),) in scatter.points.items()} == recalls
        assert scatter.y.label == f"recall@10 at >= {speed:,} queries per second"
        assert not scatter.y.log
    (whole,) = cost_scatters(found, "build", Goal(0))
    assert set(whole.points) == {"a", "b"}
    assert cost_scatters(found, "build", Goal(1e6)) == []


def test_the_size_is_what_the_build_added() -> None:
    bundle = made.bundle(0.95, algorithm="a", shape=(3, 5, 1))
    steps = [
        Step(build, 0, kind, 1.0, 1.0, memory_bytes=held << 20)
        for build, held_after in enumerate((70, 90, 80))
        for kind, held in (("create", 50), ("build", held_after), ("search", 500))
    ]
    grown = dataclasses.replace(bundle, steps=tuple(steps))
    (scatter,) = cost_scatters([figures(grown)], "size")
    assert scatter.points["a"][0][0] == 30
    assert cost_scatters([figures(bundle)], "size") == [], "nobody noted what it held"


def test_slopes_over_sizes() -> None:
    rows = {"s-1M": 10**6, "s-10M": 10**7, "t-1M": 10**6}
    found = [result("a", 1e9 / n, rows=n, dataset=name) for name, n in rows.items()]
    found.append(result("lonely", 5.0, rows=10**6, dataset="s-1M"))
    (scatter,) = scaling_scatters(found)
    assert scatter.name == "filtered-s-scaling"
    assert list(scatter.points) == ["a"]
    assert scatter.notes["a"] == f"({slope(scatter.points['a']):.2f})"
    assert slope(scatter.points["a"]) == pytest.approx(-1, abs=0.05)


@pytest.mark.parametrize("power", [-1.0, 0.0, 0.5])
def test_a_slope(power: float) -> None:
    assert slope([(float(x), 3 * float(x) ** power) for x in (10, 50, 900)]) == pytest.approx(power)
