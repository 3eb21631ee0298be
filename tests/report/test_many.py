"""Twenty algorithms in every kind of picture, on both widths: no name covers anything, and all lies in the picture."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from ann_bench.errors import ResultError
from ann_bench.report.look import Look
from ann_bench.report.palette import styles_over
from ann_bench.report.paper import Paper
from ann_bench.report.plot import plot
from ann_bench.report.sheets import ALL, KINDS, Sheet, Wish, sheets
from ann_bench.report.verify_plot import check_plot
from ann_bench.results.figures import Figures, figures
from ann_bench.results.model import Bundle
from ann_bench.truth import kept
from ann_bench.truth.look import matching_rows, true_distances
from tests.report import scenes
from tests.results import made

TRUTH = "5f" * 32
QUERIES = 400
PAPERS = [Paper("light", "page"), Paper("dark", "column")]


def name(number: int) -> str:
    """Names of every length; one is longer than any room."""
    return f"algorithm-{'x' * (number % 5)}{number:02d}" if number else "a name that is longer than any room for it"


def results(count: int) -> dict[str, Bundle]:
    """Results of so many algorithms from which every kind of picture can be drawn, by key."""
    found = list(_results(count))
    return {one.identity.key: one for one in found}


def _results(count: int) -> Iterator[Bundle]:
    workload = scenes.runbook(20)
    for n in range(count):
        same = {"algorithm": name(n), "queries": QUERIES, "seed": n, "metric": "euclidean"}
        for step, recall in enumerate((0.6, 0.85, 0.92, 0.99)):
            one = made.bundle(min(recall + 0.003 * n, 1), 9000 / (step + 1) ** 2 * 1.1**n, query={"ef": step}, **same)
            steps = [dataclasses.replace(s, memory_bytes=(60 + n) << 20) for s in one.steps]
            first = dataclasses.replace(steps[0], kind="create", memory_bytes=40 << 20)
            yield dataclasses.replace(one, truths=(TRUTH,), steps=(first, *steps))
        larger = made.bundle(0.93, 700 * 1.1**n, dataset="debian-200k", **same)
        data = {**larger.provenance["data"], "rows": 200_000}
        yield dataclasses.replace(larger, provenance={**larger.provenance, "data": data})
        for rate in (500, 1000, 2000):
            mode = {"kind": "load", "rate": rate}
            one = made.bundle(0.9 + 0.002 * n, rate, mode=mode, shape=(1, 2, 1), **same)
            asks = made.asks(one, 0.001 * 1.05**n * (1 + rate / 3000), rate=rate)
            sent = np.arange(QUERIES) / rate + np.zeros((1, 2, 1))
            waits = asks.answered - asks.due
            yield dataclasses.replace(one, asks=dataclasses.replace(asks, due=sent, sent=sent, answered=sent + waits))
        yield made.stream(0.9 + 0.004 * n, workload, algorithm=name(n), seed=n)


@pytest.fixture(autouse=True)
def known(own_cache: Path) -> None:
    """A cache that holds the exact answers of the searches, and how many rows pass each filter."""
    rng = np.random.default_rng(3)
    distances = np.sort(rng.random((QUERIES, 10)) ** np.geomspace(0.05, 1, QUERIES)[:, None], axis=1)
    folder = own_cache / "truth"
    part = kept.Part(folder / f"{TRUTH}.truth", kept.Outline(TRUTH, ((TRUTH, QUERIES, 10),)), ((0,),))
    part.write(kept.Block(0, 0, QUERIES), [(0, np.zeros((QUERIES, 10), np.int32), distances)])
    part.finish()
    np.save(folder / f"{TRUTH}.matching.npy", np.geomspace(5, 19_000, QUERIES).astype(np.int64))
    assert true_distances(TRUTH, QUERIES, 10) is not None
    assert matching_rows(TRUTH, QUERIES) is not None


@pytest.fixture(scope="module")
def made_of() -> dict[str, Bundle]:
    """All results of twenty algorithms."""
    return results(20)


@pytest.fixture(scope="module")
def shown(made_of: dict[str, Bundle]) -> list[Figures]:
    """Their figures."""
    return [figures(one) for one in made_of.values()]


def drawn(found: list[Sheet], paper: Paper) -> Iterator[tuple[Sheet, Figure]]:
    look = Look(paper, styles_over(sheet.algorithms for sheet in found))
    for sheet in found:
        figure = sheet.figure(look)
        figure.draw_without_rendering()
        yield sheet, figure


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.style + " " + paper.width_name)
def test_nothing_covers_anything(paper: Paper, made_of: dict[str, Bundle], shown: list[Figures]) -> None:
    """The pictures of each kind once: those of other modes and sizes look the same."""
    found = sheets(shown, Wish(ALL, paper, bundles=lambda one: made_of[one.key]))
    once = {(sheet.wish.kind, sheet.points[0].changes): sheet for sheet in found}
    assert {kind for kind, _ in once} == set(KINDS)
    for sheet, figure in drawn(list(once.values()), paper):
        where = f"{sheet.name} on {paper.style} {paper.width_name}"
        assert len(sheet.algorithms) == 20, where
        look_over(figure, where)


@pytest.mark.parametrize("count", [1, 3])
def test_few_algorithms_lie_well_too(count: int) -> None:
    made_of = results(count)
    shown = [figures(one) for one in made_of.values()]
    found = sheets(shown, Wish(ALL, Paper("dark", "column"), bundles=lambda one: made_of[one.key]))
    once = {(sheet.wish.kind, sheet.points[0].changes): sheet for sheet in found}
    for sheet, figure in drawn(list(once.values()), Paper("dark", "column")):
        look_over(figure, f"{sheet.name}, {count}")


@pytest.mark.parametrize("kind", ["size", "selectivity", "difficulty", "latency", "load"])
def test_pictures_of_single_queries_are_drawn_again(kind: str, tmp_path: Path) -> None:
    made_of = results(2)
    shown = {one.key: one for one in map(figures, made_of.values())}
    (path, *_) = plot(shown.values(), tmp_path, ("svg",), Wish(kind, bundles=lambda one: made_of[one.key]))
    assert check_plot(path, shown, lambda one: made_of[one.key]) == []
    if kind not in ("load", "size"):  # which stand in the figures
        with pytest.raises(ResultError, match="do not make one picture"):
            check_plot(path, shown)


def look_over(figure: Figure, where: str) -> None:
    """Names apart from each other and from all axes; numbers at the axes apart; all within the picture; legible."""
    names = [text for text in figure.axes[0].texts if text.get_gid() == "label"]
    assert names, where
    boxes = [text.get_window_extent() for text in names]
    for one, other in itertools.combinations(boxes, 2):
        assert not cover(one, other), f"{where}: two names cover each other"
    for axes, box in itertools.product(figure.axes, boxes):
        assert not cover(box, axes.get_window_extent()), f"{where}: a name lies on the axes"
    within = [*boxes, *(axes.get_tightbbox() for axes in figure.axes), *(t.get_window_extent() for t in figure.texts)]
    for box in within:
        inside = figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 and figure.bbox.y0 <= box.y0
        assert inside and box.y1 <= figure.bbox.y1, f"{where}: {box} lies outside"
    for text, axes in itertools.product(figure.texts, figure.axes):
        assert not cover(text.get_window_extent(), axes.get_tightbbox()), f"{where}: {text.get_text()[:20]} is covered"
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            numbers = [tick.label1 for tick in axis.get_major_ticks() if visible(tick.label1, axis.get_view_interval())]
            assert axes is not figure.axes[-1] or axis is axes.yaxis or numbers, f"{where}: no numbers at the x axis"
            for one, other in itertools.combinations([text.get_window_extent() for text in numbers], 2):
                assert not cover(one, other), f"{where}: numbers at an axis cover each other"
    for text in figure.findobj(Text):
        assert not text.get_text() or text.get_fontsize() >= 5.9, f"{where}: {text.get_text()[:20]} is too small"


def visible(text: Text, limits: tuple[float, float]) -> bool:
    place = text.get_position()[0] if text.get_rotation() == 0 and text.get_va() == "top" else text.get_position()[1]
    return text.get_visible() and bool(text.get_text()) and min(limits) <= place <= max(limits)


def cover(one: Bbox, other: Bbox) -> bool:
    """Whether two boxes share more than an edge."""
    across = min(one.x1, other.x1) - max(one.x0, other.x0)
    return across > 0.5 and min(one.y1, other.y1) - max(one.y0, other.y0) > 0.5
