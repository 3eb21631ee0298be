"""The streaming presets, end to end: a runbook, an entry that answers exactly, recall 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import random as random_csr

from ann_bench.cli import main
from ann_bench.datasets.formats import write_spmat
from ann_bench.results.figures import figures
from ann_bench.results.store import Store
from ann_bench.tracks import find_track
from tests.support import DIM, QUERIES, ROWS, tiny_dataset, write_entry

RUNBOOK = """
tiny:
  max_pts: 220
  1: {operation: insert, start: 0, end: 120}
  2: {operation: search}
  3: {operation: insert, start: 120, end: 200}
  4: {operation: delete, start: 50, end: 90}
  5: {operation: search}
  6: {operation: replace, tags_start: 100, tags_end: 130, ids_start: 200, ids_end: 230}
  7: {operation: insert, start: 50, end: 60}
  8: {operation: search}
"""

EXACT = """
def setup(self, max_points):
    self.points, self.bags = {}, {}

def insert(self, vectors, ids, tags=None):
    for place, one in enumerate(ids):
        vector = vectors[place]
        self.points[int(one)] = np.asarray(vector.toarray()[0] if hasattr(vector, "toarray") else vector, dtype=float)
        self.bags[int(one)] = set() if tags is None else set(tags[place].indices)

def replace(self, vectors, ids, tags=None):
    self.insert(vectors, ids, tags)

def delete(self, ids):
    for one in ids:
        del self.points[int(one)], self.bags[int(one)]

def query(self, queries, k, tags=None):
    queries = queries.toarray() if hasattr(queries, "toarray") else np.asarray(queries, dtype=float)
    answers = np.full((len(queries), k), -1)
    for i, query in enumerate(queries):
        wanted = set() if tags is None else set(tags[i].indices)
        ids = [one for one in self.points if wanted <= self.bags[one]]
        points = np.array([self.points[one] for one in ids]).reshape(-1, len(query))
        away = -(points @ query) if self.metric == "ip" else ((points - query) ** 2).sum(axis=1)
        best = np.array(ids, dtype=int)[np.lexsort((ids, away))][:k]
        answers[i, : len(best)] = best
    return answers

def __init__(self, metric, dim, dtype, threads, **build):
    super().__init__(metric, dim, dtype, threads, **build)
    self.metric = metric
"""


def sparse(folder: Path) -> dict[str, Any]:
    """The changes that make the tiny data set sparse."""
    folder.mkdir(parents=True)
    for seed, (name, rows) in enumerate((("base", ROWS), ("queries", QUERIES))):
        made = random_csr(rows, DIM * 4, density=0.3, format="csr", dtype=np.float32, random_state=seed)
        write_spmat(folder / f"{name}.spmat", made)
    return {
        "metric": "ip",
        "base": {"vectors": {"file": "base.spmat"}},
        "queries": {"public": {"vectors": {"file": "queries.spmat"}}},
    }


@pytest.mark.parametrize("track", ["streaming", "filtered-streaming", "sparse-streaming"])
def test_a_stream_from_its_name_alone(tmp_path: Path, track: str) -> None:
    changes: dict[str, Any] = sparse(tmp_path / "data") if track.startswith("sparse") else {}
    manifest = tiny_dataset(tmp_path / "data", tracks=[track], runbook={"file": "book.yaml"}, **changes)
    (tmp_path / "data" / "book.yaml").write_text(RUNBOOK)
    entry = write_entry(tmp_path / "mine", EXACT, tracks=[track])
    places = ["--results", str(tmp_path / "results"), "--plots", str(tmp_path / "plots")]
    assert main(["run", "--track", track, "--dataset", str(manifest), "--entry", str(entry), *places]) == 0
    (bundle,) = Store(tmp_path / "results").load()[0]
    row = figures(bundle)
    assert (row.status, row.recall) == ("ok", 1.0), bundle.outcome
    assert bundle.counts == (QUERIES,) * 3


@pytest.mark.parametrize(
    ("track", "changes", "message"),
    [
        ("streaming", {"runbook": None}, "it has no runbook; add `runbook:` to its manifest"),
        ("streaming", {"name": "another"}, "a runbook for tiny, not for another"),
        ("sparse-streaming", {}, "its vectors are no sparse rows"),
        ("filtered-streaming", {"queries": {"public": {"vectors": {"file": "queries.u8bin"}}}}, "'public' has no tags"),
    ],
)
def test_a_data_set_that_cannot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], track: str, changes: dict[str, Any], message: str
) -> None:
    manifest = tiny_dataset(tmp_path / "data", tracks=[track], **{"runbook": {"file": "book.yaml"}, **changes})
    (tmp_path / "data" / "book.yaml").write_text(RUNBOOK)
    assert main(["truth", "--track", track, "--dataset", str(manifest)]) == 2
    assert message in capsys.readouterr().err.replace("\n", " ")


def test_sparse_rows_are_for_their_own_track(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changes = sparse(tmp_path / "data")
    manifest = tiny_dataset(tmp_path / "data", tracks=["streaming"], runbook={"file": "book.yaml"}, **changes)
    (tmp_path / "data" / "book.yaml").write_text(RUNBOOK)
    assert main(["truth", "--track", "streaming", "--dataset", str(manifest)]) == 2
    assert "its vectors are sparse rows" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["streaming", "filtered-streaming", "sparse-streaming"])
def test_the_rules(name: str) -> None:
    track = find_track(name)
    limits = track.limits
    assert (limits.cpus, limits.memory_bytes, limits.run_seconds) == (8, 8 * 2**30, 3600.0)
    assert (track.k, track.query_configs) == (10, 2)
    assert str(track.score) == "best recall"
