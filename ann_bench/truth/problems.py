"""The questions that a workload asks: one `Problem` for each of its searches, with the points live at that step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import overload

from ann_bench.datasets.dataset import Dataset
from ann_bench.truth.lives import Runs, adding, live_of, no_runs, runs_of, without
from ann_bench.truth.model import Problem
from ann_bench.workload import Build, Delete, Operation, Search, Workload


class Searches(Sequence[Problem]):
    """The searches of a workload, in order, each as a `Problem` that is made when it is asked for.

    `kinds` are problems without their live sets, one for each way of asking; `kind_of[i]` is the place of search
    `i` among them and `lives[i]` its live set. A `Problem` with ten million live points takes 160 MB: only the last
    one that was asked for is kept. Its `live` is None where every base row is live under its own number.
    """

    def __init__(self, kinds: Sequence[Problem], kind_of: Sequence[int], lives: Sequence[Runs]) -> None:
        self.kinds, self.kind_of, self.lives = tuple(kinds), tuple(kind_of), tuple(lives)
        self._last: tuple[int, Problem] | None = None

    @staticmethod
    def of(problems: Sequence[Problem]) -> Searches:
        """These problems, each a kind of its own."""
        lives = [runs_of(problem.live, problem.base.shape[0]) for problem in problems]
        return Searches([replace(problem, live=None) for problem in problems], range(len(problems)), lives)

    def __len__(self) -> int:
        """How many searches there are."""
        return len(self.lives)

    @overload
    def __getitem__(self, index: int) -> Problem: ...

    @overload
    def __getitem__(self, index: slice) -> Searches: ...

    def __getitem__(self, index: int | slice) -> Problem | Searches:
        """The search with this number, or some of the searches."""
        if isinstance(index, slice):
            return Searches(self.kinds, self.kind_of[index], self.lives[index])
        place = range(len(self))[index]
        if self._last is None or self._last[0] != place:
            self._last = None  # two live sets are never held at once
            kind = self.kinds[self.kind_of[place]]
            self._last = place, replace(kind, live=live_of(self.lives[place], kind.base.shape[0]))
        return self._last[1]


def problems(dataset: Dataset, workload: Workload) -> Searches:
    """One problem for each search, in order."""
    live, lives = no_runs(), []
    for operation in workload.operations:
        if isinstance(operation, Search):
            lives.append(live)
        else:
            live = _after(live, operation)
    ways = list(dict.fromkeys(workload.searches))
    kinds = [_problem(dataset, search) for search in ways]
    return Searches(kinds, [ways.index(search) for search in workload.searches], lives)


def _after(live: Runs, operation: Operation) -> Runs:
    """The live points after an operation."""
    if isinstance(operation, Build):
        return adding(no_runs(), operation.rows, operation.rows)
    if isinstance(operation, Search):
        return live
    if isinstance(operation, Delete):
        return without(live, operation.ids)
    return adding(live, operation.ids, operation.rows)


def _problem(dataset: Dataset, search: Search) -> Problem:
    queries = dataset.queries
    return Problem(
        metric=dataset.metric,
        k=search.k,
        base=dataset.base,
        queries=queries.vectors.head(search.queries),
        tags=dataset.tags if search.filtered else None,
        query_tags=queries.tags.head(search.queries) if search.filtered and queries.tags else None,
        radius=search.radius,
    )
