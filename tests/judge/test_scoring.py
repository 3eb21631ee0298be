"""Scoring against a naive loop, and the cases in which other benchmarks have been wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from ann_bench.arrays import ArrayRef, CsrRef
from ann_bench.judge.filters import holds_all
from ann_bench.judge.scoring import NO_ID, score, stored_ids, validate
from ann_bench.truth.exact import exact
from ann_bench.truth.model import Live, Problem, Truth

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


def place(folder: Path, name: str, array: np.ndarray) -> ArrayRef:
    path = folder / name
    path.write_bytes(np.ascontiguousarray(array).tobytes())
    return ArrayRef(str(path), array.dtype.name, array.shape)


def place_csr(folder: Path, name: str, matrix: csr_matrix) -> CsrRef:
    parts = [
        place(folder, f"{name}.{part}", getattr(matrix, part).astype(dtype))
        for part, dtype in (("indptr", np.int64), ("indices", np.int32), ("data", np.float32))
    ]
    return CsrRef(*parts, matrix.shape)


def problem(folder: Path, base, queries, k=3, tags=None, query_tags=None, live=None, metric="euclidean") -> Problem:
    return Problem(
        metric,
        k,
        place(folder, "base", base),
        place(folder, "queries", queries),
        None if tags is None else place_csr(folder, "tags", csr_matrix(tags)),
        None if query_tags is None else place_csr(folder, "query_tags", csr_matrix(query_tags)),
        live,
    )


def truth_of(asked: Problem) -> Truth:
    ids, distances = exact(asked)
    return Truth(ids, distances, "key")


@st.composite
def cases(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows, queries, k, tags = (draw(st.integers(1, n)) for n in (30, 6, 8, 4))
    base = rng.integers(0, draw(st.sampled_from([2, 4, 200])), (rows, 3)).astype(np.uint8)
    return {
        "base": base,
        "queries": rng.integers(0, 4, (queries, 3)).astype(np.uint8),
        "k": k,
        "tags": (rng.random((rows, tags)) < 0.6).astype(np.float32),
        "query_tags": (rng.random((queries, tags)) < 0.4).astype(np.float32),
        "ids": rng.integers(-3, rows + 3, (queries, k)),
    }


def naive(case) -> dict:
    """The definitions, word for word."""
    hits, strict, possible = [], [], []
    invalid = {"out_of_range": 0, "duplicate": 0, "not_live": 0, "fails_filter": 0}
    base = case["base"].astype(int)
    for query, wanted, answer in zip(case["queries"].astype(int), case["query_tags"], case["ids"], strict=True):
        match = [row for row in range(len(base)) if all(case["tags"][row][wanted > 0] > 0)]
        distance = {row: int(((base[row] - query) ** 2).sum()) for row in match}
        true = sorted(match, key=lambda row: (distance[row], row))[: case["k"]]
        kth = distance[true[-1]] if true else None
        seen, good, exactly = set(), 0, 0
        for one in (int(i) for i in answer):
            if one == -1:
                continue
            if not 0 <= one < len(base):
                invalid["out_of_range"] += 1
            elif one in seen:
                invalid["duplicate"] += 1
            elif one not in distance:
                invalid["fails_filter"] += 1
            else:
                good += distance[one] <= kth
                exactly += one in true
            seen.add(one)
        hits.append(good)
        strict.append(exactly)
        possible.append(len(true))
    return {"hits": hits, "hits_strict": strict, "possible": possible, "invalid": invalid}


@relaxed
@given(cases())
def test_scores_are_those_of_a_naive_loop(tmp_path: Path, case) -> None:
    asked = problem(tmp_path, case["base"], case["queries"], case["k"], case["tags"], case["query_tags"])
    made = score(asked, truth_of(asked), stored_ids(case["ids"]))
    expected = naive(case)
    for name in ("hits", "hits_strict", "possible"):
        assert getattr(made, name).tolist() == expected[name], name
    assert made.hits_bigann.tolist() == expected["hits"]  # whole numbers: no tolerance matters
    assert made.invalid == expected["invalid"]


@relaxed
@given(cases())
def test_the_truth_itself_scores_full(tmp_path: Path, case) -> None:
    asked = problem(tmp_path, case["base"], case["queries"], case["k"], case["tags"], case["query_tags"])
    truth = truth_of(asked)
    made = score(asked, truth, truth.ids)
    assert (made.hits == made.possible).all()
    assert (made.hits_strict == made.possible).all()
    assert not any(made.invalid.values())


@relaxed
@given(cases())
def test_filters_agree_with_dense_matrices(tmp_path: Path, case) -> None:
    rows = np.clip(case["ids"], 0, len(case["base"]) - 1).astype(np.int64)
    tags, wanted = case["tags"] > 0, case["query_tags"] > 0
    expected = np.array([[(tags[r] >= wanted[q]).all() for r in rows[q]] for q in range(len(rows))])
    found = holds_all(
        place_csr(tmp_path, "t", csr_matrix(case["tags"])),
        place_csr(tmp_path, "q", csr_matrix(case["query_tags"])),
        rows,
    )
    assert np.array_equal(found, expected)


def test_a_tie_at_the_last_place_is_a_hit_but_no_strict_one(tmp_path: Path) -> None:
    base = np.array([[0], [1], [1], [9]], np.uint8)
    asked = problem(tmp_path, base, np.array([[0]], np.uint8), k=2)
    truth = truth_of(asked)
    assert truth.ids.tolist() == [[0, 1]]
    made = score(asked, truth, np.array([[0, 2]], np.int32))
    assert (made.hits[0], made.hits_strict[0]) == (2, 1)


def test_k_copies_of_one_neighbour_are_one_hit(tmp_path: Path) -> None:
    base = np.arange(10, dtype=np.uint8)[:, None]
    asked = problem(tmp_path, base, np.array([[0]], np.uint8), k=3)
    made = score(asked, truth_of(asked), np.array([[0, 0, 0]], np.int32))
    assert made.hits[0] == 1
    assert made.invalid["duplicate"] == 2


def test_the_tolerance_is_relative(tmp_path: Path) -> None:
    """An absolute tolerance calls everything within 0.001 a neighbour; here all the rows would be."""
    rng = np.random.default_rng(0)
    base = (rng.random((200, 4)) * 1e-3).astype(np.float32)
    asked = problem(tmp_path, base, base[:1], k=3)
    truth = truth_of(asked)
    far = np.argsort(((base - base[0]) ** 2).sum(axis=1))[-3:].astype(np.int32)
    assert score(asked, truth, far[None]).hits[0] == 0


def test_the_denominator_is_what_can_be_found(tmp_path: Path) -> None:
    tags = np.array([[1], [1], [0], [0]], np.float32)
    asked = problem(
        tmp_path, np.arange(4, dtype=np.uint8)[:, None], np.array([[0]], np.uint8), 3, tags, np.array([[1.0]])
    )
    made = score(asked, truth_of(asked), np.array([[0, 1, -1]], np.int32))
    assert (made.hits[0], made.possible[0]) == (2, 2)
    assert not any(made.invalid.values())


def test_a_padding_of_minus_one_is_never_a_hit(tmp_path: Path) -> None:
    tags = np.zeros((4, 1), np.float32)
    asked = problem(
        tmp_path, np.arange(4, dtype=np.uint8)[:, None], np.array([[0]], np.uint8), 3, tags, np.array([[1.0]])
    )
    made = score(asked, truth_of(asked), np.array([[-1, -1, -1]], np.int32))
    assert (made.hits[0], made.hits_strict[0], made.hits_bigann[0], made.possible[0]) == (0, 0, 0, 0)


def test_ids_that_are_not_live(tmp_path: Path) -> None:
    """Id 0 stands for row 3, id 5 for row 1; 2 was deleted."""
    live = Live(np.array([0, 5]), np.array([3, 1]))
    asked = problem(tmp_path, np.arange(4, dtype=np.uint8)[:, None], np.array([[3]], np.uint8), 2, live=live)
    truth = truth_of(asked)
    assert truth.ids.tolist() == [[0, 5]]
    made = score(asked, truth, np.array([[0, 2]], np.int32))
    assert made.hits[0] == 1
    assert made.invalid == {"out_of_range": 0, "duplicate": 0, "not_live": 1, "fails_filter": 0}
    assert validate(asked, np.array([[6, 5]], np.int32)).invalid["out_of_range"] == 1


@pytest.mark.parametrize(("given_id", "stored"), [(-1, -1), (-2, NO_ID), (2**31, NO_ID), (-(2**62), NO_ID), (7, 7)])
def test_ids_that_no_id_can_be(given_id: int, stored: int) -> None:
    assert stored_ids(np.array([[given_id]])).tolist() == [[stored]]
