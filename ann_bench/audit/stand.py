"""Where the probes ask: at one search of the workload, on an index that has come as far as that."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ann_bench.errors import UsageError
from ann_bench.judge.record import Questions
from ann_bench.truth.model import AnyTruth, Problem, RangeTruth, Truth
from ann_bench.workload import Build, Delete, Insert, Operation, Replace, Search, Workload


@dataclass(frozen=True)
class Stand:
    """One search with its exact answers, and the operations that come before it.

    `number` counts the searches of the workload from 0. Nothing that a probe asks changes an index, so that it stays
    at this search for as long as it is probed.
    """

    number: int
    search: Search
    problem: Problem
    truth: AnyTruth
    before: tuple[Operation, ...]

    @staticmethod
    def at(workload: Workload, questions: Questions, number: int | None = None) -> Stand:
        """At this search of the workload, or at its last one; UsageError where it has no such search."""
        places = [place for place, one in enumerate(workload.operations) if isinstance(one, Search)]
        chosen = len(places) - 1 if number is None else number
        if not 0 <= chosen < len(places):
            raise UsageError(f"there are {len(places)} searches, and no search {chosen + 1}; give --search 1 or more")
        operation = workload.operations[places[chosen]]
        assert isinstance(operation, Search)
        problem, truth = questions.problems[chosen], questions.truths[chosen]
        return Stand(chosen, operation, problem, truth, workload.operations[: places[chosen]])

    def shortened(self, queries: int) -> Stand:
        """The same with the first so many queries only."""
        tags = None if self.problem.query_tags is None else self.problem.query_tags.head(queries)
        problem = replace(self.problem, queries=self.problem.queries.head(queries), query_tags=tags)
        search = replace(self.search, queries=queries)
        return replace(self, search=search, problem=problem, truth=_first(self.truth, queries))


def _first(truth: AnyTruth, queries: int) -> AnyTruth:
    """The answers to the first so many queries."""
    if isinstance(truth, Truth):
        return Truth(truth.ids[:queries], truth.distances[:queries], truth.key)
    found = truth.found.take(np.arange(queries))
    return RangeTruth(found, truth.distances[: len(found.ids)], truth.key)


def turned(workload: Workload, rows: int) -> Workload:
    """The same operations from the other end: id and row numbers count from the last one down.

    A runbook that nobody has published, as valid as the one that it is made from, with as many points at each step:
    every range of rows becomes the one at the same distance from the end, and so does every range of ids. `rows` is
    the number of base rows.
    """
    ids = 1 + max((_last(one) for one in workload.operations), default=rows - 1)

    def ids_of(span: range) -> range:
        return range(ids - span.stop, ids - span.start)

    def rows_of(span: range) -> range:
        return range(rows - span.stop, rows - span.start)

    def one(operation: Operation) -> Operation:
        if isinstance(operation, Insert | Replace):
            return type(operation)(ids_of(operation.ids), rows_of(operation.rows))
        if isinstance(operation, Delete):
            return Delete(ids_of(operation.ids))
        return operation

    if any(isinstance(operation, Build) for operation in workload.operations):
        raise ValueError("a workload that begins with a build has its ids from the rows")
    return replace(workload, operations=tuple(one(operation) for operation in workload.operations))


def _last(operation: Operation) -> int:
    """The largest id that an operation names; -1 where it names none."""
    return operation.ids.stop - 1 if isinstance(operation, Insert | Replace | Delete) else -1
