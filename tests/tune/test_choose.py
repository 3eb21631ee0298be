"""Which configurations are chosen."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from ann_bench.tune.choose import best_at, choose, front
from ann_bench.tune.model import Measured

RECALLS = (0.8, 0.9, 0.99)


def one(build: int, query: int, recall: float, qps: float) -> Measured:
    return Measured({"b": build}, {"q": query}, recall, qps)


TRIALS = st.lists(
    st.builds(one, st.integers(0, 3), st.integers(0, 30), st.floats(0, 1), st.floats(1, 1e6)), min_size=1, max_size=40
)


@given(TRIALS, st.integers(1, 10))
def test_one_build_and_as_many_configs_as_are_allowed(trials, most) -> None:
    chosen = choose(trials, RECALLS, most)
    assert 1 <= len(chosen.seen) <= most
    assert all(config.build == chosen.build for config in chosen.seen)
    assert len({config.query["q"] for config in chosen.seen}) == len(chosen.seen)
    assert all(config in trials for config in chosen.seen)
    reached = [sum(best_at(mine, recall) is not None for recall in RECALLS) for mine in by_build(trials)]
    if most >= len(RECALLS):
        assert sum(best_at(chosen.seen, recall) is not None for recall in RECALLS) == max(reached)


@given(TRIALS)
def test_nothing_is_quicker_at_the_only_recall_that_is_wanted(trials) -> None:
    chosen, best = choose(trials, [0.5], 1), best_at(trials, 0.5)
    assert best is None or chosen.seen[0].qps == best.qps


@given(TRIALS)
def test_the_front(trials) -> None:
    kept = front(trials)
    for config in trials:
        assert any(other.recall >= config.recall and other.qps >= config.qps for other in kept)
    for config, other in itertools.pairwise(kept):
        assert config.qps >= other.qps
        assert config.recall < other.recall


def by_build(trials):
    return [[trial for trial in trials if trial.build["b"] == build] for build in range(4)]


def test_the_build_is_the_quicker_one_of_those_that_reach_as_much() -> None:
    trials = [one(1, 1, 0.95, 100), one(1, 2, 0.85, 1000), one(2, 1, 0.95, 200), one(2, 2, 0.8, 900)]
    chosen = choose([*trials, one(3, 1, 0.85, 1e6)], (0.8, 0.9), 10)
    assert chosen.build == {"b": 2}
    assert [config.query["q"] for config in chosen.seen] == [2, 1]


def test_where_nothing_reaches_it_the_best_recall_counts() -> None:
    assert choose([one(1, 1, 0.3, 100), one(2, 1, 0.2, 1000)], (0.8,), 2).build == {"b": 1}
