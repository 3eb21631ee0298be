"""Suggestions on a space whose best point is known."""

from __future__ import annotations

import math
from statistics import mean

import pytest

from ann_bench.entries.space import Space
from ann_bench.tune import suggest
from ann_bench.tune.suggest import Suggestions

SPACE = Space.model_validate(
    {
        "build": {"size": {"from": 1, "to": 1024, "log": True}, "kind": ["slow", {"quick": True}]},
        "query": {"effort": {"from": 1, "to": 400, "log": True}, "share": {"from": 0.0, "to": 1.0}},
    }
)
BEST = 2500.0


def reached(build, query):
    """Recall and speed: at recall 0.8 the quickest is size 16, effort 80, the quick kind."""
    quality = 1 / (1 + abs(math.log2(build["size"] / 16)))
    speed = 1e5 / query["effort"] * (1 if build["kind"] == "slow" else 2)
    return min(1.0, query["effort"] * quality / 100), speed


def best_of(seed: int, rounds: int = 12) -> float:
    suggestions, best = Suggestions(SPACE, seed, 8), 0.0
    for _ in range(rounds):
        for proposal in suggestions.round():
            recall, qps = reached(proposal.build, proposal.query)
            suggestions.tell(proposal, (recall, qps))
            best = max(best, qps if recall >= 0.8 else 0.0)
    return best / BEST


def test_it_finds_more_than_chance_does(monkeypatch) -> None:
    learned = [best_of(seed) for seed in range(4)]
    monkeypatch.setattr(suggest, "RANDOM_BUILDS", 10**6)
    random = [best_of(seed) for seed in range(4)]
    assert mean(learned) > mean(random)
    assert max(learned) > 0.5


def test_a_round_shares_one_build_and_asks_for_no_query_twice() -> None:
    suggestions = Suggestions(SPACE, 1, 6)
    for _ in range(3):
        proposals = suggestions.round()
        assert len(proposals) == 6
        assert all(one.build == proposals[0].build for one in proposals)
        assert len({(one.query["effort"], one.query["share"]) for one in proposals}) == 6
        for one in proposals:
            assert 1 <= one.build["size"] <= 1024
            assert isinstance(one.build["size"], int)
            assert one.build["kind"] in ("slow", {"quick": True})
            assert 1 <= one.query["effort"] <= 400
            assert 0.0 <= one.query["share"] <= 1.0
            suggestions.tell(one, None if one is proposals[0] else reached(one.build, one.query))


@pytest.mark.parametrize(
    ("space", "most"),
    [({"build": {"size": [1, 2]}}, 1), ({"query": {"effort": [1, 2]}}, 2), ({"query": {"on": [True, False]}}, 2)],
)
def test_a_small_space_has_small_rounds(space, most) -> None:
    suggestions = Suggestions(Space.model_validate(space), 1, 10)
    for _ in range(3):
        proposals = suggestions.round()
        assert 1 <= len(proposals) <= most
        for one in proposals:
            suggestions.tell(one, (0.5, 100.0))


def test_the_same_seed_begins_in_the_same_way() -> None:
    one, other = ([p.query for p in Suggestions(SPACE, seed, 4).round()] for seed in (3, 3))
    assert one == other
    assert one != [p.query for p in Suggestions(SPACE, 4, 4).round()]


@pytest.mark.parametrize("size", [16, 5000, "large", None, True])
def test_what_was_measured_before_counts_where_it_lies_in_the_space(size) -> None:
    suggestions = Suggestions(SPACE, 1, 4)
    suggestions.know({"size": size, "kind": "slow"}, {"effort": 100, "share": 0.5}, (0.9, 10.0))
    assert len(suggestions._study.trials) == (1 if size == 16 else 0)
