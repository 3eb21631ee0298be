"""The entries of the filtered track against brute force, on small data made to trip them."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ann_bench.entries.discovery import discover
from ann_bench.entries.entry import plan_configs
from tests.algorithms.support import load

HOME = Path(__file__).resolve().parents[2]
ENTRIES = {entry.name: entry for entry in discover("filtered", HOME)}

#: Query arguments, and the queries that are sure to get all their neighbours with them.
THOROUGH = {
    "exact": [({}, "all")],
    "faiss-ivf": [({"nprobe": 1000, "max_scan": 0}, "all"), ({"nprobe": 1, "max_scan": 10**6}, "tagged")],
    "faiss-hnsw": [({"ef": 1000, "max_scan": 1}, "none"), ({"ef": 10, "max_scan": 10**6}, "tagged")],
    "hnswlib": [
        ({"factor": 1, "cap": 10**6, "scan": False}, "none"),
        ({"factor": 1, "cap": 20, "scan": True}, "none"),
        ({"factor": 1e6, "cap": 5, "scan": True}, "all"),
    ],
    "deglib": [({"eps": 1.0}, "none")],
    "zvec": [({"ef": 1000}, "none")],
}
#: The cheapest arguments: answers may be missing, none may be wrong.
HASTY = {
    "exact": {},
    "faiss-ivf": {"nprobe": 1, "max_scan": 0},
    "faiss-hnsw": {"ef": 1, "max_scan": 0},
    "hnswlib": {"factor": 0.01, "cap": 1, "scan": False},
    "deglib": {"eps": 0.0},
    "zvec": {"ef": 1},
}
EVERY = [
    pytest.param(name, arguments, sure, id=f"{name}-{number}")
    for name, configs in THOROUGH.items()
    for number, (arguments, sure) in enumerate(configs)
]


def bags(sets, vocabulary):
    indptr = np.cumsum([0, *map(len, sets)], dtype=np.int32)
    indices = np.array([tag for tags in sets for tag in tags], dtype=np.int32)
    matrix = csr_matrix((np.ones(len(indices), np.float32), indices, indptr), (len(sets), vocabulary))
    for part in (matrix.indptr, matrix.indices, matrix.data):
        part.setflags(write=False)
    return matrix


def readonly(array):
    array.setflags(write=False)
    return array


def index_of(name, base, tags, metric="euclidean", threads=2):
    entry = ENTRIES[name]
    build, _ = plan_configs(entry, "some-set")
    index = load(entry)(metric, base.shape[1], base.dtype.name, threads, **build)
    index.fit(base, tags)
    return index


def distances(metric, base, query):
    base, query = base.astype(np.float64), query.astype(np.float64)
    if metric == "euclidean":
        return ((base - query) ** 2).sum(axis=1)
    if metric == "ip":
        return -(base @ query)
    return -(base @ query) / np.maximum(np.linalg.norm(base, axis=1) * np.linalg.norm(query), 1e-30)


def check(answers, k, metric, base, tags, queries, wanted, sure):
    """Every answer is valid; of `sure` queries the distances are those of brute force, ties in any order."""
    assert answers.shape == (len(queries), k)
    assert np.issubdtype(answers.dtype, np.integer)
    holds = tags.toarray() > 0
    for query in range(len(queries)):
        matching = np.flatnonzero(holds[:, wanted[query].indices].all(axis=1))
        given = answers[query][answers[query] >= 0]
        assert (answers[query][: len(given)] >= 0).all(), "-1 stands only at the end"
        assert (answers[query][len(given) :] == -1).all()
        assert len(set(given.tolist())) == len(given)
        assert set(given.tolist()) <= set(matching.tolist())
        if sure == "all" or (sure == "tagged" and wanted[query].nnz):
            far = distances(metric, base, queries[query])
            best = np.sort(far[matching])[:k]
            np.testing.assert_allclose(far[given], best, rtol=1e-5, atol=1e-5 * max(1.0, np.abs(far).max()))


def numbers(rng, dtype, shape):
    if dtype == "float32":
        return rng.standard_normal(shape).astype(np.float32)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, endpoint=True).astype(dtype)


def nasty(dtype, rows=300, dim=8, seed=3):
    """Duplicates, ties, rows without tags, a tag on every row, tags on one row and on none, repeated tags."""
    rng = np.random.default_rng(seed)
    base = numbers(rng, dtype, (rows, dim))
    base[rows // 2 : rows // 2 + 40] = base[0]
    base[-5:] = 0
    sets = [[] if row % 17 == 5 else sorted({0, 1 + row % 3, 4 + int(rng.integers(20))}) for row in range(rows)]
    sets[7] = [24, 0]  # the only row with tag 24, tags not in order; nobody has 25
    sets[8] = [0, 0, 1]  # a tag that stands there twice is one tag
    wanted = [[], [0], [1], [0, 1], [1, 0], [2, 4], [24], [24, 1], [25], [0, 25], [1, 2], [0, 3, 5], [0, 0]] * 3
    queries = np.concatenate([base[:20], numbers(rng, dtype, (len(wanted) - 20, dim))])
    return readonly(base), bags(sets, 26), readonly(queries), bags(wanted, 26)


@pytest.mark.parametrize(("name", "arguments", "sure"), EVERY)
@pytest.mark.parametrize(
    ("dtype", "metric"), list(product(["uint8", "int8", "float32"], ["euclidean", "ip", "angular"]))
)
def test_finds_all_neighbours_and_nothing_else(name, arguments, sure, dtype, metric):
    base, tags, queries, wanted = nasty(dtype)
    index = index_of(name, base, tags, metric)
    index.set_query_arguments(**arguments)
    check(index.query(queries, 10, wanted), 10, metric, base, tags, queries, wanted, sure)


@pytest.mark.parametrize("name", HASTY)
@pytest.mark.parametrize("k", [1, 10, 500])
def test_no_answer_is_wrong_however_hasty(name, k):
    base, tags, queries, wanted = nasty("int8")
    index = index_of(name, base, tags)
    index.set_query_arguments(**HASTY[name])
    check(
        index.query(queries, k, wanted),
        k,
        "euclidean",
        base,
        tags,
        queries,
        wanted,
        "all" if name == "exact" else "none",
    )


@pytest.mark.parametrize(("name", "arguments", "sure"), EVERY)
@pytest.mark.parametrize("rows", [1, 3])
def test_k_beyond_the_base(name, arguments, sure, rows):
    base = readonly(np.arange(rows * 4, dtype=np.uint8).reshape(rows, 4))
    tags, wanted = bags([[0]] * rows, 2), bags([[], [0], [1]], 2)
    queries = readonly(np.zeros((3, 4), np.uint8))
    index = index_of(name, base, tags)
    index.set_query_arguments(**arguments)
    answers = index.query(queries, 7, wanted)
    check(answers, 7, "euclidean", base, tags, queries, wanted, "all")
    assert answers[0].tolist() == answers[1].tolist() == [*range(rows), *[-1] * (7 - rows)]


@pytest.mark.parametrize(("name", "arguments", "sure"), EVERY)
def test_without_tags(name, arguments, sure):
    base, _, queries, _ = nasty("float32")
    index = index_of(name, base, None, threads=1)
    index.set_query_arguments(**arguments)
    answers = index.query(queries, 5, None)
    none = bags([[]] * len(base), 1)
    check(answers, 5, "euclidean", base, none, queries, bags([[]] * len(queries), 1), sure)


@pytest.mark.parametrize("name", HASTY)
def test_an_empty_batch(name):
    base, tags, queries, wanted = nasty("uint8")
    index = index_of(name, base, tags)
    index.set_query_arguments(**HASTY[name])
    assert index.query(queries[:0], 10, wanted[:0]).shape == (0, 10)


def test_exact_gives_ties_to_the_smaller_id():
    base = readonly(np.zeros((20_000, 4), np.int8))
    tags = bags([[0]] * len(base), 1)
    index = index_of("exact", base, tags)
    answers = index.query(base[:2], 10, bags([[0], []], 1))
    assert answers.tolist() == [list(range(10))] * 2


def test_exact_is_exact_where_float32_is_not():
    base = readonly(np.array([[4097.0, 0], [4096.0, 0], [4096.5, 0]], np.float32))
    index = index_of("exact", base, None)
    assert index.query(np.array([[4098.0, 0]], np.float32), 3).tolist() == [[0, 2, 1]]


@pytest.mark.parametrize("name", ENTRIES)
def test_reaches_recall_on_real_vectors(name):
    folder = HOME / "datasets" / "debian-20k"
    if not (folder / "base.i8bin").exists():
        pytest.skip("the files of debian-20k are not here")
    base, tags = vectors(folder / "base.i8bin"), spmat(folder / "base.tags.spmat")
    queries, wanted = vectors(folder / "queries.sentences.i8bin"), spmat(folder / "queries.sentences.tags.spmat")
    truth = np.fromfile(folder / "queries.sentences.filtered.gt", "<i4", len(queries) * 10, offset=8).reshape(-1, 10)
    index = index_of(name, base, tags)
    best = 0.0
    for arguments in reversed(plan_configs(ENTRIES[name], "debian-20k")[1]):
        index.set_query_arguments(**arguments)
        answers = index.query(queries, 10, wanted)
        best = max(
            best, np.mean([len(set(a) & set(t)) / 10 for a, t in zip(answers.tolist(), truth.tolist(), strict=True)])
        )
        if best >= 0.9:
            break
    assert best >= 0.9


def vectors(path):
    rows, dim = np.fromfile(path, "<u4", 2)
    return np.memmap(path, np.int8, "r", 8, (int(rows), int(dim)))


def spmat(path):
    rows, columns, count = (int(number) for number in np.fromfile(path, "<i8", 3))
    indptr = np.fromfile(path, "<i8", rows + 1, offset=24)
    indices = np.fromfile(path, "<i4", count, offset=24 + 8 * (rows + 1))
    return csr_matrix((np.ones(count, np.float32), indices, indptr), (rows, columns))
