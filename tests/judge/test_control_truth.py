"""What the control batches are scored against: exact answers to the queries that are asked, for every kind of data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ann_bench.arrays import ArrayRef, Held, held, held_csr
from ann_bench.datasets.dataset import Dataset, QuerySet
from ann_bench.judge.control import ALL_SAMPLES, SAMPLE, Answered, Controls, Recipe
from ann_bench.truth.exact import exact
from ann_bench.truth.model import Truth
from ann_bench.truth.problems import problems
from ann_bench.workload import Build, Search, Workload
from tests.truth.helpers import naive, save, save_any, save_csr

KINDS = {
    "uint8": lambda rng, rows: rng.integers(0, 256, (rows, 12)).astype(np.uint8),
    "int8": lambda rng, rows: rng.integers(-128, 128, (rows, 12)).astype(np.int8),
    "float16": lambda rng, rows: rng.standard_normal((rows, 12)).astype(np.float16),
    "float32": lambda rng, rows: rng.standard_normal((rows, 12)).astype(np.float32),
    "csr": lambda rng, rows: csr_matrix(
        (rng.random((rows, 30)) * (rng.random((rows, 30)) < 0.3)).astype(np.float32)
    ),
}  # fmt: skip


def made(folder: Path, kind: str, metric: str, *, queries: int = 60, filtered: bool = True):
    """A data set with two searches (the second of a part of the queries), and its exact answers."""
    rng = np.random.default_rng(3)
    base, asked = KINDS[kind](rng, 400), KINDS[kind](rng, queries)
    tags, wanted = ((rng.random((n, 5)) < share).astype(np.float32) for n, share in ((400, 0.5), (queries, 0.3)))
    tags[:, 4] = 0  # some queries have no answer
    dataset = Dataset(
        "made",
        metric,
        save_any(folder, base),
        save_csr(folder, csr_matrix(tags)),
        QuerySet("public", save_any(folder, asked), save_csr(folder, csr_matrix(wanted))),
    )
    searches = (Search(queries, 5, filtered=filtered), Search(max(1, queries // 2), 3))
    workload = Workload((Build(range(400)), *searches), 400)
    all_problems = tuple(problems(dataset, workload))
    truths = tuple(Truth(*exact(problem), "key") for problem in all_problems)
    return dataset, workload, (all_problems, truths)


@pytest.mark.parametrize("metric", ["euclidean", "ip", "angular"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_answers_are_exact(tmp_path: Path, kind: str, metric: str) -> None:
    data = made(tmp_path, kind, metric)
    controls = Controls(*data, Recipe(11, 3))
    for variant in range(3):
        for search, problem in enumerate(data[2][0]):
            numbers = controls.numbers[search]
            vectors, tags = controls.asked(variant, search).take(numbers)
            assert (tags is None) == (problem.query_tags is None)
            mine = replace(problem, queries=held(vectors), query_tags=None if tags is None else held_csr(tags))
            score = controls.score(variant, search, naive(mine)[0].astype(np.int32))
            np.testing.assert_array_equal(score.hits, score.possible)
            assert not any(score.invalid.values())
            assert score.possible.max() == problem.k


def test_a_sample_is_of_queries_with_answers(tmp_path: Path) -> None:
    data = made(tmp_path, "uint8", "euclidean")
    possible = (data[2][1][0].ids >= 0).any(axis=1)
    assert not possible.all()
    controls = Controls(*data, Recipe(11, 2))
    np.testing.assert_array_equal(controls.numbers[0], np.flatnonzero(possible))
    assert [len(numbers) for numbers in controls.numbers] == [possible.sum(), 30]


def test_samples_are_bounded_and_differ_by_seed(tmp_path: Path) -> None:
    data = made(tmp_path, "float32", "ip", queries=1500, filtered=False)
    sizes = {variants: len(Controls(*data, Recipe(1, variants)).numbers[0]) for variants in (1, 5, 20, 400)}
    assert sizes == {1: SAMPLE, 5: SAMPLE, 20: ALL_SAMPLES // 20, 400: 2}
    one, again, other = (Controls(*data, Recipe(seed, 1)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.numbers[0], again.numbers[0])
    assert len(np.intersect1d(one.numbers[0], other.numbers[0])) < SAMPLE / 2
    assert (np.diff(one.numbers[0]) > 0).all()


def test_what_came_back_is_kept_by_build_and_search(tmp_path: Path) -> None:
    controls = Controls(*made(tmp_path, "uint8", "euclidean"), Recipe(11, 2))
    ids = [np.full((len(numbers), k), -1, np.int32) for numbers, k in zip(controls.numbers, (5, 3), strict=True)]
    given = {(1, 1): Answered(ids[1], 0.5, 0.7), (0, 0): Answered(ids[0], 0.25, 0.1)}
    found = controls.result(1, np.ones((2, 3, 2)), given)
    assert found is not None
    np.testing.assert_array_equal(found.answer_of, [[1, -1], [-1, 0]])
    np.testing.assert_array_equal(found.seconds, [[0.25, np.nan], [np.nan, 0.5]])
    np.testing.assert_array_equal(found.cpu_seconds, [[0.1, np.nan], [np.nan, 0.7]])
    assert (found.seed, found.variants, found.variant) == (11, 2, 1)
    assert [score.hits.sum() for score in found.scores] == [0, 0]
    assert controls.result(1, np.ones((2, 3, 2)), {}) is None


def test_arrays_in_memory_pass_for_files(tmp_path: Path) -> None:
    values = np.arange(12).reshape(4, 3)
    ref = Held.of(values)
    assert isinstance(ref, ArrayRef)
    assert (ref.shape, ref.dtype, ref.nbytes) == ((4, 3), "int64", 96)
    np.testing.assert_array_equal(ref.head(2).open(), values[:2])
    np.testing.assert_array_equal(ref.open(), save(tmp_path, values).open())
    matrix = csr_matrix(values)
    assert (held(matrix).head(3).open() != matrix[:3]).nnz == 0
