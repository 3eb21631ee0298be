"""Pictures: what shares one, what is drawn, and that nothing covers anything else."""

from __future__ import annotations

import dataclasses
import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from ann_bench.errors import StorageError, UsageError
from ann_bench.report.axes import spread
from ann_bench.report.caption import caption
from ann_bench.report.palette import COLOURS, MARKERS, styles
from ann_bench.report.pareto import Picture, front, pictures
from ann_bench.report.pareto_plot import draw
from ann_bench.report.plot import plot
from ann_bench.results.figures import Figures, figures
from ann_bench.results.model import Bundle, Status, Usage
from ann_bench.tracks import find_track
from tests.report import scenes
from tests.results import made

SCENES = ["one", "four", "twelve", "near_one", "high", "single"]


def picture(bundles: list[Bundle]) -> Picture:
    (found,) = pictures(map(figures, bundles))
    return found


@pytest.mark.parametrize("scene", SCENES)
def test_labels_lie_in_the_picture_and_apart(scene: str) -> None:
    figure = draw(picture(getattr(scenes, scene)()))
    figure.canvas.draw()
    (axes,) = figure.axes
    labels = [text for text in axes.texts if isinstance(text, Annotation) and text.get_gid() == "label"]
    assert len(labels) == len({bundle.identity["algorithm"] for bundle in getattr(scenes, scene)()
                               if bundle.outcome.status is Status.OK})  # fmt: skip
    boxes = [label.get_window_extent() for label in labels]
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)
    for box in [*boxes, *(text.get_window_extent() for text in figure.texts), axes.get_tightbbox()]:
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0
        assert box.y1 <= figure.bbox.y1
    ticks = [tick.label1.get_window_extent() for tick in axes.xaxis.get_major_ticks()]
    assert len(ticks) >= 5
    for one, other in itertools.combinations(ticks, 2):
        assert not one.overlaps(other)


@pytest.mark.parametrize("scene", SCENES)
def test_all_points_and_the_bound_are_in_sight(scene: str) -> None:
    found = picture(getattr(scenes, scene)())
    (axes,) = draw(found).axes
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    assert left < 0.9 < 1 < right
    for point in found.points:
        assert left <= point.recall_low
        assert point.recall_high <= right
        assert bottom < point.qps_low
        assert point.qps_high < top


def bounds_in(figure: Figure) -> list[str]:
    (axes,) = figure.axes
    return [text.get_text() for text in axes.texts if text.get_text().startswith(("recall ", "AP "))]


@pytest.mark.parametrize("bound", [0.5, 0.95, 0.99, None])
@pytest.mark.parametrize("scene", SCENES)
def test_the_bound_is_that_of_the_track(monkeypatch: pytest.MonkeyPatch, scene: str, bound: float | None) -> None:
    score = dataclasses.replace(find_track("filtered").score, least_recall=bound)
    track = dataclasses.replace(find_track("filtered"), score=score)
    monkeypatch.setattr("ann_bench.report.ranking.find_track", lambda name: {"filtered": track}[name])
    found = picture(getattr(scenes, scene)())
    figure = draw(found)
    assert bounds_in(figure) == ([] if bound is None else [f"recall {bound:g}"])
    (left, right) = figure.axes[0].get_xlim()
    assert left < min([*(one.recall_low for one in found.points), bound or 1.0])
    assert right > 1


@pytest.mark.parametrize("recall", [0.4, 0.93, 1.0])
def test_a_track_that_nobody_here_knows_has_no_bound(recall: float) -> None:
    figure = draw(picture([made.bundle(recall, track="no such track")]))
    assert bounds_in(figure) == []
    figure.canvas.draw()
    assert bounds_in(draw(picture([made.bundle(recall)]))) == ["recall 0.9"]


def test_many_and_odd_names() -> None:
    names = ["$x_1$", "a" * 90, "日本", "line\nbreak", *(f"n{i}" for i in range(40))]
    bundles = [made.bundle(0.9 + i / 1000, 100 + i, algorithm=name) for i, name in enumerate(names)]
    figure = draw(picture([b for b in bundles if b.identity["algorithm"] != "日本"]))
    figure.canvas.draw()
    boxes = [t.get_window_extent() for t in figure.axes[0].texts if t.get_gid() == "label"]
    assert len(boxes) == 43
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)
    assert max(box.x1 for box in boxes) <= figure.bbox.x1


def test_a_name_that_the_font_lacks_is_no_warning(tmp_path: Path) -> None:
    assert len(plot(map(figures, [made.bundle(algorithm="日本")]), tmp_path)) == 2


def test_files_are_the_same_every_time(tmp_path: Path) -> None:
    formats = ("png", "svg", "pdf")
    one, other = (plot(map(figures, scenes.four()), tmp_path / name, formats) for name in "ab")
    assert [path.name for path in one] == [f"filtered-debian-20k.{form}" for form in formats]
    for a, b in zip(one, other, strict=True):
        assert a.read_bytes() == b.read_bytes()
    assert one[0].read_bytes().startswith(b"\x89PNG")
    assert b"<dc:date>" not in one[1].read_bytes()


def test_pyplot_is_not_touched() -> None:
    code = "import sys, ann_bench.report.plot; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_no_ok_result_makes_no_picture(tmp_path: Path) -> None:
    assert plot(map(figures, [made.failed(), made.bundle(status=Status.TIMEOUT)]), tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown format 'gif'"):
        plot([], tmp_path, ("gif",))
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError):
        plot(map(figures, scenes.single()), tmp_path / "file")


