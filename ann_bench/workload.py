"""What a run does: a tuple of immutable operations over one data set.

A track is a function from a data set to a `Workload`; one runner runs every track. Rows and ids are
`range` objects: a workload of ten million rows weighs a few hundred bytes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Build:
    """Index these base rows at once; row `i` has id `i`."""

    rows: range


@dataclass(frozen=True)
class Insert:
    """Add these base rows under these ids."""

    ids: range
    rows: range


@dataclass(frozen=True)
class Delete:
    """Remove these ids."""

    ids: range


@dataclass(frozen=True)
class Replace:
    """Give these live ids the vectors of other base rows."""

    ids: range
    rows: range


@dataclass(frozen=True)
class Search:
    """Ask for the `k` nearest live rows to each of the first `queries` queries, under their tags where `filtered`.

    With a `radius` it asks for all the rows within it instead: those at a squared euclidean distance or a 1 - cosine
    below the radius, or with an inner product above it. `k` plays no part then.
    """

    queries: int
    k: int
    filtered: bool = False
    radius: float | None = None


Operation = Build | Insert | Delete | Replace | Search


@dataclass(frozen=True)
class Limits:
    """What an entry may use: whole CPUs, bytes of memory, seconds.

    `build_seconds` bounds one build, `operation_seconds` any other single operation, `run_seconds` (where
    given) everything that one index does from its first operation to its last.
    """

    cpus: int
    memory_bytes: int
    build_seconds: float = 12 * 3600.0
    operation_seconds: float = 3600.0
    run_seconds: float | None = None

    def but(self, **changes: Any) -> Limits:
        """The same limits with the given ones replaced; None leaves a limit as it is."""
        return replace(self, **{k: v for k, v in changes.items() if v is not None})


@dataclass(frozen=True)
class Workload:
    """Operations in order, and the most points that are live at once."""

    operations: tuple[Operation, ...]
    max_points: int

    @property
    def searches(self) -> tuple[Search, ...]:
        """The searches, in order."""
        return tuple(op for op in self.operations if isinstance(op, Search))

    @property
    def mutates(self) -> bool:
        """Whether the index changes after its first search, so that each query config needs a fresh one."""
        return any(isinstance(op, Insert | Delete | Replace) for op in self.operations)

    @property
    def asked(self) -> dict[str, Any]:
        """What searches there are, as JSON: k, the most queries of one, and what else is so of them."""
        one = max(self.searches, key=lambda search: search.queries)
        stream = not isinstance(self.operations[0], Build)
        facts = {"queries": one.queries, "k": one.k, "radius": one.radius, "filtered": one.filtered, "stream": stream}
        return {name: value for name, value in facts.items() if value not in (None, False)}

    def to_json(self) -> list[dict[str, Any]]:
        """As JSON, for identities and manifests."""
        return [{"op": type(op).__name__.lower(), **_plain(asdict(op))} for op in self.operations]


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    """JSON of an operation; what it does not ask for is left out."""
    return {k: [v.start, v.stop] if isinstance(v, range) else v for k, v in fields.items() if v is not None}
