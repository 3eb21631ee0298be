"""Recompute every figure of a result from its raw answers, the data and the truth; name the first that differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ann_bench.datasets.dataset import Dataset
from ann_bench.errors import ResultError
from ann_bench.judge.control import Controls, Recipe
from ann_bench.judge.plan import data_hashes
from ann_bench.judge.scores import score
from ann_bench.judge.verify_asks import complete, verify_asks
from ann_bench.judge.verify_control import must_equal, must_fit, verify_control
from ann_bench.judge.verify_steps import verify_steps
from ann_bench.results.model import Bundle, Status
from ann_bench.results.rounds import answers_of
from ann_bench.tracks import find_track
from ann_bench.truth.model import AnyTruth, Problem
from ann_bench.truth.problems import problems
from ann_bench.truth.store import truths_for


@dataclass(frozen=True)
class Reference:
    """The questions of one workload with their answers, computed here and now; `make` makes control batches.

    Results of one run follow each other, so that the control batches of the last run are kept, and no others.
    """

    asked: Sequence[Problem]
    truths: tuple[AnyTruth, ...]
    make: Callable[[Recipe], Controls]
    _last: dict[Recipe, Controls] = field(default_factory=dict)

    def controls(self, recipe: Recipe) -> Controls:
        """The control batches of a run."""
        if recipe not in self._last:
            self._last.clear()
            self._last[recipe] = self.make(recipe)
        return self._last[recipe]


class Verifier:
    """Checks bundles against data sets; those that share data and workload share the work.

    `dataset_of` finds and prepares the data set that a bundle was measured on.
    """

    def __init__(self, dataset_of: Callable[[Bundle], Dataset]) -> None:
        self._dataset_of = dataset_of
        self._references: dict[str, Reference] = {}

    def verify(self, bundle: Bundle) -> None:
        """Raise ResultError, naming what differs, unless everything follows from the raw answers again."""
        reference = self._reference(bundle)
        keys = tuple(truth.key for truth in reference.truths)
        if bundle.truths != keys:
            raise ResultError("the ground truth is another one now: the data or the workload has changed")
        _shapes(bundle)
        _plan(bundle)
        for index, ids in enumerate(bundle.answers):
            search = _search_of(bundle, index)
            again = score(reference.asked[search], reference.truths[search], ids)
            must_equal(bundle.scores[index], again, f"answers {index}")
        if bundle.control is not None:
            verify_control(bundle, bundle.control, reference.controls)
        _status(bundle)
        verify_steps(bundle)
        verify_asks(bundle)

    def _reference(self, bundle: Bundle) -> Reference:
        needed = ("data_hash", "workload", "track", "queries")
        if lacking := [name for name in needed if name not in bundle.identity.fields]:
            raise ResultError(f"its identity lacks {', '.join(lacking)}: nothing can be recomputed")
        fields = {name: bundle.identity[name] for name in needed}
        name = repr(sorted(fields.items()))
        if name not in self._references:
            dataset = self._dataset_of(bundle)
            if data_hashes(dataset) != bundle.identity["data_hash"]:
                raise ResultError(f"the data set {dataset.name!r} here is not the one that was measured (other hashes)")
            workload = find_track(bundle.identity["track"]).workload(dataset, bundle.identity["k"])
            if workload.to_json() != bundle.identity["workload"]:
                raise ResultError("the track's workload is another one now")
            asked = problems(dataset, workload)
            truths = truths_for(asked)
            self._references[name] = Reference(
                asked, truths, lambda recipe: Controls(dataset, workload, (asked, truths), recipe)
            )
        return self._references[name]


def _shapes(bundle: Bundle) -> None:
    """Times, answers and the table that joins them must tell one story."""
    if len(bundle.scores) != len(bundle.answers):
        raise ResultError(f"{len(bundle.answers)} arrays of answers, but {len(bundle.scores)} scores")
    measured, answered = np.isfinite(bundle.seconds), bundle.answer_of >= 0
    if bundle.seconds.shape != bundle.answer_of.shape or not np.array_equal(measured, answered):
        raise ResultError("times and answers do not belong together")
    if answered.any() and int(bundle.answer_of.max()) >= len(bundle.answers):
        raise ResultError("a batch refers to answers that are not there")
    if (bundle.seconds[measured] <= 0).any():
        raise ResultError("a batch took no time")


def _plan(bundle: Bundle) -> None:
    """What the file holds must be what its identity says that was measured."""
    counts = tuple(step["queries"] for step in bundle.identity["workload"] if step["op"] == "search")
    if bundle.counts != counts:
        raise ResultError(f"the counts of queries are {bundle.counts}, the workload has {counts}")
    expected = (bundle.identity["builds"], bundle.identity["runs"], len(counts))
    if "until" in bundle.identity.fields:  # as many as it took, and no more than these
        expected = tuple(min(pair) for pair in zip(bundle.seconds.shape, expected, strict=True))
    if bundle.seconds.shape != expected:
        raise ResultError(f"times of {bundle.seconds.shape} builds, runs and searches, measured were {expected}")
    searches = [step for step in bundle.identity["workload"] if step["op"] == "search"]
    for index, ids in enumerate(bundle.answers):
        search = searches[_search_of(bundle, index)]
        must_fit(ids, search["queries"], search, f"answers {index}")


def _status(bundle: Bundle) -> None:
    """`ok` is not for what is incomplete or wrong."""
    if bundle.outcome.status is not Status.OK:
        return
    if not complete(bundle):
        raise ResultError("the status is ok, but batches are missing")
    control = bundle.control
    if control is not None and np.isnan(control.seconds).any():
        raise ResultError("the status is ok, but control batches are missing")
    if any(sum(score.invalid.values()) for score in (*bundle.scores, *(control.scores if control else ()))):
        raise ResultError("the status is ok, but there are invalid ids")


def _search_of(bundle: Bundle, index: int) -> int:
    """The search that an array of answers belongs to."""
    places = np.argwhere(answers_of(bundle) == index)
    if not len(places):
        raise ResultError(f"the answers {index} belong to no batch")
    return int(places[0][3])
