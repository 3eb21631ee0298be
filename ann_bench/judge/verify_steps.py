"""Check that the calls of a result are those of its workload, in order, and that their times tell one story."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ann_bench.errors import ResultError
from ann_bench.judge.verify_asks import passes_of
from ann_bench.results.model import STEP_KINDS, Bundle, Status, Step
from ann_bench.results.rounds import rounds_made

#: Kinds that are no operation; operations that may take several calls.
_BEFORE, _IN_BLOCKS = ("create", "set", "setup", "warmup"), ("insert", "replace")


class _Call(NamedTuple):
    """What the workload asks for: all the points of one operation."""

    run: int
    operation: int
    kind: str
    points: int


def verify_steps(bundle: Bundle) -> None:
    """Raise ResultError, naming the call, unless the calls are the beginning of what was to be done, or all of it.

    Files from before calls had a place in time have nothing to check.
    """
    if all(math.isnan(step.began) for step in bundle.steps):
        return
    for build in range(bundle.seconds.shape[0]):
        expected = tuple(_expected(bundle, build, passes_of(bundle, build)))
        steps = [step for step in bundle.steps if step.build == build]
        _times(build, steps)
        complete = _order(build, steps, expected)
        if bundle.outcome.status is Status.OK and not complete:
            raise ResultError(f"the status is ok, but calls of build {build} are missing")
    _searches(bundle)


def _expected(bundle: Bundle, build: int, runs: int) -> Iterator[_Call]:
    """The operations of one build of so many runs, in order."""
    operations: Sequence[Mapping[str, Any]] = bundle.identity["workload"]
    built = operations[0]["op"] == "build"
    numbers = _numbers(operations)

    def rounds(run: int, place: int) -> int:
        """How often it was done: of queries one by one, how many rounds there were; one where it never was."""
        return max(1, rounds_made(bundle, build, run, numbers[place])) if place in numbers else 1

    if built:
        yield _Call(-1, 0, "build", _points(operations[0]))
    for run in range(runs):
        for place, operation in enumerate(operations):
            if place or not built:
                yield _Call(run, place, operation["op"], _points(operation) * rounds(run, place))
    if bundle.control is not None:
        for place, operation in enumerate(operations):
            if operation["op"] == "search":
                yield _Call(-1, place, "control", operation["queries"])


def _numbers(operations: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """Which of the searches each operation is that is one."""
    places = [place for place, operation in enumerate(operations) if operation["op"] == "search"]
    return {place: number for number, place in enumerate(places)}


def _points(operation: Mapping[str, Any]) -> int:
    if operation["op"] == "search":
        return int(operation["queries"])
    start, stop = operation["rows" if operation["op"] == "build" else "ids"]
    return int(stop - start)


def _times(build: int, steps: Sequence[Step]) -> None:
    """No call takes no time, or begins before the one before it has ended."""
    end = -math.inf
    for number, step in enumerate(steps):
        if not (step.seconds > 0 and step.began >= end):
            raise ResultError(f"call {number} of build {build} ({step.kind}) has a time that cannot be")
        end = step.began + step.seconds * (1 - 1e-9)  # as a sum of rounded numbers


def _order(build: int, steps: Sequence[Step], expected: Sequence[_Call]) -> bool:
    """Walk through both; returns whether all that was to be done was done."""
    todo = iter(expected)
    now, left = _Call(-1, -1, "", 0), 0
    for number, step in enumerate(steps):
        if step.kind in _BEFORE and step.operation == -1:
            continue
        if left == 0:
            now = next(todo, now._replace(kind="nothing"))
            left = now.points
        fits = (step.run, step.operation, step.kind) == now[:3] and step.kind in STEP_KINDS
        if not fits or not (step.points == left or (now.kind in _IN_BLOCKS and 0 < step.points < left)):
            what = f"{step.kind} of {step.points:,} at place {step.operation}, run {step.run}"
            raise ResultError(
                f"call {number} of build {build} is {what}; the workload has {now.kind} of {left:,} at "
                f"place {now.operation}, run {now.run}"
            )
        left -= step.points
    return left == 0 and next(todo, None) is None


def _searches(bundle: Bundle) -> None:
    """The times of batches stand in two places and must be the same."""
    search_of = _numbers(bundle.identity["workload"])
    runs: dict[tuple[int, ...], float] = {}
    control: dict[tuple[int, ...], float] = {}
    for step in bundle.steps:
        if step.kind == "search":
            search = search_of[step.operation]
            runs[step.build, step.run, search] = step.seconds / max(
                1, rounds_made(bundle, step.build, step.run, search)
            )
        elif step.kind == "control":
            control[step.build, search_of[step.operation]] = step.seconds
    stored = [(bundle.seconds, runs)] + ([(bundle.control.seconds, control)] if bundle.control else [])
    for seconds, found in stored:
        for place in map(tuple, np.argwhere(np.isfinite(seconds)).tolist()):
            if found.pop(place, None) != seconds[place]:
                raise ResultError(f"the time of the batch {place} is not that of its call")
        if found:
            raise ResultError(f"the call of the batch {next(iter(found))} gave no answers")
