"""The entries of the sparse track against brute force, on small data made to trip them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from ann_bench.entries.entry import plan_configs
from tests.algorithms.support import entries, made, readonly, recall, spmat, truth

ENTRIES = entries("sparse")
#: Arguments with which all neighbours are sure to be found.
THOROUGH = {"linscan": {"budget": 1, "candidates": 10**6}, "scipy-exact": {}}
#: The cheapest arguments: answers may be missing, none may be wrong.
HASTY = {"linscan": {"budget": 0.001, "candidates": 1}, "scipy-exact": {}}


def index_of(name, base, arguments, threads=2):
    index = made(ENTRIES[name], "ip", base.shape[1], "float32", threads)
    index.fit(base)
    index.set_query_arguments(**arguments)
    return index


def sparse(rng, rows, dim, share, negative=False):
    dense = rng.gamma(2, size=(rows, dim)) * (rng.random((rows, dim)) < share)
    dense *= rng.choice([-1, 1], dense.shape) if negative else 1
    return csr_matrix(dense.astype(np.float32))


def check(answers, k, base, queries, sure=True):
    """Every answer is a row, once; the inner products are those of brute force, ties in any order."""
    assert answers.shape == (queries.shape[0], k)
    assert np.issubdtype(answers.dtype, np.integer)
    scores = (queries.astype(np.float64) @ base.astype(np.float64).T).toarray()
    for line, found in enumerate(answers):
        ids = found[found >= 0]
        assert len(ids) == min(k, base.shape[0]), "rows of score 0 are answers too"
        assert (found[: len(ids)] >= 0).all(), "-1 stands only at the end"
        assert len(set(ids.tolist())) == len(ids)
        assert ids.max() < base.shape[0]
        if sure:
            best = -np.sort(-scores[line])[:k]
            np.testing.assert_allclose(scores[line][ids], best, rtol=1e-5, atol=1e-5 * max(1, np.abs(scores).max()))


def nasty(rng, negative):
    """Empty rows and queries, duplicates, a term in every row, a term in one and in none, a row of all terms."""
    base = sparse(rng, 300, 40, 0.1, negative).toarray()
    base[:, 39] = 0
    base[::17] = 0
    base[100:140] = base[1]
    base[:, 0] = 1
    base[150] = 3
    base[200:210] = 0
    base[:, 38] = 0
    base[7, 38] = 2.5
    queries = sparse(rng, 30, 40, 0.15, negative).toarray()
    queries[3] = 0
    queries[4:7] = np.eye(40)[[0, 38, 39]]
    queries[8] = 1
    return readonly(csr_matrix(base)), readonly(csr_matrix(queries))


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("k", [1, 10, 500])
def test_finds_all_neighbours_and_nothing_else(name, negative, threads, k):
    base, queries = nasty(np.random.default_rng(5), negative)
    check(index_of(name, base, THOROUGH[name], threads).query(queries, k), k, base, queries)


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("k", [1, 10, 500])
def test_no_answer_is_wrong_however_hasty(name, k):
    base, queries = nasty(np.random.default_rng(6), True)
    check(index_of(name, base, HASTY[name]).query(queries, k), k, base, queries, sure=False)


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("rows", [[[1.0, 0]], [[0.0, 0]], [[0.0, 0], [0, -2], [1, 1]]])
def test_a_base_of_few_rows(name, rows):
    base, queries = csr_matrix(np.float32(rows)), csr_matrix(np.float32([[1, 1], [0, 0], [0, -1]]))
    check(index_of(name, base, THOROUGH[name]).query(queries, 4), 4, base, queries)


@pytest.mark.parametrize("name", ENTRIES)
def test_an_empty_batch(name):
    base, queries = nasty(np.random.default_rng(7), False)
    assert index_of(name, base, THOROUGH[name]).query(queries[:0], 10).shape == (0, 10)


@pytest.mark.parametrize("name", ENTRIES)
def test_rows_beyond_one_block(name):
    """Both entries cut the base into blocks of 65,536 rows; the best rows here lie in the last one."""
    rng = np.random.default_rng(8)
    terms = rng.integers(0, 50, (140_000, 2))
    terms[:, 1] = (terms[:, 0] + 1 + terms[:, 1] % 49) % 50
    weights = rng.random(terms.shape, np.float32)
    weights[-4:] += 1
    base = csr_matrix((weights.ravel(), np.sort(terms).ravel(), np.arange(0, 280_001, 2)), (140_000, 50))
    queries = readonly(csr_matrix(np.eye(50, dtype=np.float32)))
    check(index_of(name, readonly(base), THOROUGH[name]).query(queries, 10), 10, base, queries)


@pytest.mark.parametrize("name", ENTRIES)
def test_64_bit_offsets_and_stored_zeros(name):
    base, queries = nasty(np.random.default_rng(9), False)
    data = base.data.copy()
    data[::7] = 0
    wide = csr_matrix(base.shape, dtype=np.float32)
    wide.indptr, wide.indices, wide.data = base.indptr.astype(np.int64), base.indices.astype(np.int64), data
    check(index_of(name, wide, THOROUGH[name]).query(queries, 10), 10, wide, queries)


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("metric", ["euclidean", "angular"])
def test_another_metric_is_refused(name, metric):
    base, _ = nasty(np.random.default_rng(9), False)
    with pytest.raises(ValueError, match=f"inner product; it cannot search by {metric}"):
        made(ENTRIES[name], metric, base.shape[1], "float32").fit(base)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.floats(0.001, 1), st.integers(1, 30))
def test_linscan_spends_its_budget_on_the_largest_products(seed, budget, candidates):
    """No answer is wrong; a larger budget takes no longer a list than all of it, and 1 finds everything."""
    rng = np.random.default_rng(seed)
    base, queries = sparse(rng, 50, 12, 0.4, negative=True), sparse(rng, 5, 12, 0.4, negative=True)
    index = index_of("linscan", base, {"budget": budget, "candidates": candidates}, threads=1)
    check(index.query(queries, 7), 7, base, queries, sure=False)
    index.set_query_arguments(budget=1, candidates=50)
    check(index.query(queries, 7), 7, base, queries)


@pytest.mark.parametrize("name", ENTRIES)
def test_reaches_recall_on_real_vectors(name):
    base, queries = spmat("base.sparse.spmat.gz"), spmat("queries.sparse.spmat")
    index = made(ENTRIES[name], "ip", base.shape[1], "float32")
    index.fit(base)
    nearest = truth("queries.sparse.ip.gt", queries.shape[0])
    found = []
    for arguments in plan_configs(ENTRIES[name], "debian-20k")[1]:
        index.set_query_arguments(**arguments)
        found.append(recall(index.query(queries, 10), nearest))
    assert max(found) >= 0.98
    assert sum(value >= 0.9 for value in found) >= 0.5 * len(found)
