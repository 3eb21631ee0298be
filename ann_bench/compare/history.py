"""Results over time: the steps in every series of them, with their dates and what changed there."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ann_bench.compare.steps import LEAST, Step, steps
from ann_bench.errors import UsageError
from ann_bench.results.conditions import scan_folders
from ann_bench.results.figures import Figures, canonical, figures
from ann_bench.results.newest import VERSION, date
from ann_bench.results.store import Damaged

log = logging.getLogger(__name__)

#: What is followed over time; of the first a smaller value is worse, of the last a larger one.
FIGURES = ("qps", "recall", "build_seconds")
_SMALLER_IS_WORSE = {"qps": True, "recall": True, "build_seconds": False}

#: Fields of an identity that change from one version of an entry to the next, within one series.
_CHANGING = VERSION | {"image"}


@dataclass(frozen=True)
class Change:
    """A step in a series: which one, the figure, when (of the first result after it, and of the last before), and why.

    `changed` says what differs between these two results, in words.
    """

    algorithm: str
    query: str
    figure: str
    step: Step
    date: str
    last_before: str
    changed: tuple[str, ...]
    is_last: bool

    @property
    def worse(self) -> bool:
        """Whether it went the wrong way."""
        return (self.step.ratio < 1) == _SMALLER_IS_WORSE[self.figure]

    def __str__(self) -> str:
        why = f"; changed: {', '.join(self.changed)}" if self.changed else "; nothing that results know of changed"
        return (
            f"{self.date[:19]}  {self.algorithm} {self.query}  {self.figure} {self.step.before:.5g} -> "
            f"{self.step.after:.5g} ({'worse' if self.worse else 'better'}, x {self.step.ratio:.3f}){why}"
        )

    def to_json(self) -> dict[str, Any]:
        """All of it, for machines."""
        return {
            "algorithm": self.algorithm,
            "query": self.query,
            "figure": self.figure,
            "date": self.date,
            "last_before": self.last_before,
            "before": self.step.before,
            "after": self.step.after,
            "ratio": self.step.ratio,
            "worse": self.worse,
            "is_last": self.is_last,
            "changed": list(self.changed),
        }


@dataclass(frozen=True)
class History:
    """How many series there are, how many of them are too short to say anything, and their steps in order of time."""

    series: int
    short: int
    changes: tuple[Change, ...]

    @property
    def ends_worse(self) -> bool:
        """Whether the last step of any series went the wrong way."""
        return any(change.worse and change.is_last for change in self.changes)


def history(folders: Sequence[Path]) -> History:
    """The steps in the `ok` results of some folders, told apart by the dates in them.

    Results that differ in nothing but the version of entry, packages and image make one series. Raises UsageError where
    results were measured under unlike conditions, or there are none.
    """
    series: dict[str, list[Figures]] = {}
    for item in scan_folders(folders, alike=True):
        if isinstance(item, Damaged):
            log.warning("left out: %s", item.reason)
            continue
        one = figures(item)
        if one.ok and date(one):
            kept = {name: value for name, value in one.identity.fields.items() if name not in _CHANGING}
            series.setdefault(canonical(kept), []).append(one)
    if not series:
        raise UsageError(f"no result in {', '.join(map(str, folders))} is ok and has a date")
    lines = [sorted(members, key=date) for members in series.values()]
    found = [change for line in lines for name in FIGURES for change in _changes(line, name)]
    short = sum(len(line) < 2 * LEAST for line in lines)
    return History(len(lines), short, tuple(sorted(found, key=lambda change: (change.date, change.algorithm))))


def _changes(line: Sequence[Figures], name: str) -> list[Change]:
    values = [float(getattr(one, name)) for one in line]
    known = [place for place, value in enumerate(values) if math.isfinite(value) and value > 0]
    found = steps([values[place] for place in known])
    made = []
    for number, step in enumerate(found, start=1):
        before, after = line[known[step.place - 1]], line[known[step.place]]
        made.append(
            Change(
                algorithm=after.algorithm,
                query=after.query,
                figure=name,
                step=step,
                date=date(after),
                last_before=date(before),
                changed=tuple(_differences(before, after)),
                is_last=number == len(found),
            )
        )
    return made


def _differences(before: Figures, after: Figures) -> Iterable[str]:
    """What the two results know to be different: the entry, packages, image, kernel, the harness."""
    for name in ("entry_hash", "image"):
        if before.identity.fields.get(name) != after.identity.fields.get(name):
            yield {"entry_hash": "the entry's files", "image": "its image"}[name]
    yield from _values(before.identity.fields.get("packages"), after.identity.fields.get("packages"))
    machines = [one.provenance.get("machine") for one in (before, after)]
    yield from _values(
        *({n: m.get(n) for n in ("kernel", "python")} if isinstance(m, Mapping) else {} for m in machines)
    )
    commits = [str(one.provenance.get("commit", ""))[:8] for one in (before, after)]
    if commits[0] != commits[1]:
        yield f"commit of ann-bench {commits[0]} -> {commits[1]}"


def _values(before: Any, after: Any) -> Iterable[str]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted({*before, *after}):
            if before.get(name) != after.get(name):
                yield f"{name} {before.get(name)} -> {after.get(name)}"
