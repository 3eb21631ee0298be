"""The picture of a stream: what is drawn, and that nothing covers anything else."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from ann_bench.report.pareto import Picture, pictures
from ann_bench.report.plot import plot
from ann_bench.report.stream_plot import draw_stream
from ann_bench.results.figures import figures
from ann_bench.results.model import Bundle
from tests.report import scenes
from tests.results import made


def picture(bundles: list[Bundle]) -> Picture:
    (found,) = pictures(map(figures, bundles))
    return found


def panels(figure: Figure) -> list[str]:
    return [axes.get_ylabel() for axes in figure.axes]


def many() -> list[Bundle]:
    workload = scenes.runbook(20)
    return [made.stream(0.9 + 0.001 * n, workload, algorithm=f"algorithm-{n}", seed=n) for n in range(12)]


SCENES = {
    "few steps": lambda: scenes.streams(12),
    "steps": lambda: scenes.streams(240),
    "all steps": lambda: scenes.streams(1280),
    "one": lambda: scenes.streams(60)[:1],
    "twelve": many,
}


@pytest.mark.parametrize("scene", SCENES)
def test_nothing_covers_anything(scene: str) -> None:
    figure = draw_stream(picture(SCENES[scene]()))
    figure.canvas.draw()
    labels = [text.get_window_extent() for text in figure.axes[0].texts if text.get_gid() == "label"]
    names = {bundle.identity["algorithm"] for bundle in SCENES[scene]()} - {"broken"}
    assert len(labels) == len(names)
    frames = [axes.get_tightbbox() for axes in figure.axes]
    for one, other in itertools.combinations(labels, 2):
        assert not one.overlaps(other)
    for box in [*labels, *frames, *(text.get_window_extent() for text in figure.texts)]:
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0
        assert box.y1 <= figure.bbox.y1
    assert not any(frames[-1].overlaps(text.get_window_extent()) for text in figure.texts)
    for axes in figure.axes:
        ticks = [t.label1.get_window_extent() for t in axes.yaxis.get_major_ticks() if axes.get_ylim()[0] <= t.get_loc()
                 <= axes.get_ylim()[1]]  # fmt: skip
        assert len(ticks) >= 2
        assert not any(one.overlaps(other) for one, other in itertools.combinations(ticks, 2))


def test_each_line_is_its_best_config_and_its_own_figures() -> None:
    bundles = scenes.streams(60)
    found = picture(bundles)
    figure = draw_stream(found)
    best = figures(bundles[0])
    assert panels(figure) == [
        "recall@10", "ms / query", "inserts / s", "replaces / s", "live points", "memory, GiB",
    ]  # fmt: skip
    (blue,) = {t.get_color() for t in figure.axes[0].texts if t.get_text() == "faiss-ivf"}
    recalls = [(s.operation + 1, s.recall) for s in best.stages if s.kind == "search"]
    drawn = [line for line in figure.axes[0].lines if line.get_color() == blue and len(line.get_xdata()) > 5]
    assert len(drawn) == 1
    np.testing.assert_allclose(np.column_stack(drawn[0].get_data()), recalls)
    (live,) = figure.axes[4].lines
    assert live.get_ydata()[-1] == best.stages[-1].live
    text = " ".join(" ".join(t.get_text().split()) for t in figure.texts)
    assert "1 other query config not drawn" in text
    assert f"faiss-ivf {best.recall:.4f}" in text
    assert "1 timeout" in text


def test_panels_are_those_of_the_workload() -> None:
    deletes = draw_stream(picture(scenes.streams(240)))
    assert "deletes / s" in panels(deletes)
    inserts = [{"op": "insert", "ids": [0, 9], "rows": [0, 9]}, {"op": "search", "queries": 9, "k": 10}]
    assert panels(draw_stream(picture([made.stream(0.9, inserts)]))) == [
        "recall@10", "ms / query", "inserts / s", "live points", "memory, GiB",
    ]  # fmt: skip


def test_the_command_draws_streams_so_whatever_their_track_is_called(tmp_path: Path) -> None:
    one = [made.stream(0.9, scenes.runbook(30), track="no such track"), *scenes.single()]
    names = sorted(path.name for path in plot(map(figures, one), tmp_path, ("svg",)))
    assert names == ["filtered-debian-20k.svg", "no_such_track-debian-20k.svg"]
    assert (tmp_path / names[1]).read_bytes() == plot(map(figures, one), tmp_path / "again", ("svg",))[1].read_bytes()
