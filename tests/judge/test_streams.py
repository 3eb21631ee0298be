"""The runner knows operations, not tracks: a stream of inserts, deletes, replaces and searches, tags included."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest
from ann_bench.entries.discovery import entry_at
from ann_bench.judge.measure import measure
from ann_bench.judge.plan import Options, plan, setting
from ann_bench.judge.run import ask_all
from ann_bench.judge.verify_steps import verify_steps
from ann_bench.progress import silent
from ann_bench.results.figures import figures
from ann_bench.results.model import Bundle, Status
from ann_bench.sandbox import find_sandbox
from ann_bench.tracks import Score, Track
from ann_bench.workload import Build, Delete, Insert, Limits, Replace, Search, Workload
from tests.support import tiny_dataset, write_entry

STREAM = """
def setup(self, max_points):
    self.points, self.tags_of = {}, {}

def insert(self, vectors, ids, tags=None):
    for place, one in enumerate(ids):
        assert one not in self.points
        self.points[int(one)] = np.asarray(vectors[place], dtype=np.int64)
        self.tags_of[int(one)] = set(tags.indices[tags.indptr[place]:tags.indptr[place + 1]])

def delete(self, ids):
    for one in ids:
        del self.points[int(one)], self.tags_of[int(one)]

def query(self, queries, k, tags=None):
    answers = np.full((len(queries), k), -1)
    for i, query in enumerate(np.asarray(queries, dtype=np.int64)):
        wanted = set() if tags is None else set(tags.indices[tags.indptr[i]:tags.indptr[i + 1]])
        ids = [one for one in self.points if wanted <= self.tags_of[one]]
        ids.sort(key=lambda one: (((self.points[one] - query) ** 2).sum(), one))
        answers[i, : min(k, len(ids))] = ids[:k]
    return answers
"""

STEPS = (
    Insert(range(120), range(120)),
    Search(40, 10),
    Insert(range(120, 200), range(120, 200)),
    Delete(range(50, 90)),
    Search(40, 10, filtered=True),
    Replace(range(100, 130), range(200, 230)),
    Search(25, 10, filtered=True),
    Insert(range(50, 60), range(250, 260)),
    Search(40, 10),
)


def stream(filtered: bool = True) -> Track:
    steps = STEPS if filtered else tuple(s for s in STEPS if not (isinstance(s, Search) and s.filtered))
    return Track(
        name="filtered",
        description="for a test",
        default_dataset="tiny",
        workload=lambda dataset, k: Workload(steps, max_points=200),
        limits=Limits(cpus=1, memory_bytes=2**30, operation_seconds=20, run_seconds=30),
        query_configs=2,
        score=Score("recall"),
    )


def run(folder: Path, body: str, track: Track, sandbox: str = "process", builds: int = 1, **config) -> list[Bundle]:
    dataset = prepare(find_manifest(str(tiny_dataset(folder / "data")), "filtered"), "public")
    common = setting(track, dataset, find_sandbox(sandbox), Options(builds=builds))
    entry = entry_at(write_entry(folder / "mine", body, **config), "filtered")
    common.sandbox.prepare([entry], folder / "logs", silent)
    (job,) = plan(common, [entry]).jobs
    kept: list[Bundle] = []
    measure(common, job, job.configs, ask_all(dataset, common.workload), kept.append)
    return kept


def test_a_stream_needs_no_other_runner(tmp_path: Path, sandbox: str) -> None:
    (bundle,) = run(tmp_path, STREAM, stream(), sandbox)
    assert bundle.outcome.status is Status.OK, bundle.outcome
    assert bundle.counts == (40, 40, 25, 40)
    assert bundle.seconds.shape == (1, 1, 4)
    steps = [(step.kind, step.operation) for step in bundle.steps]
    assert steps[:3] == [("create", -1), ("setup", -1), ("set", -1)]
    kinds = ["insert", "search", "insert", "delete", "search", "replace", "search", "insert", "search"]
    assert steps[3:] == list(zip(kinds, range(9), strict=True))
    verify_steps(bundle)
    assert figures(bundle).recall == 1.0
    assert len(set(bundle.truths)) == 4


def test_a_deleted_id_is_no_answer(tmp_path: Path) -> None:
    lazy = STREAM.replace("del self.points[int(one)], self.tags_of[int(one)]", "pass")
    lazy = lazy.replace("assert one not in self.points", "pass")
    (bundle,) = run(tmp_path, lazy, stream())
    assert bundle.outcome.status is Status.INVALID_ANSWER
    assert "not live" in bundle.outcome.detail
    assert figures(bundle).recall < 1.0


def test_the_recall_of_every_step_counts(tmp_path: Path) -> None:
    """One system published the recall of its first search for all of them."""
    forgetful = STREAM.replace(
        "return answers", "self.n = getattr(self, 'n', 0) + 1; return answers if self.n == 1 else answers * 0 - 1"
    )
    (bundle,) = run(tmp_path, forgetful, stream())
    assert figures(bundle).recall == pytest.approx(0.25)


def test_each_query_config_gets_a_fresh_index(tmp_path: Path) -> None:
    bundles = run(tmp_path, STREAM, stream(), query={"default": [{"effort": 1}, {"effort": 2}]})
    assert [b.outcome.status for b in bundles] == [Status.OK, Status.OK]


def test_the_time_for_the_whole_run_ends_it_and_keeps_what_was_measured(tmp_path: Path, sandbox: str) -> None:
    slow = STREAM.replace("answers = np.full", "import time; time.sleep(1.2); answers = np.full", 1)
    track = stream()
    limits = track.limits.but(run_seconds=3.0)
    (bundle,) = run(tmp_path, slow, Track(**{**vars(track), "limits": limits}), sandbox)
    assert bundle.outcome.status is Status.TIMEOUT
    assert np.isfinite(bundle.seconds).sum() == 2
    assert len(bundle.answers) == 2


def test_a_build_may_come_before_the_stream(tmp_path: Path) -> None:
    steps = (Build(range(100)), Search(40, 10), Delete(range(50)), Search(40, 10))
    track = Track(**{**vars(stream()), "workload": lambda dataset, k: Workload(steps, 100)})
    fit = """
def fit(self, base, tags=None, learn=None):
    self.setup(0)
    self.insert(base, np.arange(len(base)), tags)
"""
    (bundle,) = run(tmp_path, STREAM + fit, track)
    assert bundle.outcome.status is Status.OK, bundle.outcome
    assert figures(bundle).recall == 1.0
