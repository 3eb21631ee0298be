"""The control batches of a run: queries that no entry can have seen, and the exact answers to some of them.

An entry that recognises the data set and answers its published queries from a table, or that keeps answers between the
repeats, has to search here. Every query config gets noise of its own, for what an entry has been asked once it may
know. The sample whose answers are scored has the same query numbers for all of them: under filters the rows that
match are then found once for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, vstack

from ann_bench.arrays import Array, held, held_csr
from ann_bench.datasets.cache import cache_root
from ann_bench.datasets.dataset import Dataset
from ann_bench.judge.asked import Asked, published
from ann_bench.judge.noise import Noise, key_of, spread_of, words
from ann_bench.judge.scores import score
from ann_bench.progress import Progress, silent
from ann_bench.results.model import Answers, Control, Score
from ann_bench.truth.exact import exact
from ann_bench.truth.model import AnyTruth, Problem, Truth
from ann_bench.truth.within import within
from ann_bench.workload import Workload

#: Queries of a sample, fewer where a run has many query configs: all of them together ask about `ALL_SAMPLES`, which
#: bounds the time for their exact answers.
SAMPLE, ALL_SAMPLES = 200, 1000

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Recipe:
    """All that control batches follow from, besides the data: the seed of a run, and how many query configs it has."""

    seed: int
    variants: int


@dataclass(frozen=True)
class Answered:
    """One control batch: the ids given to the sample; seconds and CPU seconds of the whole batch."""

    ids: Answers
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class _Search:
    """One search: its published queries, the sample, and for each variant noise, problem and truth of the sample."""

    asked: Asked
    numbers: Numbers
    noises: tuple[Noise, ...]
    problems: tuple[Problem, ...]
    truths: tuple[AnyTruth, ...]


class Controls:
    """The control batches of a run; `problems` and `truths` are the searches of the workload with their answers.

    Making it computes the exact answers to all the samples. It holds them and nothing of the size of a query set.
    """

    def __init__(
        self,
        dataset: Dataset,
        workload: Workload,
        known: tuple[Sequence[Problem], tuple[AnyTruth, ...]],
        recipe: Recipe,
        progress: Progress = silent,
    ) -> None:
        self.recipe = recipe
        parts = zip(workload.searches, *known, strict=True)
        self._searches = [
            _search(recipe, place, published(dataset, search), (problem, truth), progress)
            for place, (search, problem, truth) in enumerate(parts)
        ]
        self.numbers = tuple(search.numbers for search in self._searches)

    def asked(self, variant: int, search: int) -> Asked:
        """What the control batch of a search asks."""
        return replace(self._searches[search].asked, noise=self._searches[search].noises[variant])

    def score(self, variant: int, search: int, ids: Answers) -> Score:
        """What answers to the sample are worth."""
        of = self._searches[search]
        return score(of.problems[variant], of.truths[variant], ids)

    def result(
        self, variant: int, published_cpu_seconds: Floats, given: Mapping[tuple[int, int], Answered]
    ) -> Control | None:
        """What was measured, by build and search, with its scores; None where nothing was.

        `published_cpu_seconds` (builds, runs, searches) is what the batches before used.
        """
        if not given:
            return None
        builds, _, searches = published_cpu_seconds.shape
        seconds, cpu_seconds = np.full((2, builds, searches), np.nan)
        answer_of = np.full((builds, searches), -1, dtype=np.int32)
        for index, (place, one) in enumerate(given.items()):
            seconds[place], cpu_seconds[place], answer_of[place] = one.seconds, one.cpu_seconds, index
        return Control(
            seed=self.recipe.seed,
            variants=self.recipe.variants,
            variant=variant,
            numbers=self.numbers,
            seconds=seconds,
            cpu_seconds=cpu_seconds,
            published_cpu_seconds=published_cpu_seconds,
            answer_of=answer_of,
            answers=tuple(one.ids for one in given.values()),
            scores=tuple(self.score(variant, search, one.ids) for (_, search), one in given.items()),
        )


def _search(recipe: Recipe, place: int, asked: Asked, known: tuple[Problem, AnyTruth], progress: Progress) -> _Search:
    problem, truth = known
    numbers = _sample(recipe, place, truth)
    spread = spread_of(problem.base.open(), asked.vectors)
    noises = tuple(Noise(key_of(recipe.seed, variant, place), spread) for variant in range(recipe.variants))
    taken = [replace(asked, noise=noise).take(numbers) for noise in noises]
    problems = tuple(_but(problem, vectors, tags) for vectors, tags in taken)
    tags = [tags for _, tags in taken if tags is not None]
    together = _but(problem, _stack([vectors for vectors, _ in taken]), _stack(tags) if tags else None)
    spans = [range(first * len(numbers), (first + 1) * len(numbers)) for first in range(recipe.variants)]
    truths = _truths(together, spans, truth.key, progress)
    return _Search(asked, numbers, noises, problems, truths)


def _truths(problem: Problem, spans: Sequence[range], key: str, progress: Progress) -> tuple[AnyTruth, ...]:
    """The exact answers to each of these spans of the queries."""
    scratch = cache_root() / "truth"
    if problem.radius is None:
        ids, distances = exact(problem, progress, scratch=scratch)
        return tuple(Truth(ids[span.start : span.stop], distances[span.start : span.stop], key) for span in spans)
    found = within(problem, progress, scratch)
    return tuple(found.part(span.start, span.stop).truth(key) for span in spans)


def _sample(recipe: Recipe, place: int, truth: AnyTruth) -> Numbers:
    """Random queries among those that have an answer; among all where none has."""
    numbers = np.flatnonzero(truth.counts)
    if not len(numbers):
        numbers = np.arange(len(truth.counts))
    count = min(SAMPLE, max(1, ALL_SAMPLES // recipe.variants))
    random = words(key_of(recipe.seed, "sample", place), numbers, np.zeros_like(numbers))
    return np.sort(numbers[np.argsort(random, kind="stable")[:count]]).astype(np.int64)


def _but(problem: Problem, vectors: Array | csr_matrix, tags: csr_matrix | None) -> Problem:
    """The same problem with other queries."""
    return replace(problem, queries=held(vectors), query_tags=None if tags is None else held_csr(tags))


def _stack(parts: list[Any]) -> Any:
    return csr_matrix(vstack(parts, format="csr")) if isinstance(parts[0], csr_matrix) else np.concatenate(parts)
