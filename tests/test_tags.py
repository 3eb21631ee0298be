"""The posting lists that entries may use, against dense matrices."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from ann_bench.tags import Postings, shares


def bags(seed: int, rows: int, tags: int, density: float) -> csr_matrix:
    return csr_matrix((np.random.default_rng(seed).random((rows, tags)) < density).astype(np.float32))


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 999), st.integers(1, 300), st.integers(1, 6), st.sampled_from([0.005, 0.1, 0.9]), st.data())
def test_matching_rows_are_those_of_a_dense_matrix(seed, rows, tags, density, data) -> None:
    held = bags(seed, rows, tags, density)
    wanted = tuple(data.draw(st.lists(st.integers(0, tags - 1), min_size=1, max_size=4)))
    expected = np.flatnonzero((held.toarray()[:, list(wanted)] > 0).all(axis=1))
    postings = Postings(held, rows)
    assert postings.matching(wanted).tolist() == expected.tolist()
    bits = np.unpackbits(postings.bitmap(postings.matching(wanted)), bitorder="little")
    assert np.flatnonzero(bits).tolist() == expected.tolist()


def test_a_tag_that_a_row_holds_twice_is_held_once() -> None:
    twice = csr_matrix((np.ones(3), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    assert Postings(twice, 2).of(0).tolist() == [0]


def test_a_base_without_tags() -> None:
    assert Postings(None, 7).count == 7


@settings(deadline=None)
@given(st.integers(0, 999), st.integers(1, 60), st.integers(1, 4), st.integers(1, 5))
def test_every_query_is_in_one_share_under_its_own_tags(seed, queries, tags, threads) -> None:
    asked = bags(seed, queries, tags, 0.4)
    dealt = [piece for share in shares(asked, queries, threads) for piece in share]
    assert sorted(query for _, who in dealt for query in who) == list(range(queries))
    for wanted, who in dealt:
        for query in who:
            assert wanted == tuple(np.flatnonzero(asked[query].toarray()[0]).tolist())


def test_queries_without_tags_ask_for_nothing() -> None:
    assert {wanted for share in shares(None, 9, 2) for wanted, _ in share} == {()}
