from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ann_bench.datasets.formats.knn import write_truth
from ann_bench.errors import DataError
from ann_bench.truth import given
from ann_bench.truth.exact import exact
from ann_bench.truth.model import Live, Problem, Truth
from ann_bench.truth.store import check_given
from tests.truth.helpers import save, save_bags


@pytest.fixture(params=["uint8", "float32"])
def problem(tmp_path, request):
    rng = np.random.default_rng(3)
    bags = [[number % 4] for number in range(80)]
    bags[7] = [9]
    return Problem(
        "euclidean",
        6,
        save(tmp_path, rng.integers(0, 99, (80, 4)).astype(request.param)),
        save(tmp_path, rng.integers(0, 99, (30, 4)).astype(request.param)),
        save_bags(tmp_path, bags, 10),
        save_bags(tmp_path, [*bags[:8], *bags[8:30]], 10),
        Live(np.arange(5, 85), np.arange(80)),
    )


def check(problem: Problem, folder, change=None, k=None):
    ids, distances = exact(problem)
    given_ids = ids.copy()
    if change:
        change(given_ids)
    path = folder / "given.gt"
    write_truth(path, given_ids[:, :k], np.sqrt(distances[:, :k]))
    check_given(problem, Truth(ids, distances, ""), path)


def test_the_right_file_passes(problem, tmp_path):
    check(problem, tmp_path)
    check(problem, tmp_path, k=3)
    wide = dataclasses.replace(problem, k=9)
    ids, distances = exact(wide)
    write_truth(tmp_path / "wide.gt", ids, distances)
    check_given(problem, Truth(*exact(problem), ""), tmp_path / "wide.gt")


def test_ties_may_be_broken_in_another_way(tmp_path):
    base = save(tmp_path, np.zeros((9, 2), dtype=np.uint8))
    problem = Problem("euclidean", 3, base, base)
    write_truth(tmp_path / "g.gt", np.tile([8, 2, 5], (9, 1)), np.zeros((9, 3)))
    check_given(problem, Truth(*exact(problem), ""), tmp_path / "g.gt")


def swap(place, rank, value):
    def change(ids):
        ids[place, rank] = value

    return change


def other_row(ids):
    ids[11, 2] = next(i for i in range(5, 85) if (i - 5) % 4 == 11 % 4 and i not in ids[11] and i != 12)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (swap(4, 5, -1), "query 4 has 5 answers, there are 6"),
        (swap(7, 1, 5), "query 7 has 2 answers, there are 1"),
        (swap(3, 0, 200), "query 3 names id 200, which is not in the base"),
        (swap(3, 0, 2), "query 3 names id 2, which is not in the base"),
        (lambda ids: ids.__setitem__((9, 1), ids[9, 0]), "query 9 names an id twice"),
        (swap(8, 0, 12), "query 8 names id 12, which does not hold its tags"),
        (other_row, r"query 11, rank \d: distance .* the exact one is"),
    ],
)
def test_the_first_wrong_query_is_named(problem, tmp_path, change, match):
    with pytest.raises(DataError, match=match) as caught:
        check(problem, tmp_path, change)
    assert "\n" not in str(caught.value)


def test_another_number_of_queries(problem, tmp_path):
    write_truth(tmp_path / "g.gt", np.zeros((29, 6), int), np.zeros((29, 6)))
    with pytest.raises(DataError, match="answers 29 queries, the query set has 30"):
        check_given(problem, Truth(*exact(problem), ""), tmp_path / "g.gt")


def test_of_a_long_file_a_sample_is_checked(problem, tmp_path, monkeypatch):
    monkeypatch.setattr(given, "_WHOLE", 10)
    monkeypatch.setattr(given, "_SAMPLE", 20)
    check(problem, tmp_path)
    with pytest.raises(DataError, match="names an id twice"):
        check(problem, tmp_path, lambda ids: ids.__setitem__((slice(None), 1), np.maximum(ids[:, 1], ids[:, 0])))
