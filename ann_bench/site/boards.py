"""What the page of a track and data set shows: every result under each set of conditions, and the official ranks."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ann_bench.report import board_table
from ann_bench.report.leaderboard import Board, boards
from ann_bench.report.pareto import Picture, pictures
from ann_bench.report.ranking import best_per_algorithm, score_of
from ann_bench.results.conditions import place_of
from ann_bench.results.figures import COLUMNS, Figures
from ann_bench.results.published import Published
from ann_bench.site.axes import axes_of
from ann_bench.site.embed import file_name, plain
from ann_bench.stats import log_centre
from ann_bench.stats.goal import levels


@dataclass(frozen=True)
class Page:
    """A track and data set (with a query set, k, mode, disguise): pictures, the ranked conditions first, and ranks.

    `board` is None where nobody here knows the track, and so how it ranks.
    """

    name: str
    pictures: tuple[Picture, ...]
    board: Board | None

    @property
    def file(self) -> str:
        """The name of its data, and what stands in its address."""
        return file_name(self.name)

    @property
    def title(self) -> str:
        """Track and data set, and whatever is not as usual."""
        return board_table.title(self.pictures[0].points[0])

    @property
    def results(self) -> tuple[Figures, ...]:
        """All results that it shows, failures too."""
        return tuple(one for picture in self.pictures for one in (*picture.points, *picture.failures))


def pages(figures: Iterable[Figures]) -> list[Page]:
    """A page for each track, data set, query set, k, mode and disguise of which there is any `ok` result, by name."""
    figures = list(figures)
    groups: dict[tuple[object, ...], list[Picture]] = {}
    for picture in pictures(figures):
        one = picture.points[0]
        groups.setdefault((*place_of(one.identity), str(one.radius)), []).append(picture)
    ranked = {board.name: board for board in boards(figures)}
    found = []
    for rivals in groups.values():
        name = min(picture.name for picture in rivals)
        board = ranked.get(name)
        if board is not None:
            sample = board.sample
            rivals.sort(key=lambda picture: picture.points[0] is not sample)
        found.append(Page(name, tuple(rivals), board))
    return sorted(found, key=lambda page: page.name)


def rule_text(page: Page) -> str:
    """How a page ranks, in words."""
    if page.board:
        return board_table.head(page.board).rpartition(": ")[2]
    if page.pictures[0].points[0].single:
        return "nothing: all were asked at the same rate, and the latencies are what differs"
    return "no ranking rule is known for this track"


def page_data(page: Page, published: Sequence[Published] = ()) -> dict[str, Any]:
    """A page as JSON; the rows of `points` stand under `columns`, `build` and `query` are numbers of `configs`.

    `published` are results from elsewhere: those that belong here are shown beside.
    """
    one, board = page.pictures[0].points[0], page.board
    axes = axes_of(page.results)
    if one.ranged and "recall" in axes:
        axes["recall"]["label"] = "Average precision"
    columns = ["key", "algorithm", "build", "query", *_bounds(axes)]
    configs: dict[str, int] = {}
    shown = board_table.rows(board) if board else []
    return {
        "name": page.name,
        "title": page.title,
        "track": one.track,
        "dataset": one.dataset,
        "measured": one.measured,
        "stream": one.changes,
        "single": one.single,
        "published": [plain(_published(row)) for row in board_table.beside(one, published)],
        "rule": {"figure": board.score.figure, "least": board.score.least_recall} if board else None,
        "rule_text": rule_text(page),
        "axes": axes,
        "columns": columns,
        "sets": [_set(picture, columns, configs) for picture in page.pictures],
        "configs": [plain(json.loads(text)) for text in configs],
        "places": [
            [row["algorithm"], row["rank"], row["tier"], place.best.identity.key]
            for row, place in zip(shown, board.places if board else (), strict=False)
            if place.best
        ],
        "remarks": board_table.remarks(shown),
        "steps": _steps(page),
    }


def _bounds(axes: Iterable[str]) -> list[str]:
    """The figures of the axes, with the ends of their intervals."""
    names = []
    for name in axes:
        names.append(name)
        names += [end for end in (f"{name}_low", f"{name}_high") if end in COLUMNS]
    return names


def _set(picture: Picture, columns: Sequence[str], configs: dict[str, int]) -> dict[str, Any]:
    points = sorted(picture.points, key=lambda one: (one.algorithm, one.recall, one.qps))
    rows = []
    for one in points:
        row = one.row()
        named = [
            one.identity.key,
            one.algorithm,
            *(configs.setdefault(text, len(configs)) for text in (one.build, one.query)),
        ]
        rows.append(named + [plain(row[name]) for name in columns[len(named) :]])
    return {
        "id": picture.name,
        "conditions": _conditions(picture.points[0]),
        "official": picture.points[0].sandbox != "process",
        "points": rows,
        "spreads": [spread(one) for one in points],
        "failures": [[one.identity.key, one.algorithm, one.status, one.detail] for one in picture.failures],
        "older": picture.older,
    }


def spread(one: Figures) -> list[float | None]:
    """What tiers follow from: speed, the centre of its logarithm, the error of that, its degrees of freedom, and how
    sure a verdict must be."""
    found = log_centre(one.rates)
    values = (one.qps, found.value, found.error, found.freedom, levels(stopped=one.stopped)[1])
    return [float(f"{value:.9g}") if math.isfinite(value) else None for value in values]


def _published(one: Published) -> dict[str, Any]:
    """A published result under the names that measured ones have."""
    figures = {"recall": one.recall, "qps": one.qps, "built": one.build_seconds}
    return {"algorithm": one.name, "machine": one.machine, "parameters": one.parameters, **figures}


def _conditions(one: Figures) -> str:
    """Under what a picture was measured."""
    parts = [board_table.where(one)]
    parts += [one.mode] if one.mode != "batch" else []
    parts += [f"in disguise ({one.challenge})"] if one.challenge else []
    return ", ".join(parts)


def _steps(page: Page) -> dict[str, list[list[Any]]]:
    """Of a stream, the operations of each algorithm's best query config under the first conditions."""
    score = score_of(page.pictures[0].points[0].track)
    if score is None:
        return {}
    best = best_per_algorithm(page.pictures[0].points, score)
    return {
        name: plain(
            [[s.operation + 1, s.kind, s.points, s.seconds, s.live, s.memory_bytes, s.recall] for s in one.stages]
        )
        for name, one in best.items()
        if one is not None and one.stages
    }
