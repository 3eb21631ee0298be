"""Recompute the scores of control batches; compare a score that is stored with one that was recomputed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ann_bench.errors import ResultError
from ann_bench.judge.control import Controls, Recipe
from ann_bench.ragged import Ragged
from ann_bench.results.model import Answers, Bundle, Control, Score

#: No run has more query configs than this: a file that says so would keep us busy for ever.
MOST_VARIANTS = 1000


def verify_control(bundle: Bundle, control: Control, controls: Callable[[Recipe], Controls]) -> None:
    """Raise ResultError, naming what differs, unless the sample follows from the seed and the scores from the ids."""
    if not 0 <= control.variant < control.variants <= MOST_VARIANTS or control.seed < 0:
        raise ResultError(f"there is no control batch {control.variant} of {control.variants}, seed {control.seed}")
    _shapes(bundle, control)
    again = controls(Recipe(control.seed, control.variants))
    for stored, numbers in zip(control.numbers, again.numbers, strict=True):
        if not np.array_equal(stored, numbers):
            raise ResultError("the control batch scores other queries than its seed says")
    for search, step in enumerate(step for step in bundle.identity["workload"] if step["op"] == "search"):
        for index in control.answer_of[:, search][control.answer_of[:, search] >= 0].tolist():
            ids, what = control.answers[index], f"control answers {index}"
            must_fit(ids, len(control.numbers[search]), step, what)
            must_equal(control.scores[index], again.score(control.variant, search, ids), what)


def _shapes(bundle: Bundle, control: Control) -> None:
    """Times, answers and the table that joins them must tell one story."""
    measured, answered = np.isfinite(control.seconds), control.answer_of >= 0
    used = np.sort(control.answer_of[answered])
    expected = (bundle.identity["builds"], len(bundle.counts))
    if control.published_cpu_seconds.shape != bundle.seconds.shape:
        raise ResultError("the CPU times beside the control batches are not those of the runs")
    if control.seconds.shape != expected or not np.array_equal(measured, answered):
        raise ResultError("times and answers of the control batches do not belong together")
    if not len(control.answers) == len(control.scores) == len(used) or (used != np.arange(len(used))).any():
        raise ResultError("each control batch must have its own answers and score")
    if (control.seconds[measured] <= 0).any():
        raise ResultError("a control batch took no time")


def must_fit(ids: Answers, queries: int, search: Mapping[str, Any], what: str) -> None:
    """Raise ResultError unless answers have the shape that a search of the workload, as JSON, asks for."""
    ranged = "radius" in search
    if isinstance(ids, Ragged) is not ranged:
        raise ResultError(f"the {what} are not those of a search {'within a radius' if ranged else 'for the nearest'}")
    if isinstance(ids, Ragged):
        if ids.queries != queries:
            raise ResultError(f"the {what} are for {ids.queries} queries, asked were {queries}")
    elif ids.shape != (shape := (queries, search["k"])):
        raise ResultError(f"the {what} are {ids.shape}, asked were {shape} (queries, k)")


def must_equal(stored: Score, again: Score, what: str) -> None:
    """Raise ResultError, naming the first query that differs, unless a stored score is the recomputed one."""
    for name in ("possible", "hits", "hits_strict", "hits_bigann", "returned", "curve"):
        old, new = getattr(stored, name), getattr(again, name)
        if old is None and new is None:
            continue
        if old is None or new is None:
            raise ResultError(f"{name} of {what}: {'not stored' if old is None else 'stored where there is none'}")
        if old.shape != new.shape:
            raise ResultError(f"{name} of {what}: stored for {len(old)} queries, there are {len(new)}")
        differs = np.argwhere(old != new)
        if len(differs):
            at = tuple(differs[0].tolist())
            place = f"query {at[0]}" if name != "curve" else f"threshold {at[1]}"
            raise ResultError(f"{name} of {what}, {place}: stored {old[at]}, recomputed {new[at]}")
    if dict(stored.invalid) != dict(again.invalid):
        raise ResultError(f"invalid ids of {what}: stored {stored.invalid}, recomputed {again.invalid}")
