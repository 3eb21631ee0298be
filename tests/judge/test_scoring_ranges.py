"""Scores of range searches against a naive loop, and average precision against a naive form of big-ann's rule."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from ann_bench.arrays import held, held_csr
from ann_bench.judge import scoring_ranges
from ann_bench.judge.scores import score
from ann_bench.ragged import Ragged, offsets_of
from ann_bench.results.figures import figures
from ann_bench.results.model import CURVE, Outcome, Score, Status
from ann_bench.results.model import Bundle as Measured
from ann_bench.results.ranges import bigann_precision, precision, query_shares, share_found
from ann_bench.truth.distance import pair_distances
from ann_bench.truth.model import Live, Problem, RangeTruth
from ann_bench.truth.within import within
from tests.results import made

METRICS = ["euclidean", "ip", "angular"]


def ragged(lists: list[list[int]]) -> Ragged:
    ids = np.array([one for line in lists for one in line], dtype=np.int32)
    return Ragged(offsets_of(np.array([len(line) for line in lists], dtype=np.int64)), ids)


def truth_of(problem: Problem) -> RangeTruth:
    return within(problem).truth("key")


def area(points: list[tuple[float, float]]) -> float:
    """Trapezoids under precision over recall."""
    return sum((r1 - r0) * (p1 + p0) / 2 for (p0, r0), (p1, r1) in pairwise(points))


def naive(right: list[list[int]], answers: list[list[int]], distances: np.ndarray, thresholds: list[float]) -> float:
    """Precision and recall of all queries together at each threshold, one id after the other."""
    total, points = sum(map(len, right)), []
    for threshold in thresholds:
        shown = hits = 0
        for query, line in enumerate(answers):
            for one in line:
                if distances[query, one] < threshold:
                    shown += 1
                    hits += one in right[query]
        points.append((hits / shown if shown else 1.0, hits / total))
    return area(points)


@st.composite
def cases(draw):
    """Distances that repeat; answers that lack ids, hold wrong ones, or none at all."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows, queries = draw(st.integers(1, 40)), draw(st.integers(1, 8))
    metric = draw(st.sampled_from(METRICS))
    kind = draw(st.sampled_from(["uint8", "float32"]))
    make = (
        (lambda n: rng.integers(0, 6, (n, 3)).astype(kind))
        if draw(st.booleans())
        else (lambda n: (rng.random((n, 3)) * 200).astype(kind))
    )
    base, asked = make(rows), make(queries)
    distances = pair_distances(metric, asked, base, np.tile(np.arange(rows), (queries, 1)))
    reach = float(np.quantile(distances, draw(st.sampled_from([0.0, 0.1, 0.3, 0.6, 1.0]))))
    share, wrong = draw(st.sampled_from([0.0, 0.5, 1.0])), draw(st.sampled_from([0.0, 0.1, 0.7]))
    answers = []
    for query in range(queries):
        inside = distances[query] < reach
        chance = np.where(inside, share, wrong)
        answers.append(rng.permutation(np.flatnonzero(rng.random(rows) < chance)).tolist())
    problem = Problem(metric, 10, held(base), held(asked), radius=-reach if metric == "ip" else reach)
    return problem, distances, answers


@settings(max_examples=200, deadline=None)
@given(cases())
def test_average_precision_is_that_of_big_ann(case) -> None:
    problem, distances, answers = case
    truth = truth_of(problem)
    found = score(problem, truth, ragged(answers))
    right = [truth.found.ids[a:b].tolist() for a, b in pairwise(truth.found.offsets)]
    assert right == [sorted(np.flatnonzero(line < problem.reach), key=lambda i: (line[i], i)) for line in distances]
    given_distances = [distances[query, one] for query, line in enumerate(answers) for one in line]
    total = sum(map(len, right))
    assert found.possible.tolist() == [len(line) for line in right]
    assert found.returned.tolist() == [len(line) for line in answers]
    assert found.hits_strict.tolist() == [len(set(a) & set(b)) for a, b in zip(answers, right, strict=True)]
    assert not any(found.invalid.values())
    if not total:
        assert math.isnan(bigann_precision(found))
        assert math.isnan(share_found(found.hits, found.possible))
        return
    if not given_distances:
        assert bigann_precision(found) == share_found(found.hits, found.possible) == 0
        return
    start, end = min(0.0, *given_distances) - 0.001, max(given_distances)
    thresholds = np.linspace(start, end, CURVE).tolist()
    assert bigann_precision(found) == pytest.approx(naive(right, answers, distances, thresholds), abs=1e-12)
    # at every distance instead of 100 thresholds, with the last one beyond them all
    every = [start, *(math.nextafter(one, math.inf) for one in sorted(set(given_distances)))]
    limit = naive(right, answers, distances, every)
    assert share_found(found.hits_strict, found.possible) == pytest.approx(limit, abs=1e-12)
    assert bigann_precision(found) <= limit + 1e-12
    assert precision(found) == pytest.approx(sum(map(len, right)) and found.hits_strict.sum() / len(given_distances))


