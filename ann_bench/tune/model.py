"""What tuning is asked for, what it measures, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: The recalls at which the most queries per second are wanted.
RECALLS = (0.8, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class Wish:
    """`budget_seconds` are wall clock for builds and batches together; `runs` repeats of each batch."""

    budget_seconds: float
    recalls: Sequence[float] = RECALLS
    seed: int = 1
    runs: int = 3
    cpus: int | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class Measured:
    """One configuration and what it reached; `own` marks those that the entry came with."""

    build: Mapping[str, Any]
    query: Mapping[str, Any]
    recall: float
    qps: float
    own: bool = False

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {**vars(self), "build": dict(self.build), "query": dict(self.query)}


@dataclass(frozen=True)
class Spent:
    """The time that a search took, its builds, and the configurations that failed."""

    seconds: float = 0.0
    builds: int = 0
    failed: int = 0


@dataclass(frozen=True)
class Choice:
    """One build and some query configs, as they were seen while tuning."""

    build: Mapping[str, Any]
    seen: tuple[Measured, ...]

    @property
    def queries(self) -> list[dict[str, Any]]:
        """The query configs."""
        return [dict(one.query) for one in self.seen]


@dataclass(frozen=True)
class Row:
    """At one recall: the config chosen for it, with what it reached seen and on queries that it had not seen.

    `tuned` and `own` are the most queries per second on those at this recall, of the chosen configs and of those that
    the entry came with; None where none reaches it. `seen` is None where none did while tuning.
    """

    recall: float
    seen: Measured | None
    unseen: Measured | None
    tuned: Measured | None
    own: Measured | None

    @property
    def drop(self) -> float | None:
        """How much recall the chosen config loses on queries that it has not seen."""
        return self.seen.recall - self.unseen.recall if self.seen and self.unseen else None

    @property
    def gain(self) -> float | None:
        """How many times as fast the chosen configs are as the entry's own, at this recall."""
        return self.tuned.qps / self.own.qps if self.tuned and self.own else None


@dataclass(frozen=True)
class Tuning:
    """All that came of tuning an entry."""

    entry: str
    track: str
    dataset: str
    queries: str
    choice: Choice
    rows: tuple[Row, ...]
    spent: Spent
    trials: tuple[Measured, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As JSON."""

        def one(measured: Measured | None) -> dict[str, Any] | None:
            return None if measured is None else measured.to_json()

        return {
            "entry": self.entry,
            "track": self.track,
            "dataset": self.dataset,
            "queries": self.queries,
            "build": dict(self.choice.build),
            "query": self.choice.queries,
            "rows": [
                {
                    "recall": row.recall,
                    "seen": one(row.seen),
                    "unseen": one(row.unseen),
                    "tuned": one(row.tuned),
                    "own": one(row.own),
                    "drop": row.drop,
                    "gain": row.gain,
                }
                for row in self.rows
            ],
            "spent": vars(self.spent),
            "trials": [trial.to_json() for trial in self.trials],
        }