def test_names_of_files() -> None:
    def names(*bundles: Bundle) -> list[str]:
        return [found.name for found in pictures(map(figures, bundles))]

    assert names(made.bundle(query_set="private")) == ["filtered-debian-20k-private"]
    assert names(made.bundle(k=100)) == ["filtered-debian-20k-k100"]
    assert names(made.bundle(dataset="a/b")) == ["filtered-a_b"]
    assert names(made.bundle(), made.bundle(track="ood")) == ["filtered-debian-20k", "ood-debian-20k"]


def test_only_equal_conditions_share_a_picture() -> None:
    few = [made.bundle(cpus=8), made.bundle(cpus=8, query={"nprobe": 8})]
    found = pictures(map(figures, [*few, *scenes.one()]))
    assert [len(p.points) for p in found] == [6, 2]
    assert found[0].name == "filtered-debian-20k"
    assert found[1].name.startswith("filtered-debian-20k-")
    for name, value in (("machine", "other"), ("sandbox", "docker"), ("memory_limit_bytes", 1), ("data_hash", "x")):
        assert len(pictures(map(figures, [made.bundle(), made.bundle(**{name: value})]))) == 2, name
    older, newer = made.bundle(date="2026-01-01"), made.bundle(cpus=8, date="2026-02-01")
    assert pictures(map(figures, [older, newer]))[0].points[0].cpus == 8


def test_a_newer_result_stands_for_an_older_one() -> None:
    old = made.bundle(0.5, entry_hash="old", date="2026-01-01T00:00:00")
    new = made.bundle(0.9, entry_hash="new", date="2026-02-01T00:00:00")
    found = picture([new, old])
    assert [one.identity["entry_hash"] for one in found.points] == ["new"]
    assert found.older == 1
    assert "1 older" in caption(found)


def test_the_caption_says_how_it_was_measured() -> None:
    text = caption(picture(scenes.four()))
    for part in (
        "debian-20k", "20,000 x 384 float32", "inner product", "public queries", "k = 10", "Xeon", "2 CPUs", "4 GiB",
        "process sandbox", "5 runs", "2026-08-30", "1 invalid-answer", "1 not-installed",
    ):  # fmt: skip
        assert part in text, part


def test_a_search_within_a_radius_says_so() -> None:
    found = [dataclasses.replace(figures(bundle), radius=0.5) for bundle in scenes.one()]
    (shown,) = pictures(found)
    drawn = draw(shown)
    assert drawn.axes[0].get_xlabel() == "average precision"
    assert bounds_in(drawn) == ["AP 0.9"]
    assert "radius 0.5." in caption(shown)
    assert "k = " not in caption(shown)
    assert draw(picture(scenes.one())).axes[0].get_xlabel() == "recall@10"


def test_the_caption_counts_notes() -> None:
    usage = Usage(cpu_outside_seconds=30)
    busy = [dataclasses.replace(bundle, usage=usage) for bundle in scenes.one()[:2]]
    assert "2 results carry a note." in caption(picture([*busy, *scenes.one()[2:]]))
    assert "1 result carries a note." in caption(picture([busy[0], *scenes.one()[1:]]))
    assert "note" not in caption(picture(scenes.one()))


def test_the_caption_bears_missing_provenance() -> None:
    bundle = made.bundle(shape=(2, 1, 1))
    bare = Bundle(**{**vars(bundle), "provenance": {"machine": "odd", "data": None}})
    text = caption(picture([bare]))
    assert "of each of 2 builds" in text
    assert "None" not in text
    assert draw(picture([bare]))


points = st.lists(st.tuples(st.floats(0, 1), st.floats(1, 1e6)), min_size=1, max_size=30)


@given(points)
def test_no_point_beats_the_front(pairs: list[tuple[float, float]]) -> None:
    base = figures(made.bundle(queries=10))
    all_points = [_at(base, r, q) for r, q in pairs]
    best = front(all_points)
    assert [p.recall for p in best] == sorted({p.recall for p in best})
    assert [p.qps for p in best] == sorted({p.qps for p in best}, reverse=True)
    for point in all_points:
        assert any(b.recall >= point.recall and b.qps >= point.qps for b in best)


def _at(base: Figures, recall: float, qps: float) -> Figures:
    return dataclasses.replace(base, recall=recall, qps=qps)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0.001, 0.2))
def test_labels_are_spread(wanted: list[float], gap: float) -> None:
    places = spread(wanted, gap, 0.0, 1.0)
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in places)
    room = min(gap, 1 / max(len(wanted) - 1, 1))
    assert all(b - a >= room - 1e-9 for a, b in itertools.pairwise(sorted(places)))
    if len(wanted) == 1 or np.diff(sorted(wanted)).min() >= room:
        assert places == pytest.approx(wanted)
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    assert sorted(range(len(wanted)), key=lambda i: places[i]) == order


@given(st.sets(st.text(max_size=8), max_size=60))
def test_styles_are_distinct(names: set[str]) -> None:
    found = styles(names)
    assert set(found) == names
    assert len({(s.colour, s.marker) for s in found.values()}) == len(names)
    if len(names) <= len(COLOURS):
        assert len({s.colour for s in found.values()}) == len(names)
        assert len({s.marker for s in found.values()}) == len(names)


def test_the_entries_in_the_box_keep_their_style_in_any_company() -> None:
    box = ("exact", "faiss-ivf", "faiss-hnsw", "hnswlib")
    together = styles(box)
    assert all(styles([name])[name] == together[name] for name in box)
    assert len(MARKERS) == len(set(MARKERS))
