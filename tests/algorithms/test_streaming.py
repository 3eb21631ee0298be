"""Entries that follow a stream against brute force, step by step, on small data made to trip them."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from scipy.sparse import csr_matrix

from ann_bench.entries.entry import plan_configs
from tests.algorithms.support import entries, made, readonly, shipped, spmat, vectors

TRACKS = ("streaming", "filtered-streaming", "sparse-streaming")
SERVING = {track: entries(track) for track in TRACKS}
#: Entries that compare all points; of the others, recall is asked on real vectors.
EXACT = {"exact", "scipy-exact"}
METRICS = {
    "streaming": ("euclidean", "ip", "angular"),
    "filtered-streaming": ("euclidean",),
    "sparse-streaming": ("ip",),
}
EVERY = [
    pytest.param(track, name, metric, id=f"{track}-{name}-{metric}")
    for track in TRACKS
    for name in SERVING[track]
    for metric in METRICS[track]
]
ONCE = [pytest.param(track, name, id=f"{track}-{name}") for track in TRACKS for name in SERVING[track]]
DIM = 16
VOCABULARY = 5


class Stream:
    """An entry and, beside it, what is live: each step is done to both, each search compares them."""

    def __init__(self, track, name, metric="euclidean", dtype="float32", max_points=2000, threads=1):
        self.track, self.metric = track, "ip" if track == "sparse-streaming" else metric
        self.rng = np.random.default_rng(11)
        self.dtype, self.exact = dtype, name in EXACT
        entry = SERVING[track][name]
        self.index = made(entry, self.metric, DIM, dtype, threads)
        self.index.setup(max_points)
        self.index.set_query_arguments(**plan_configs(entry, "some-set")[1][-1])
        self.points, self.tags = {}, {}

    def draw(self, count):
        if self.track == "sparse-streaming":
            dense = self.rng.gamma(2, size=(count, DIM)) * (self.rng.random((count, DIM)) < 0.3)
            return readonly(csr_matrix(dense.astype(np.float32)))
        if self.dtype == "float32":
            return readonly(self.rng.standard_normal((count, DIM)).astype(np.float32))
        return readonly(self.rng.integers(-50 if self.dtype == "int8" else 0, 100, (count, DIM)).astype(self.dtype))

    def bags(self, count):
        if self.track != "filtered-streaming":
            return None
        return readonly(csr_matrix((self.rng.random((count, VOCABULARY)) < 0.5).astype(np.float32)))

    def put(self, call, ids, rows=None):
        ids = np.arange(ids.start, ids.stop) if isinstance(ids, range) else np.asarray(ids)
        rows, tags = self.draw(len(ids)) if rows is None else rows, self.bags(len(ids))
        call(rows, ids, tags)
        dense = rows.toarray() if isinstance(rows, csr_matrix) else rows
        for place, one in enumerate(ids.tolist()):
            self.points[one] = dense[place].astype(np.float64)
            self.tags[one] = set() if tags is None else set(tags[place].indices.tolist())

    def insert(self, ids, rows=None):
        assert not set(ids) & self.points.keys()
        self.put(self.index.insert, ids, rows)

    def replace(self, ids):
        assert set(ids) <= self.points.keys()
        self.put(self.index.replace, ids)

    def delete(self, ids):
        self.index.delete(np.array(ids, dtype=np.int64))
        for one in ids:
            del self.points[one], self.tags[one]

    def search(self, k=10, queries=None):
        """All answers are live, hold the tags, stand there once; and are those of brute force, where that is sure."""
        queries = self.draw(20) if queries is None else queries
        wanted = self.bags(queries.shape[0])
        answers = self.index.query(queries, k, wanted)
        assert answers.shape == (queries.shape[0], k)
        assert np.issubdtype(answers.dtype, np.integer)
        dense = queries.toarray() if isinstance(queries, csr_matrix) else queries
        found = total = 0
        for line, query in enumerate(dense.astype(np.float64)):
            asked = set() if wanted is None else set(wanted[line].indices.tolist())
            live = [one for one in self.points if asked <= self.tags[one]]
            given = answers[line][answers[line] >= 0].tolist()
            assert (answers[line][: len(given)] >= 0).all(), "-1 stands only at the end"
            assert len(set(given)) == len(given)
            assert set(given) <= set(live)
            far = {one: self.distance(query, self.points[one]) for one in live}
            best = sorted(far.values())[:k]
            if self.exact:
                np.testing.assert_allclose([far[one] for one in given], best, rtol=1e-5, atol=1e-4)
            edge = best[-1] + 1e-4 + 1e-5 * abs(best[-1]) if best else 0
            found, total = found + sum(far[one] <= edge for one in given), total + len(best)
        return found / total if total else 1.0

    def distance(self, query, point):
        if self.metric == "euclidean":
            return ((query - point) ** 2).sum()
        lengths = np.linalg.norm(query) * np.linalg.norm(point) if self.metric == "angular" else 1
        return -(query @ point) / max(lengths, 1e-30)


@pytest.mark.parametrize(("track", "name", "metric"), EVERY)
def test_follows_a_stream(track, name, metric):
    stream = Stream(track, name, metric)
    assert stream.search() == 1.0, "nothing is there yet"
    stream.insert(range(300))
    least = [stream.search()]
    stream.insert(range(300, 900))
    least.append(stream.search())
    stream.delete(range(100, 700))
    least.append(stream.search())
    stream.insert(range(100, 300))  # ids come again, with other vectors
    least.append(stream.search())
    stream.replace(range(50, 150))
    least.append(stream.search())
    stream.insert(range(1500, 1900))  # a gap, and more
    stream.delete(range(700, 900))
    least.append(stream.search())
    assert min(least) >= 0.9


@pytest.mark.parametrize(("track", "name"), ONCE)
def test_fewer_points_than_k(track, name):
    stream = Stream(track, name)
    stream.insert(range(7, 8))
    assert stream.search(k=5) == 1.0
    stream.insert(range(2, 4))
    assert stream.search(k=5) == 1.0
    stream.delete([7])
    assert stream.search(k=5) == 1.0


@pytest.mark.parametrize(("track", "name"), ONCE)
def test_deletes_all_and_begins_again(track, name):
    stream = Stream(track, name)
    for _ in range(3):
        stream.insert(range(200))
        assert stream.search() >= 0.9
        stream.delete(range(200))
        assert stream.search() == 1.0
        assert stream.search(queries=stream.draw(3)) == 1.0


@pytest.mark.parametrize(("track", "name"), ONCE)
def test_inserts_in_blocks_and_in_pieces(track, name):
    stream = Stream(track, name, max_points=600)
    for start in range(0, 600, 40):
        stream.insert(range(start, start + 40))
    for start in range(0, 400, 40):
        stream.delete(range(start, start + 40))
        stream.insert(range(start, start + 20))
        stream.insert(range(start + 20, start + 40))
    assert stream.search() >= 0.9


@pytest.mark.parametrize(("track", "name"), ONCE)
def test_keeps_to_the_number_of_points_it_was_told(track, name):
    """The live points are at the limit all the time, while the ids pass it by far."""
    stream = Stream(track, name, max_points=100)
    stream.insert(range(100))
    for start in range(0, 500, 50):
        stream.delete(range(start, start + 50))
        stream.insert(range(start + 100, start + 150))
        assert stream.search() >= 0.9


@pytest.mark.parametrize(("track", "name"), ONCE)
def test_duplicates(track, name):
    stream = Stream(track, name)
    one = stream.draw(1)
    many = csr_matrix(np.repeat(one.toarray(), 60, 0)) if isinstance(one, csr_matrix) else np.repeat(one, 60, 0)
    stream.insert(range(60), many)
    stream.insert(range(60, 200))
    stream.delete(range(30))
    assert stream.search(queries=one) >= 0.9


@pytest.mark.parametrize("name", SERVING["streaming"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_bytes(name, dtype):
    stream = Stream("streaming", name, dtype=dtype)
    stream.insert(range(500))
    stream.delete(range(250))
    stream.insert(range(100))
    assert stream.search() >= 0.9


@pytest.mark.parametrize(("track", "name"), ONCE)
def test_an_empty_batch(track, name):
    stream = Stream(track, name)
    stream.insert(range(30))
    assert stream.index.query(stream.draw(20)[:0], 10, None).shape == (0, 10)


def test_sparse_rows_and_queries_may_be_empty():
    stream = Stream("sparse-streaming", "scipy-exact")
    empty = readonly(csr_matrix((40, DIM), dtype=np.float32))
    stream.insert(range(40), empty)
    stream.insert(range(40, 45))
    assert stream.search() == 1.0
    assert stream.search(queries=empty[:2]) == 1.0


def test_faiss_renews_its_lists_in_proportion_to_the_inserts():
    stream = Stream("streaming", "faiss-ivf", max_points=60_000)
    ids = np.arange(10_000)
    for _ in range(6):
        stream.index.insert(stream.draw(10_000), ids)
        ids = ids + 10_000
    assert stream.index.stats() == {"renewals": 3, "lists": round(2 * 40_000**0.5)}
    assert stream.index.index.ntotal == 60_000


@pytest.mark.parametrize(("track", "name"), ONCE)
def test_reaches_recall_on_real_vectors(track, name):
    """The shipped runbook, as the track plays it; the mean recall of its searches."""
    entry = SERVING[track][name]
    steps = yaml.safe_load(shipped("runbook.yaml").read_text())["debian-20k"]
    sparse = track == "sparse-streaming"
    base = spmat("base.sparse.spmat.gz") if sparse else vectors("base.i8bin")
    queries = spmat("queries.sparse.spmat")[:100] if sparse else vectors("queries.sentences.i8bin")[:100]
    filtered = track == "filtered-streaming"
    tags = spmat("base.tags.spmat") if filtered else None
    wanted = spmat("queries.sentences.tags.spmat")[:100] if filtered else None
    far = distances(base, queries, sparse)
    if filtered:
        far[(wanted @ tags.T).toarray() < np.diff(wanted.indptr)[:, None]] = np.inf
    index = made(entry, "ip" if sparse else "euclidean", base.shape[1], "float32" if sparse else "int8")
    index.setup(steps.pop("max_pts"))
    index.set_query_arguments(**plan_configs(entry, "debian-20k")[1][-1])
    row_of = np.full(len(far[0]), -1)
    found = []

    def put(call, ids, rows):
        call(base[rows], np.arange(ids.start, ids.stop), None if tags is None else tags[rows])
        row_of[ids] = np.arange(rows.start, rows.stop)

    for _, step in sorted(steps.items()):
        if step["operation"] == "insert":
            put(index.insert, *[slice(step["start"], step["end"])] * 2)
        elif step["operation"] == "replace":
            ids = slice(step["tags_start"], step["tags_end"])
            put(index.replace, ids, slice(step["ids_start"], step["ids_end"]))
        elif step["operation"] == "delete":
            index.delete(np.arange(step["start"], step["end"]))
            row_of[step["start"] : step["end"]] = -1
        else:
            found.append(hits(index.query(queries, 10, wanted), far, row_of))
    assert len(found) == 13
    assert np.mean(found) >= (0.999 if name in EXACT else 0.9)


def distances(base, queries, sparse):
    if sparse:
        return -(queries @ base.T).toarray()
    base, queries = base.astype(np.float32), queries.astype(np.float32)
    return (base**2).sum(axis=1) - 2 * (queries @ base.T)


def hits(answers, far, row_of):
    """Recall, of equal distances any; an answer that is not live or lacks a tag is an error."""
    live = np.flatnonzero(row_of >= 0)
    at = np.full(far.shape, np.inf)
    at[:, live] = far[:, row_of[live]]
    best = np.sort(at, axis=1)[:, : answers.shape[1]]
    got = np.where(answers >= 0, np.take_along_axis(at, np.maximum(answers, 0), axis=1), np.inf)
    assert np.isfinite(got[answers >= 0]).all()
    edge = np.where(np.isfinite(best), best, -1e30).max(axis=1, keepdims=True)
    return (np.isfinite(got) & (got <= edge + 1e-5 * np.maximum(np.abs(edge), 1))).sum() / np.isfinite(best).sum()


@pytest.mark.parametrize("name", sorted(SERVING["streaming"]))
def test_many_queries_over_many_points(name):
    """Enough of both that an entry may search another way than for few."""
    entry, rng = SERVING["streaming"][name], np.random.default_rng(5)
    points = rng.standard_normal((6000, DIM)).astype(np.float32)
    queries = points[:600] + np.float32(0.01)
    index = made(entry, "euclidean", DIM, "float32", 1)
    index.setup(len(points))
    index.set_query_arguments(**plan_configs(entry, "some-set")[1][-1])
    index.insert(readonly(points), np.arange(len(points)))
    found = np.asarray(index.query(readonly(queries), 10))
    distances = ((queries[:, None] - points[None]) ** 2).sum(axis=2)
    nearest = np.argsort(distances, axis=1)[:, :10]
    recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found, nearest, strict=True)])
    assert recall >= (1 if name in EXACT else 0.8)
    assert (found[:, 0] == nearest[:, 0]).mean() >= 0.9  # the nearest comes first
