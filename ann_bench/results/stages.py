"""What happened at each operation of a workload, and what all its changes cost together: for streams."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.results.model import Bundle, Step
from ann_bench.stats import NOTHING, Estimate, mean, median, median_estimate

#: Operations that change an index after it was built.
CHANGES = ("insert", "delete", "replace")


@dataclass(frozen=True)
class Stage:
    """One operation that was measured: the median over builds and runs, where there are several.

    `operation` is its place in the workload, `points` how many points or queries it carried (fewer than were to come
    where it broke off). `began` counts seconds from the index's first call, `seconds` is the time of all its calls.
    `live` points and `memory_bytes` are those after it. `recall` is that of a search: NaN for others, and where no
    query has an answer.
    """

    operation: int
    kind: str
    points: int
    began: float
    seconds: float
    live: int
    memory_bytes: int
    recall: float = math.nan

    @property
    def rate(self) -> float:
        """Points or queries per second."""
        return self.points / self.seconds if self.seconds > 0 else math.nan

    @property
    def latency(self) -> float:
        """Mean seconds for one point or query."""
        return self.seconds / self.points if self.points else math.nan


@dataclass(frozen=True)
class Changes:
    """The changes of a whole workload: the median over builds; NaN where there was none. Rates are points per second.

    `seconds` are those of `setup` and of all changes, with the interval over builds.
    """

    seconds: Estimate
    insert_rate: float
    delete_rate: float
    replace_rate: float


def changes_index(workload: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the operations (as JSON) change an index after it was built."""
    return any(operation["op"] in CHANGES for operation in workload)


def stages(bundle: Bundle, recalls: npt.NDArray[np.float64]) -> tuple[Stage, ...]:
    """Every operation that was measured, in order, from one mean recall for each array of answers.

    None where the file does not say when each call was made.
    """
    calls: dict[int, dict[tuple[int, int], list[Step]]] = {}
    for step in bundle.steps:
        if step.operation >= 0 and step.kind != "control" and math.isfinite(step.began):
            calls.setdefault(step.operation, {}).setdefault((step.build, step.run), []).append(step)
    workload: Sequence[Mapping[str, Any]] = bundle.identity["workload"]
    of_answer = np.append(recalls, np.nan)
    found, live, search = [], 0, 0
    for place, operation in enumerate(workload):
        recall = math.nan
        if operation["op"] == "search":
            recall = mean(of_answer[bundle.answer_of[:, :, search]])
            search += 1
        if place in calls:
            groups = _longest(list(calls[place].values()))
            points = sum(step.points for step in groups[0])
            stage = Stage(
                operation=place,
                kind=operation["op"],
                points=points,
                began=median([group[0].began for group in groups]),
                seconds=median([math.fsum(step.seconds for step in group) for group in groups]),
                live=live + _sign(operation["op"]) * points,
                memory_bytes=int(median([group[-1].memory_bytes for group in groups])),
                recall=recall,
            )
            found.append(stage)
        live += _sign(operation["op"]) * _planned(operation)
    return tuple(found)


def build_seconds(bundle: Bundle) -> Estimate:
    """The time of all the `build` steps of a build: the median over builds, with its interval over them."""
    builds: dict[int, list[float]] = {}
    for step in bundle.steps:
        if step.kind == "build" and math.isfinite(step.seconds):
            builds.setdefault(step.build, []).append(step.seconds)
    return over_builds([math.fsum(seconds) for seconds in builds.values()])


def over_builds(values: Sequence[float]) -> Estimate:
    """What was measured once for each build: its median, and how well that is known; not at all of a single build."""
    return median_estimate(np.array(values, dtype=np.float64)[:, None]) if values else NOTHING


def changes(bundle: Bundle) -> Changes:
    """What the changes cost; of builds that broke off only where none is whole."""
    builds: dict[int, list[Step]] = {}
    for step in bundle.steps:
        if step.kind in ("setup", *CHANGES) and math.isfinite(step.seconds):
            builds.setdefault(step.build, []).append(step)
    whole = np.flatnonzero(np.isfinite(bundle.seconds).all(axis=(1, 2)))
    used = [steps for build, steps in builds.items() if build in whole] or list(builds.values())
    rates = {kind: median([_rate(steps, kind) for steps in used]) for kind in CHANGES}
    seconds = over_builds([math.fsum(step.seconds for step in steps) for steps in used])
    return Changes(seconds, rates["insert"], rates["delete"], rates["replace"])


def whole_seconds(bundle: Bundle) -> npt.NDArray[np.float64]:
    """The time of all operations of each build, (builds,), searches included; NaN where it broke off."""
    found: npt.NDArray[np.float64] = np.asarray(bundle.seconds, dtype=np.float64).sum(axis=2)[:, 0]
    for step in bundle.steps:
        if step.kind in ("setup", "build", *CHANGES):
            found[step.build] += step.seconds
    return found


def _rate(steps: Sequence[Step], kind: str) -> float:
    mine = [step for step in steps if step.kind == kind]
    points, seconds = sum(step.points for step in mine), math.fsum(step.seconds for step in mine)
    return points / seconds if points and seconds > 0 else math.nan


def _longest(groups: list[list[Step]]) -> list[list[Step]]:
    """The calls of those builds and runs that got farthest with an operation."""
    sizes = [sum(step.points for step in group) for group in groups]
    return [group for group, size in zip(groups, sizes, strict=True) if size == max(sizes)]


def _sign(kind: str) -> int:
    return {"build": 1, "insert": 1, "delete": -1}.get(kind, 0)


def _planned(operation: Mapping[str, Any]) -> int:
    """Points of a change."""
    start, stop = operation.get("ids") or operation.get("rows") or (0, 0)
    return int(stop - start)


def index_memory(bundle: Bundle) -> int | None:
    """Bytes that the sandbox held more after the build (of a stream: after its last change) than before it.

    The median over builds; None where it was not measured. What the entry keeps of the rows is in it, rows that it
    maps from the judge's file are not.
    """
    before: dict[int, int] = {}
    after: dict[int, int] = {}
    for step in bundle.steps:
        if step.memory_bytes and step.kind == "create":
            before[step.build] = step.memory_bytes
        elif step.memory_bytes and step.kind in ("build", *CHANGES):
            after[step.build] = step.memory_bytes
    added = median([held - before[build] for build, held in after.items() if build in before])
    return round(added) if math.isfinite(added) else None
