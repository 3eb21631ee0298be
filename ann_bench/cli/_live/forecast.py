"""How long work is likely to take: as it took earlier in this run, else in earlier results of the same entry."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, TypeAlias

from ann_bench.judge.events import Planned, Query, Work
from ann_bench.report.format import query_text
from ann_bench.results.model import Bundle, Step

#: An entry, the sort of work, and the query config in words (empty where the work is for all of them).
Key: TypeAlias = tuple[str, str, str]
Earlier: TypeAlias = Mapping[Key, Sequence[float]]

#: Kinds of calls that are batches of the same queries, and so take about the same time.
BATCHES = ("warmup", "search", "control")
_ALONE = ("build", "setup")


def key_of(entry: str, kind: str, query: Query | None) -> Key:
    """What work of this kind is remembered by."""
    sort = "batch" if kind in BATCHES else kind
    return entry, sort, "" if query is None or sort in _ALONE else query_text(query)


class Forecast:
    """Seconds that work is likely to take, and work that is still to be done."""

    def __init__(self, earlier: Earlier | None = None) -> None:
        self._earlier = dict(earlier or {})
        self._seen: dict[Key, list[float]] = defaultdict(list)
        self._left: Counter[Key] = Counter()

    def plan(self, planned: Planned) -> None:
        """Count all that is to be done."""
        setting = planned.setting
        for entry, queries in planned.wanted:
            if setting.workload.mutates:
                self._left.update({key_of(entry, "stream", query): setting.builds for query in queries})
                continue
            self._left[key_of(entry, "build", None)] += setting.builds
            batches = setting.repeat.warmups + setting.runs + 1  # the control batch
            self._left.update({key_of(entry, "search", query): setting.builds * batches for query in queries})

    def ended(self, work: Work, seconds: float) -> None:
        """Work has taken so long."""
        key = key_of(work.entry, work.kind, work.query)
        self._seen[key].append(seconds)
        if self._left[key] > 0:
            self._left[key] -= 1

    def done(self, entry: str, query: Query, *, last: bool) -> None:
        """Nothing more is to be done for a query config, nor for its entry where it was the last one."""
        for key in [key for key in self._left if key[0] == entry and (last or key[2] == query_text(query))]:
            del self._left[key]

    def of(self, work: Work) -> float | None:
        """Seconds that this work is likely to take; None where nothing is known."""
        return self._guess(key_of(work.entry, work.kind, work.query))

    def left(self) -> tuple[float, bool]:
        """Seconds of calls that are still to be made, as far as they are known, and whether all of them are."""
        guesses = [(count, self._guess(key)) for key, count in self._left.items() if count > 0]
        known = [count * each for count, each in guesses if each is not None]
        return sum(known), len(known) == len(guesses)

    def _guess(self, key: Key) -> float | None:
        for known in (self._seen, self._earlier):
            if found := known.get(key):
                return median(found)
            if others := [median(found) for other, found in known.items() if other[:2] == key[:2] and found]:
                return median(others)
        return None


def earlier(bundles: Iterable[Bundle]) -> Earlier:
    """What the calls of earlier results took."""
    found: dict[Key, list[float]] = defaultdict(list)
    for bundle in bundles:
        entry, query = str(bundle.identity["algorithm"]), dict(bundle.identity["query"])
        for step in bundle.steps:
            if step.kind in (*BATCHES, "build"):
                found[key_of(entry, step.kind, query)].append(step.seconds)
        for build in range(bundle.seconds.shape[0]):
            found[key_of(entry, "stream", query)].append(seconds_of(s for s in bundle.steps if s.build == build))
    return found


def seconds_of(steps: Iterable[Step]) -> float:
    """What these calls took together."""
    return sum(step.seconds for step in steps)


def like(bundle: Bundle, identity: Mapping[str, Any]) -> bool:
    """Whether a result tells how long a measurement with these fields may take."""
    names = ("track", "dataset", "queries", "k", "cpus", "sandbox")
    return all(bundle.identity.fields.get(name) == identity[name] for name in names)