@settings(max_examples=100, deadline=None)
@given(cases(), st.booleans(), st.booleans(), st.integers(0, 2**32))
def test_validity_against_a_naive_loop(case, alive, tagged, seed) -> None:
    problem, distances, answers = case
    rng = np.random.default_rng(seed)
    queries, rows = distances.shape
    live = None
    if alive:
        ids = np.sort(rng.choice(2 * rows, rows, replace=False)).astype(np.int64)
        live = Live(ids[: rows // 2], rng.permutation(rows)[: rows // 2].astype(np.int64))
    own, asked = rng.random((rows, 3)) < 0.7, rng.random((queries, 3)) < 0.3
    tags = {
        "tags": held_csr(csr_matrix(own, dtype=np.float32)),
        "query_tags": held_csr(csr_matrix(asked, dtype=np.float32)),
    }
    problem = Problem(
        problem.metric, 10, problem.base, problem.queries, live=live, radius=problem.radius, **(tags if tagged else {})
    )
    answers = [line + rng.choice([*line, -1, -2, rows, 2 * rows + 1, 0], 2).tolist() for line in answers]
    row_of = dict(zip(live.ids.tolist(), live.rows.tolist(), strict=True)) if live else {i: i for i in range(rows)}
    span = max(row_of, default=-1) + 1
    counts = {"out_of_range": 0, "duplicate": 0, "not_live": 0, "fails_filter": 0}
    strict = []
    for query, line in enumerate(answers):
        seen, hits = set(), 0
        for one in line:
            if not 0 <= one < span:
                counts["out_of_range"] += 1
            elif one in seen:
                counts["duplicate"] += 1
            elif one not in row_of:
                counts["not_live"] += 1
            elif tagged and not (own[row_of[one]] >= asked[query]).all():
                counts["fails_filter"] += 1
            else:
                hits += distances[query, row_of[one]] < problem.reach
            seen.add(one)
        strict.append(hits)
    found = score(problem, truth_of(problem), ragged(answers))
    assert dict(found.invalid) == counts
    assert found.hits_strict.tolist() == strict
    assert found.returned.tolist() == [len(line) for line in answers]


def test_portions_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    base, queries = rng.random((50, 4)).astype(np.float32), rng.random((30, 4)).astype(np.float32)
    problem = Problem("euclidean", 1, held(base), held(queries), radius=0.5)
    answers = ragged([rng.permutation(50)[: rng.integers(0, 40)].tolist() for _ in range(30)])
    whole = score(problem, truth_of(problem), answers)
    for size in (1, 7, 100):
        monkeypatch.setattr(scoring_ranges, "_ANSWERS", size)
        again = score(problem, truth_of(problem), answers)
        for name in ("hits", "hits_strict", "possible", "returned", "curve"):
            np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))


def test_float32_may_miss_the_border_by_a_little() -> None:
    """An id a millionth beyond the radius stands for one that float32 put there, but never for more than there are."""
    base = np.array([[0.0], [1.0], [1.0 + 2e-7], [2.0]], dtype=np.float32)
    problem = Problem("euclidean", 1, held(base), held(base[:1]), radius=1.0 + 1e-7)
    truth = truth_of(problem)
    assert truth.found.ids.tolist() == [0, 1]
    swapped = score(problem, truth, ragged([[0, 2]]))
    assert (swapped.hits.tolist(), swapped.hits_strict.tolist()) == ([2], [1])
    assert score(problem, truth, ragged([[0, 1, 2]])).hits.tolist() == [2]
    assert score(problem, truth, ragged([[0, 3]])).hits.tolist() == [1]


def test_more_answers_than_16_bits_count() -> None:
    base = np.zeros((70_000, 1), dtype=np.uint8)
    problem = Problem("euclidean", 1, held(base), held(base[:1]), radius=1.0)
    found = score(problem, truth_of(problem), ragged([list(range(70_000))]))
    assert (int(found.hits[0]), int(found.possible[0]), int(found.returned[0])) == (70_000,) * 3


def test_kinds_do_not_mix() -> None:
    base = np.zeros((3, 1), dtype=np.uint8)
    problem = Problem("euclidean", 1, held(base), held(base), radius=1.0)
    with pytest.raises(TypeError, match="different kinds"):
        score(problem, truth_of(problem), np.zeros((3, 1), np.int32))


def bundle(hits: np.ndarray, possible: np.ndarray) -> Measured:
    arrays = [np.asarray(one, dtype=np.uint32) for one in (hits, hits, hits, possible)]
    counts = Score(*arrays, invalid={}, returned=arrays[0], curve=np.zeros((2, CURVE), np.int64))
    name = made.identity(workload=[{"op": "search", "queries": len(hits), "k": 10, "radius": 2.0}])
    answers = Ragged(offsets_of(hits), np.zeros(int(hits.sum()), np.int32))
    return Measured(
        name, Outcome(Status.OK), counts=(len(hits),), seconds=np.ones((1, 3, 1)),
        answer_of=np.zeros((1, 3, 1), np.int32), answers=(answers,), scores=(counts,),
    )  # fmt: skip


def test_queries_with_many_answers_weigh_more() -> None:
    row = figures(bundle(np.array([90, 0, 0]), np.array([90, 10, 0])))
    assert (row.recall, row.measured) == (0.9, "AP")
    assert row.recall_low < 0.9 < row.recall_high


def test_the_interval_is_that_of_a_bootstrap_over_queries() -> None:
    rng = np.random.default_rng(3)
    possible = np.minimum(rng.zipf(1.6, 1500), 300)
    hits = rng.binomial(possible, rng.beta(8, 2, 1500))
    row = figures(bundle(hits, possible))
    drawn = rng.integers(0, 1500, (2000, 1500))
    low, high = np.quantile(hits[drawn].sum(axis=1) / possible[drawn].sum(axis=1), [0.025, 0.975])
    assert row.recall_high - row.recall_low == pytest.approx(high - low, rel=0.15)
    assert row.recall_low == pytest.approx(low, abs=0.2 * (high - low))


def test_shares_average_to_the_whole() -> None:
    score_ = bundle(np.array([3, 1, 0, 7]), np.array([4, 1, 0, 9])).scores[0]
    shares = query_shares(score_, 11 / 14)
    assert np.isnan(shares[2])
    assert np.nanmean(shares) == pytest.approx(11 / 14)
