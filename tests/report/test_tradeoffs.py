"""What speed costs, and how it falls with size."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import pytest

from ann_bench.report.scatter import draw_scatter
from ann_bench.report.tradeoffs import cost_scatters, scaling_scatters, slope
from ann_bench.results.figures import Figures, figures
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


def test_twenty_labels_do_not_collide() -> None:
    found = [result(f"algorithm-{n:02d}", 1000 + n) for n in range(20)]
    (scatter,) = cost_scatters(found, "build")
    figure = draw_scatter(scatter)
    figure.canvas.draw()
    texts = [text for text in figure.axes[0].texts if text.get_gid() == "label"]
    boxes = sorted((text.get_window_extent() for text in texts), key=lambda box: box.y0)
    assert len(boxes) == 20
    assert all(low.y0 + 0.9 * low.height <= high.y0 + 1 for low, high in itertools.pairwise(boxes))
    assert max(box.x1 for box in boxes) <= figure.bbox.x1
