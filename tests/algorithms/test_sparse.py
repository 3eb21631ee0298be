"""The entries of the sparse track against brute force, on small data made to trip them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from ann_bench.entries.entry import plan_configs
from tests.algorithms.support import entries, made, readonly, spmat

ENTRIES = entries("sparse")
#: Arguments with which all neighbours are found; a graph may not lead to some.
THOROUGH = {
    "linscan": {"budget": 1, "candidates": 10**6},
    "scipy-exact": {},
    "seismic": {"cut": 10**6, "heap": 0.5},
    "sindi": {"query_prune": 0.0, "term_prune": 0.0, "candidates": 1000},
    "kannolo-sparse": {"ef": 1000},
    "nmslib": {"ef": 1000},
}
#: The cheapest arguments: answers may be missing, none may be wrong.
HASTY = {
    "linscan": {"budget": 0.001, "candidates": 1},
    "scipy-exact": {},
    "seismic": {"cut": 1, "heap": 1.0},
    "sindi": {"query_prune": 0.9, "term_prune": 0.9, "candidates": 1},
    "kannolo-sparse": {"ef": 1},
    "nmslib": {"ef": 1},
}
#: Those whose answers are as brute force has them, ties in any order, rows of score 0 included.
EXACT = {"linscan", "scipy-exact"}
#: Those that count on weights of 0 and more; of others they may miss what they like.
POSITIVE = {"seismic"}


def index_of(name, base, arguments, threads=2):
    index = made(ENTRIES[name], "ip", base.shape[1], "float32", threads)
    index.fit(base)
    index.set_query_arguments(**arguments)
    return index


def sparse(rng, rows, dim, share, negative=False):
    dense = rng.gamma(2, size=(rows, dim)) * (rng.random((rows, dim)) < share)
    dense *= rng.choice([-1, 1], dense.shape) if negative else 1
    return csr_matrix(dense.astype(np.float32))


def check(name, answers, k, base, queries, sure=True):
    """Every answer is a row, once; the inner products are those of brute force, ties in any order.

    Others than the exact ones may miss a few, and rows of score 0.
    """
    assert answers.shape == (queries.shape[0], k)
    assert np.issubdtype(answers.dtype, np.integer)
    scores = (queries.astype(np.float64) @ base.astype(np.float64).T).toarray()
    hits = wanted = 0
    for line, found in enumerate(answers):
        ids = found[found >= 0]
        assert (found[: len(ids)] >= 0).all(), "-1 stands only at the end"
        assert len(set(ids.tolist())) == len(ids)
        assert ids.max(initial=0) < base.shape[0]
        best = -np.sort(-scores[line])[:k]
        hits += np.sum(scores[line][ids] >= best[-1] - 1e-3 * np.abs(scores).max() - 1e-9) if len(ids) else 0
        wanted += np.sum(best > 0)
        if name in EXACT:
            assert len(ids) == min(k, base.shape[0]), "rows of score 0 are answers too"
            if sure:
                limit = 1e-5 * max(1, np.abs(scores).max())
                np.testing.assert_allclose(scores[line][ids], best, rtol=1e-5, atol=limit)
    assert not sure or hits >= 0.9 * wanted


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
    sure = not (negative and name in POSITIVE)
    check(name, index_of(name, base, THOROUGH[name], threads).query(queries, k), k, base, queries, sure)


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("k", [1, 10, 500])
def test_no_answer_is_wrong_however_hasty(name, k):
    base, queries = nasty(np.random.default_rng(6), True)
    check(name, index_of(name, base, HASTY[name]).query(queries, k), k, base, queries, sure=False)


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("rows", [[[1.0, 0]], [[0.0, 0]], [[0.0, 0], [0, -2], [1, 1]]])
def test_a_base_of_few_rows(name, rows):
    base, queries = csr_matrix(np.float32(rows)), csr_matrix(np.float32([[1, 1], [0, 0], [0, -1]]))
    check(name, index_of(name, base, THOROUGH[name]).query(queries, 4), 4, base, queries)


@pytest.mark.parametrize("name", ENTRIES)
def test_an_empty_batch(name):
    base, queries = nasty(np.random.default_rng(7), False)
    assert index_of(name, base, THOROUGH[name]).query(queries[:0], 10).shape == (0, 10)


@pytest.mark.parametrize("name", ["linscan", "scipy-exact", "seismic", "sindi"])
def test_rows_beyond_one_block(name):
    """Most entries cut the base into blocks of 65,536 rows; the best rows here lie in the last one."""
    rng = np.random.default_rng(8)
    terms = rng.integers(0, 50, (140_000, 2))
    terms[:, 1] = (terms[:, 0] + 1 + terms[:, 1] % 49) % 50
    weights = rng.random(terms.shape, np.float32)
    weights[-4:] += 1
    base = csr_matrix((weights.ravel(), np.sort(terms).ravel(), np.arange(0, 280_001, 2)), (140_000, 50))
    queries = readonly(csr_matrix(np.eye(50, dtype=np.float32)))
    check(name, index_of(name, readonly(base), THOROUGH[name]).query(queries, 10), 10, base, queries)


@pytest.mark.parametrize("name", ENTRIES)
def test_64_bit_offsets_and_stored_zeros(name):
    base, queries = nasty(np.random.default_rng(9), False)
    data = base.data.copy()
    data[::7] = 0
    wide = csr_matrix(base.shape, dtype=np.float32)
    wide.indptr, wide.indices, wide.data = base.indptr.astype(np.int64), base.indices.astype(np.int64), data
    check(name, index_of(name, wide, THOROUGH[name]).query(queries, 10), 10, wide, queries)


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
    check("linscan", index.query(queries, 7), 7, base, queries, sure=False)
    index.set_query_arguments(budget=1, candidates=50)
    check("linscan", index.query(queries, 7), 7, base, queries)


@pytest.mark.parametrize("name", ENTRIES)
def test_reaches_recall_on_real_vectors(name):
    base, queries = spmat("base.sparse.spmat.gz")[:5000], spmat("queries.sparse.spmat")[:300]
    scores = (queries @ base.T).toarray()
    worst = -np.sort(-scores, axis=1)[:, 9:10]
    index = made(ENTRIES[name], "ip", base.shape[1], "float32")
    index.fit(base)
    found = []
    for arguments in plan_configs(ENTRIES[name], "debian-20k")[1]:
        index.set_query_arguments(**arguments)
        answers = index.query(queries, 10)
        near = np.take_along_axis(scores, answers.clip(0), axis=1) >= worst - 1e-3
        found.append(np.mean(near & (answers >= 0)))
    assert max(found) >= 0.97
    assert sum(value >= 0.9 for value in found) >= 0.5 * len(found)
