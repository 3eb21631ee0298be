"""Which results belong in one picture, and which of them no other one beats."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ann_bench.results.conditions import CONDITIONS
from ann_bench.results.figures import Figures, canonical
from ann_bench.results.newest import VERSION, date, newest

#: Results of one configuration that differ in these only are one point.
_NO_CONDITIONS = VERSION | {"runs", "builds"}


@dataclass(frozen=True)
class Picture:
    """Results that were measured under the same conditions, and the name of the file that shows them.

    `points` are the `ok` results, the newest of each configuration; `failures` the newest of the others. `older`
    counts the results that a newer one of the same configuration stands for.
    """

    name: str
    points: tuple[Figures, ...]
    failures: tuple[Figures, ...] = ()
    older: int = 0

    @property
    def algorithms(self) -> dict[str, list[Figures]]:
        """The points of each algorithm, by name."""
        groups: dict[str, list[Figures]] = {}
        for point in sorted(self.points, key=lambda one: (one.algorithm, one.recall, one.qps)):
            groups.setdefault(point.algorithm, []).append(point)
        return groups


def front(points: Iterable[Figures], merit: Callable[[Figures], float] = lambda one: one.qps) -> list[Figures]:
    """The points that no other one beats in both recall and QPS (or another merit), by rising recall.

    Of equal points one is kept.
    """
    best: list[Figures] = []
    for point in sorted(points, key=lambda one: (-one.recall, -merit(one))):
        if not best or merit(point) > merit(best[-1]):
            best.append(point)
    return best[::-1]


def pictures(figures: Iterable[Figures]) -> list[Picture]:
    """Sort results into pictures; those without an `ok` result make none.

    A picture is named `<track>-<dataset>`, with `-<queries>` for any query set but `public`, `-k<k>` for any
    k but 10, `-challenge` for data in disguise, and the mode where queries were put one by one. Where results under
    several conditions (machine, limits, sandbox, ...) claim a name, those with the most points have it (the newest,
    among equals); the others carry a hash of their conditions behind it.
    """
    groups: dict[str, list[Figures]] = {}
    for one in figures:
        groups.setdefault(_conditions(one), []).append(one)
    named: dict[str, list[tuple[str, Picture]]] = {}
    for conditions, members in groups.items():
        picture = _picture(members)
        if picture.points:
            named.setdefault(picture.name, []).append((conditions, picture))
    return [picture for name in sorted(named) for picture in _apart(named[name])]


def _conditions(one: Figures) -> str:
    return canonical({name: one.identity.fields.get(name) for name in CONDITIONS})


def _picture(members: Sequence[Figures]) -> Picture:
    left = newest(members, apart_from=_NO_CONDITIONS)
    points = [one for one in left if one.ok and math.isfinite(one.recall) and one.qps > 0]
    shown = {id(one) for one in points}
    return Picture(
        name=name_of(members[0]),
        points=tuple(points),
        failures=tuple(one for one in left if id(one) not in shown),
        older=len(members) - len(left),
    )


def _apart(rivals: list[tuple[str, Picture]]) -> list[Picture]:
    """Pictures of one name under names of their own."""
    rivals.sort(key=lambda rival: (len(rival[1].points), max(map(date, rival[1].points)), rival[0]), reverse=True)
    first = rivals[0][1]
    return [first] + [
        Picture(f"{p.name}-{hashlib.sha256(c.encode()).hexdigest()[:6]}", p.points, p.failures, p.older)
        for c, p in rivals[1:]
    ]


def name_of(one: Figures) -> str:
    """The name of the picture that shows a result; see `pictures`."""
    parts = [one.track, one.dataset]
    if one.queries != "public":
        parts.append(one.queries)
    if one.k != 10:
        parts.append(f"k{one.k}")
    if one.single:
        parts.append(one.mode.replace(" ", "-"))
    if one.challenge:
        parts.append("challenge")
    return re.sub(r"[^A-Za-z0-9._+=-]", "_", "-".join(parts))[:150]
