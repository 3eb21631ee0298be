"""How many points match, and what a guess is worth."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ann_bench.truth import matching as room
from ann_bench.truth.matching import chance_recall, kept_matching, known_matching, matching
from ann_bench.truth.model import Problem
from ann_bench.truth.problems import Searches
from ann_bench.truth.store import truths_for
from tests.truth.helpers import bag, save, save_bags
from tests.truth.test_exact import bags, live_set

MEMORY = 1 << 28


def asked(folder: Path, rng: np.random.Generator, *, filtered: bool = True, k: int = 3) -> Problem:
    rows, queries, vocabulary = 40, 12, 6
    base, vectors = (save(folder, rng.integers(0, 9, (n, 4)).astype(np.uint8)) for n in (rows, queries))
    held = save_bags(folder, [sorted(set(one)) for one in bags(rng, rows, vocabulary, 5)], vocabulary)
    wanted = save_bags(folder, bags(rng, queries, vocabulary, 2), vocabulary)
    live = live_set(rng, rows)
    tags = (held, wanted) if filtered else (None, None)
    return Problem("euclidean", k, base, vectors, *tags, live=live)


def naive(problem: Problem) -> list[int]:
    assert problem.live is not None
    rows = problem.live.rows.tolist()
    return [
        sum(bag(problem.query_tags, number) <= bag(problem.tags, row) for row in rows)
        for number in range(problem.queries.shape[0])
    ]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_equals_counting_by_hand(seed: int, filtered: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        problem = asked(Path(folder), np.random.default_rng(seed), filtered=filtered)
        assert matching(problem, MEMORY, None).tolist() == naive(problem)


def test_a_guess_is_worth_what_guessing_gives(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    problem = asked(tmp_path, rng)
    searches = Searches.of([problem])
    (truth,) = truths_for(searches)
    expected = chance_recall(searches, [truth])
    assert problem.live is not None
    shares = []
    live = list(zip(problem.live.ids.tolist(), problem.live.rows.tolist(), strict=True))
    for number, found in enumerate(truth.ids.tolist()):
        right, wanted = {one for one in found if one >= 0}, bag(problem.query_tags, number)
        matches = [point for point, row in live if wanted <= bag(problem.tags, row)]
        if right:
            guesses = [set(rng.permutation(matches)[: len(right)].tolist()) for _ in range(3000)]
            shares.append(np.mean([len(guess & right) / len(right) for guess in guesses]))
    assert expected == pytest.approx(np.mean(shares), abs=0.02)


def test_it_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = asked(tmp_path, np.random.default_rng(1))
    assert known_matching("key") is None
    first = kept_matching(problem, "key")
    monkeypatch.setattr(room, "matching", None)
    assert kept_matching(problem, "key").tolist() == first.tolist() == naive(problem)


def test_without_a_filter_nothing_is_kept_and_no_live_set_is_made(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = Searches.of([asked(tmp_path, np.random.default_rng(2), filtered=False)] * 2)
    truths = truths_for(searches)
    monkeypatch.setattr(Searches, "__getitem__", None)
    live = searches.lives[0][:, 2].sum()
    assert chance_recall(searches, truths) == pytest.approx(min(3, live) / live)
    assert not list((own_cache / "truth").glob("*.npy"))


def test_within_a_radius_a_guess_has_no_size(tmp_path: Path) -> None:
    base = save(tmp_path, np.eye(4, dtype=np.float32))
    searches = Searches.of([Problem("euclidean", 1, base, base, radius=0.5)])
    assert math.isnan(chance_recall(searches, truths_for(searches)))
