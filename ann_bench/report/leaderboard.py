"""Who leads a track on a data set: ranks, tiers, and what was left out and why."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ann_bench.report.pareto import Picture, pictures
from ann_bench.report.ranking import at_given_rate, best_per_algorithm, rule_of, tiers_of
from ann_bench.results.conditions import CONDITIONS, place_of
from ann_bench.results.figures import Figures, canonical
from ann_bench.results.newest import date
from ann_bench.tracks import Score

#: What conditions are called in a reason; those that are not here go by their own names.
_NAMES = {"memory_limit_bytes": "memory limit", "data_hash": "data", "machine": "machine", "cpus": "CPUs"}


@dataclass(frozen=True)
class Place:
    """One entry in a board: its best operating point by the score.

    `rank` and `tier` count from 1. Entries of one tier cannot be told apart. `best` is None, and rank and tier 0,
    where no result of the entry can be ranked; `why` then says so.
    """

    algorithm: str
    rank: int = 0
    tier: int = 0
    best: Figures | None = None
    why: str = ""


@dataclass(frozen=True)
class Apart:
    """A result that is good, and was measured under other conditions than those of the board."""

    best: Figures
    reason: str


@dataclass(frozen=True)
class Board:
    """The ranking of one track on one data set under one set of conditions.

    `score.figure` (`qps`, `recall`) is ranked. `isolated` says whether entries ran in containers;
    those that did not are no contest between people who do not trust each other.
    """

    name: str
    sample: Figures
    score: Score
    places: tuple[Place, ...]
    apart: tuple[Apart, ...] = ()

    @property
    def isolated(self) -> bool:
        """Whether the entries were kept from each other, from the network and from the truth."""
        return self.sample.sandbox != "process"


def boards(figures: Iterable[Figures]) -> list[Board]:
    """A board for each track, data set, query set, k, mode and disguise, by name.

    Where results were measured under several conditions, containers come before processes, then the conditions with the
    most entries, then the newest; the best of each entry under the others are listed apart. Tracks that nobody here
    knows have no ranking rule, and so no board; nor have results at a given rate (see `at_rates`).
    """
    groups: dict[tuple[object, ...], list[Picture]] = {}
    for picture in pictures(figures):
        one = picture.points[0]
        groups.setdefault((*place_of(one.identity), one.radius), []).append(picture)
    found = []
    for rivals in groups.values():
        score = rule_of(rivals[0].points[0])
        if score is not None:
            rivals.sort(key=_weight, reverse=True)
            found.append(_board(rivals, score))
    return sorted(found, key=lambda board: board.name)


def at_rates(figures: Iterable[Figures]) -> list[str]:
    """A line for each mode whose results are on no board because all of them have the same speed: the rate given."""
    modes = sorted({one.mode for one in figures if at_given_rate(one)})
    why = "not ranked, as all have the speed that was asked for; `ann-bench export` has their latencies"
    return [f"mode {mode}: {why}" for mode in modes]


def _weight(picture: Picture) -> tuple[bool, int, str]:
    return picture.points[0].sandbox != "process", len(picture.algorithms), max(map(date, picture.points))


def _board(rivals: Sequence[Picture], score: Score) -> Board:
    first = rivals[0]
    places = _places(first, score)
    ranked = {place.algorithm for place in places if place.best}
    apart = [
        Apart(best, _difference(first.points[0], best))
        for other in rivals[1:]
        for best in best_per_algorithm(other.points, score).values()
        if best is not None
    ]
    apart.sort(key=lambda one: (one.best.algorithm in ranked, one.best.algorithm))
    return Board(min(one.name for one in rivals), first.points[0], score, tuple(places), tuple(apart))


def _places(picture: Picture, score: Score) -> list[Place]:
    best = best_per_algorithm([*picture.points, *picture.failures], score)
    ranked = [one for one in best.values() if one is not None]
    levels = tiers_of(ranked, score)
    places = [
        Place(one.algorithm, rank, tier, one)
        for rank, (one, tier) in enumerate(zip(ranked, levels, strict=True), start=1)
    ]
    return places + [Place(name, why=_why(picture, name, score)) for name, one in best.items() if one is None]


def _why(picture: Picture, name: str, score: Score) -> str:
    """Why no result of an entry is ranked."""
    mine = [one for one in (*picture.points, *picture.failures) if one.algorithm == name]
    recalls = [one.recall for one in mine if one.ok and math.isfinite(one.recall)]
    if recalls and score.least_recall is not None:
        return f"best {mine[0].measured} {max(recalls):.4f}, below {score.least_recall:.2f}"
    failed = next((one for one in mine if not one.ok), None)
    return f"{failed.status}: {failed.detail}" if failed else "not measured"


def _difference(one: Figures, other: Figures) -> str:
    """Which conditions differ: `machine: A, not B`."""
    mine, its = one.identity.fields, other.identity.fields
    differing = [name for name in CONDITIONS if canonical(mine.get(name)) != canonical(its.get(name))]
    plain = [name for name in differing if name not in ("limits", "workload")] or differing
    return "; ".join(f"{_NAMES.get(name, name)} {_shown(its.get(name), name)}" for name in plain)


def _shown(value: object, name: str) -> str:
    if name == "memory_limit_bytes" and isinstance(value, int):
        return f"{value / 2**30:.3g} GiB"
    return "differs" if isinstance(value, Mapping | list) else str(value)


@dataclass(frozen=True)
class Overall:
    """An entry over several boards: the mean of its ranks, a board without it counting as the last rank.

    Entries of one tier cannot be told apart and share the mean of their ranks, as ties do in rank statistics (Friedman,
    Journal of the American Statistical Association 32, 1937).

    `mean_score` is the mean of its normalised recalls (`Figures.normalised_recall`) over the boards whose results all
    say what a guess is worth, a board without the entry counting as 0; NaN where there is no such board.
    """

    algorithm: str
    mean_rank: float
    mean_score: float
    boards: int
    wins: int


def overall(found: Sequence[Board]) -> list[Overall]:
    """All entries by their mean rank over the boards in which any entry is ranked.

    Boards of queries one by one, or of data in disguise, measure the same once more and are not counted. Of fewer than
    two boards there is nothing to sum up: no rows.
    """
    counted = [
        board
        for board in found
        if any(place.best for place in board.places) and not (board.sample.single or board.sample.challenge)
    ]
    if len(counted) < 2:
        return []
    names = sorted({place.algorithm for board in counted for place in board.places})
    rows = []
    for name in names:
        ranks, scores = [], []
        wins = present = 0
        for board in counted:
            ranked = {place.algorithm: place.best for place in board.places if place.best}
            place = next((one for one in board.places if one.algorithm == name and one.best), None)
            ranks.append(_rank(place, board) if place else len(ranked) + 1)
            if all(math.isfinite(best.normalised_recall) for best in ranked.values()):
                scores.append(ranked[name].normalised_recall if place else 0.0)
            present += place is not None
            wins += place is not None and place.tier == 1
        score = math.fsum(scores) / len(scores) if scores else math.nan
        rows.append(Overall(name, math.fsum(ranks) / len(ranks), score, present, wins))
    return sorted(rows, key=lambda row: (row.mean_rank, row.algorithm))


def _rank(place: Place, board: Board) -> float:
    """The mean rank of its tier."""
    tier = [one.rank for one in board.places if one.best and one.tier == place.tier]
    return math.fsum(tier) / len(tier)
