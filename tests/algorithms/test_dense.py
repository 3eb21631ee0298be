"""The entries for dense vectors against brute force, on small data made to trip them."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from ann_bench.algorithm import Algorithm
from ann_bench.entries.discovery import discover
from ann_bench.entries.entry import plan_configs
from tests.algorithms.support import load

HOME = Path(__file__).resolve().parents[2]
ENTRIES = {entry.name: entry for track in ("dense", "ood") for entry in discover(track, HOME)}
DTYPES = ["float32", "float16", "uint8", "int8"]
METRICS = ["euclidean", "ip", "angular"]

#: Query arguments that leave nothing to luck, but for graphs: where those do not lead, nothing is found.
THOROUGH = {
    "exact": {},
    "faiss-ivf": {"nprobe": 10**6},
    "faiss-hnsw": {"ef": 1000},
    "faiss-ivfpq-fastscan": {"nprobe": 10**6, "rerank": 10**4},
    "hnswlib": {"ef": 1000},
    "usearch": {"ef": 1000},
    "scann": {"search": 10**6, "rerank": 10**4},
    "diskann": {"complexity": 1000},
    "faiss-rabitq": {"nprobe": 10**6, "rerank": 10**4},
    "faiss-nsg": {"width": 1000},
    "chroma-hnswlib": {"ef": 1000},
    "voyager": {"ef": 1000},
    "svs": {"window": 1000},
    "vsag": {"ef": 1000},
    "kannolo": {"ef": 1000},
    "flatnav": {"ef": 1000, "starts": 300},
    "ngt": {"epsilon": 1.0},
    "annoy": {"look": 10**6},
    "deglib": {"eps": 1.0},
    "pynndescent": {"epsilon": 1.0},
}
#: Those that find what their links lead to.
GRAPHS = set(THOROUGH) - {"exact", "faiss-ivf", "faiss-ivfpq-fastscan", "scann", "faiss-rabitq"}
#: The cheapest arguments: answers may be missing, none may be wrong.
HASTY = {
    "exact": {},
    "faiss-ivf": {"nprobe": 1},
    "faiss-hnsw": {"ef": 1},
    "faiss-ivfpq-fastscan": {"nprobe": 1, "rerank": 1},
    "hnswlib": {"ef": 1},
    "usearch": {"ef": 1},
    "scann": {"search": 1, "rerank": 1},
    "diskann": {"complexity": 1},
    "faiss-rabitq": {"nprobe": 1, "rerank": 1},
    "faiss-nsg": {"width": 1},
    "chroma-hnswlib": {"ef": 1},
    "voyager": {"ef": 1},
    "svs": {"window": 1},
    "vsag": {"ef": 1},
    "kannolo": {"ef": 1},
    "flatnav": {"ef": 1, "starts": 1},
    "ngt": {"epsilon": -0.9},
    "annoy": {"look": 1},
    "deglib": {"eps": 0.0},
    "pynndescent": {"epsilon": 0.0},
}
SHIPPED = sorted(ENTRIES)
RANGES = ["exact", "faiss-ivf", "faiss-hnsw"]


def test_every_entry_is_tried_here():
    assert set(SHIPPED) == set(THOROUGH) == set(HASTY)


# One thread, but where threads are the point: two that wait for each other on a busy machine take many times as long.
def index_of(name, base, metric="euclidean", threads=1, learn=None):
    build, _ = plan_configs(ENTRIES[name], "some-set")
    index = load(ENTRIES[name])(metric, base.shape[1], base.dtype.name, threads, **build)
    index.fit(base, None, learn)
    return index


def readonly(array):
    array.setflags(write=False)
    return array


def numbers(rng, dtype, shape):
    if dtype.startswith("float"):
        return rng.standard_normal(shape).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, endpoint=True).astype(dtype)


def nasty(dtype, rows, dim=7, seed=3):
    """Duplicates and ties, rows and a query of zeros, queries that are rows, an odd number of dimensions."""
    rng = np.random.default_rng(seed)
    base = numbers(rng, dtype, (rows, dim))
    base[rows // 2 : rows // 2 + 8] = base[0]
    base[-5:] = 0
    queries = np.concatenate([base[:20], numbers(rng, dtype, (20, dim)), np.zeros((1, dim), dtype)])
    return readonly(base), readonly(queries)


def distances(metric, base, query):
    base, query = base.astype(np.float64), query.astype(np.float64)
    if metric == "euclidean":
        return ((base - query) ** 2).sum(axis=1)
    if metric == "ip":
        return -(base @ query)
    return 1 - (base @ query) / np.maximum(np.linalg.norm(base, axis=1) * np.linalg.norm(query), 1e-30)


def check_valid(answers, k, rows, queries):
    assert answers.shape == (len(queries), k)
    assert np.issubdtype(answers.dtype, np.integer)
    for line in answers:
        given = line[line >= 0]
        assert (line[: len(given)] >= 0).all(), "-1 stands only at the end"
        assert (line[len(given) :] == -1).all()
        assert len(set(given.tolist())) == len(given)
        assert (given < rows).all()


def share_found(answers, metric, base, queries):
    """Of all true neighbours those that were found, by distance: which of equal rows is named does not matter."""
    found = 0
    for line, query in zip(answers, queries, strict=True):
        far = distances(metric, base, query)
        bound = np.sort(far)[: len(line)][-1]
        given = far[line[line >= 0]]
        found += np.sum(given <= bound + 1e-3 * max(1.0, abs(bound)))
    return found / (len(queries) * min(answers.shape[1], len(base)))


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize(("dtype", "metric", "rows"), list(product(DTYPES, METRICS, [300, 3000])))
def test_finds_the_neighbours(name, dtype, metric, rows):
    base, queries = nasty(dtype, rows)
    index = index_of(name, base, metric)
    index.set_query_arguments(**THOROUGH[name])
    answers = index.query(queries, 10)
    check_valid(answers, 10, rows, queries)
    assert share_found(answers, metric, base, queries) >= (0.85 if name in GRAPHS else 0.999)


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("k", [1, 10, 500])
@pytest.mark.parametrize("rows", [1, 3, 40, 200, 1500])
def test_no_answer_is_wrong_however_few_rows_and_however_hasty(name, k, rows):
    base, queries = nasty("float32", 3000)
    base = readonly(base[-rows:].copy())
    index = index_of(name, base, "angular")
    index.set_query_arguments(**HASTY[name])
    check_valid(index.query(queries, k), k, rows, queries)
    check_valid(index.query(queries[:1], k), k, rows, queries[:1])
    check_valid(index.query(queries[:0], k), k, rows, queries[:0])


@pytest.mark.parametrize("name", SHIPPED)
def test_k_beyond_the_base(name):
    base = readonly(np.arange(12, dtype=np.uint8).reshape(3, 4))
    index = index_of(name, base)
    index.set_query_arguments(**THOROUGH[name])
    assert index.query(np.zeros((2, 4), np.uint8), 7).tolist() == [[0, 1, 2, -1, -1, -1, -1]] * 2


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("threads", [1, 2])
def test_all_rows_the_same(name, threads):
    base = readonly(np.ones((2000, 6), np.int8))
    index = index_of(name, base, threads=threads)
    index.set_query_arguments(**THOROUGH[name])
    check_valid(index.query(base[:5], 10), 10, len(base), base[:5])


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("track", ["dense", "ood"])
def test_reaches_recall_on_real_vectors(name, track):
    if track not in ENTRIES[name].config.tracks:
        pytest.skip(f"{name} is not for {track}")
    folder = HOME / "datasets" / "debian-20k"
    if not (folder / "base.i8bin").exists():
        pytest.skip("the files of debian-20k are not here")
    kind, metric = {"dense": ("sentences", "euclidean"), "ood": ("names", "ip")}[track]
    base, queries = vectors(folder / "base.i8bin")[:5000], vectors(folder / f"queries.{kind}.i8bin")[:300]
    products = queries.astype(np.float32) @ base.astype(np.float32).T  # of whole numbers, and exact
    far = -products if metric == "ip" else (base.astype(np.float32) ** 2).sum(axis=1) - 2 * products
    truth = np.argsort(far, axis=1, kind="stable")[:, :10]
    learn = vectors(folder / "queries.names.learn.i8bin") if ENTRIES[name].config.learn and track == "ood" else None
    index = index_of(name, base, metric, threads=2, learn=learn)
    index.set_query_arguments(**plan_configs(ENTRIES[name], "debian-20k")[1][-1])
    answers = index.query(queries, 10)
    hits = [len(set(a) & set(t)) for a, t in zip(answers.tolist(), truth.tolist(), strict=True)]
    assert sum(hits) / truth.size >= 0.9


@pytest.mark.parametrize("name", SHIPPED)
def test_range_search_is_tried_where_it_is_there(name):
    assert (load(ENTRIES[name]).range_query is not Algorithm.range_query) == (name in RANGES)


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize(("dtype", "metric", "rows"), list(product(DTYPES, METRICS, [1, 300, 3000])))
def test_all_within_the_radius(name, dtype, metric, rows):
    base, queries = nasty(dtype, 3000)
    base = readonly(base[-rows:].copy())
    index = index_of(name, base, metric)
    index.set_query_arguments(**THOROUGH[name])
    far = np.array([distances(metric, base, query) for query in queries])
    bound = np.unique(far)[min(far.size // 50, len(np.unique(far)) - 1)]  # some row lies on it
    bound = bound if np.issubdtype(dtype, np.integer) and metric != "angular" else bound + 1e-4
    offsets, ids = index.range_query(queries, float(-bound if metric == "ip" else bound))
    assert offsets.shape == (len(queries) + 1,)
    assert offsets[0] == 0
    assert offsets[-1] == len(ids)
    assert np.issubdtype(offsets.dtype, np.integer)
    assert np.issubdtype(ids.dtype, np.integer)
    found = expected = 0
    for query in range(len(queries)):
        given = ids[offsets[query] : offsets[query + 1]].tolist()
        within = set(np.flatnonzero(far[query] < bound).tolist())
        assert len(set(given)) == len(given)
        assert set(given) <= within
        found, expected = found + len(given), expected + len(within)
    assert found >= (0.6 if name in GRAPHS else 1) * expected


@pytest.mark.parametrize("name", RANGES)
def test_a_radius_that_nothing_lies_within(name):
    base, queries = nasty("float32", 300)
    index = index_of(name, base)
    index.set_query_arguments(**THOROUGH[name])
    offsets, ids = index.range_query(queries, 0.0)
    assert offsets.tolist() == [0] * (len(queries) + 1)
    assert len(ids) == 0


def test_exact_gives_ties_to_the_smaller_id():
    base = readonly(np.zeros((200_000, 4), np.int8))
    assert index_of("exact", base).query(base[:2], 10).tolist() == [list(range(10))] * 2


def test_exact_is_exact_where_float32_is_not():
    base = readonly(np.array([[4097.0, 0], [4096.0, 0], [4096.5, 0]], np.float32))
    assert index_of("exact", base).query(np.array([[4098.0, 0]], np.float32), 3).tolist() == [[0, 2, 1]]


def vectors(path):
    rows, dim = np.fromfile(path, "<u4", 2)
    return np.memmap(path, np.int8, "r", 8, (int(rows), int(dim)))
