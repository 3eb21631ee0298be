"""Cases from vectors: the calls that the track of an entry makes with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ann_bench.check.case import Arguments, Case, Data, Setup, Step, Vectors
from ann_bench.check.subject import Kind, Subject
from ann_bench.check.vectors import EVERYWHERE, bags, ordinary, some_bags
from ann_bench.workload import Build, Insert, Search


@dataclass(frozen=True)
class Asking:
    """How a case searches: neighbours, with which query configs, or within a radius; what tags rows and queries have.

    Without `held`, every row holds the tag EVERYWHERE and some others; without `wanted`, every second query asks for
    that tag, the others for none.
    """

    configs: Sequence[Mapping[str, Any]]
    k: int = 10
    radius: float | None = None
    held: list[set[int]] | None = None
    wanted: list[set[int]] | None = None


def data_of(subject: Subject, kind: Kind, base: Vectors, queries: Vectors, asking: Asking) -> Data:
    """The arrays, with tags where the track filters, and sample queries where the entry wants them."""
    tags = query_tags = None
    if subject.features.filtered:
        tags = bags(asking.held or some_bags(base.shape[0], base.shape[0]))
        query_tags = bags(asking.wanted or [{EVERYWHERE} if one % 2 else set() for one in range(queries.shape[0])])
    learn = None
    if subject.entry.config.learn:
        learn = ordinary(kind, 20, 7, sparse=subject.features.sparse)
    return Data(kind.metric, base, queries, tags, query_tags, learn)


def opening(subject: Subject, count: int) -> tuple[Step, ...]:
    """The calls that bring so many rows into the index; the first call of a stream is `setup`, then come arguments."""
    rows = range(count)
    return (*beginning(subject, count), Insert(rows, rows)) if subject.features.stream else (Build(rows),)


def beginning(subject: Subject, max_points: int) -> tuple[Step, ...]:
    """The calls before the first insert of a stream."""
    return (Setup(max_points), Arguments(subject.configs[0]))


def searching(subject: Subject, queries: int, asking: Asking) -> tuple[Step, ...]:
    """One search for each query config."""
    search = Search(queries, asking.k, subject.features.filtered, asking.radius)
    return tuple(step for config in asking.configs for step in (Arguments(config), search))


def plain(
    subject: Subject, kind: Kind, vectors: tuple[Vectors, Vectors], asking: Asking, *, strided: bool = False
) -> Case:
    """All the rows (base, queries) go in at once, then come the searches."""
    base, queries = vectors
    steps = (*opening(subject, base.shape[0]), *searching(subject, queries.shape[0], asking))
    return Case(data_of(subject, kind, base, queries, asking), steps, strided)
