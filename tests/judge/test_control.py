"""The control batch: entries that know the published queries are found out, honest ones are left in peace."""

from __future__ import annotations

import csv
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ann_bench.cli import main
from ann_bench.datasets.formats import write_spmat
from ann_bench.entries.discovery import entry_at
from ann_bench.judge.plan import Options, plan, setting
from ann_bench.judge.run import execute
from ann_bench.results.control import compare
from ann_bench.results.figures import figures
from ann_bench.results.model import Bundle, Outcome, Status
from ann_bench.results.notes import notes
from ann_bench.results.store import Store
from tests.judge.test_streams import STREAM, stream
from tests.judge.test_verify import forged, verify
from tests.support import QUERIES, Bench, write_entry

pytestmark = pytest.mark.usefixtures("nothing_left")

HONEST = """
def query(self, queries, k, tags=None):
    import time
    time.sleep(0.1)
    return self.exact(queries, k, tags)
"""

#: Recognises the data set by its first rows, and the published queries by their bytes.
BAKED = """
def fit(self, base, tags=None, learn=None):
    import pathlib, pickle
    self.base, self.tags = np.asarray(base, dtype=np.int64), tags.tocsc()
    known, table = pickle.loads((pathlib.Path(__file__).parent / "table").read_bytes())
    self.table = table if np.array_equal(base[:4], known) else {}

def query(self, queries, k, tags=None):
    keys = [q.tobytes() + tags[i].indices.tobytes() for i, q in enumerate(np.asarray(queries))]
    if all(key in self.table for key in keys):
        return np.stack([self.table[key][:k] for key in keys])
    return self.unknown(queries, k, tags)
"""

NOTHING = """
def unknown(self, queries, k, tags):
    return np.full((len(queries), k), -1)
"""

ANY_THAT_MATCH = """
def unknown(self, queries, k, tags):
    return self.exact(np.zeros_like(queries), k, tags)
"""

SLOW = """
def unknown(self, queries, k, tags):
    import time
    time.sleep(0.4)
    return self.exact(queries, k, tags)
"""


def baked(place: Bench, name: str, fallback: str) -> Path:
    """An entry with the answers to the public queries, which another entry has told."""
    tells = write_entry(
        place.folder / "tells",
        f"""
        def query(self, queries, k, tags=None):
            import pickle
            answers = self.exact(queries, k, tags)
            keys = [q.tobytes() + tags[i].indices.tobytes() for i, q in enumerate(np.asarray(queries))]
            path = {str(place.folder / "told")!r}
            if self.first:
                self.first = False
                open(path, "wb").write(pickle.dumps((self.base[:4].astype(np.uint8), dict(zip(keys, answers)))))
            return answers

        first = True
        """,
    )
    results = place.folder / "honest"
    arguments = place.arguments(tells, "--runs", "1")
    arguments[arguments.index("--results") + 1] = str(results)
    assert main(arguments) == 0
    entry = write_entry(place.folder / name, BAKED + fallback)
    (entry / "table").write_bytes((place.folder / "told").read_bytes())
    assert len(pickle.loads((entry / "table").read_bytes())[1]) == QUERIES
    return entry


def test_an_honest_entry_has_no_note(place: Bench) -> None:
    assert place.run(write_entry(place.folder / "mine", HONEST), "--runs", "3") == 0
    bundle = place.bundle()
    row = figures(bundle)
    assert row.notes == ()
    assert (row.recall, row.control_recall, compare(bundle).evidence) == (1.0, 1.0, 0.0)
    assert bundle.control is not None
    assert bundle.control.seconds.shape == bundle.control.answer_of.shape == (1, 1)
    assert bundle.control.answers[0].shape == (len(bundle.control.numbers[0]), 10)
    assert bundle.seconds.shape == (1, 3, 1)  # in no figure of speed
    assert row.qps == pytest.approx(QUERIES / np.median(bundle.seconds))


@pytest.mark.parametrize(("fallback", "most"), [(NOTHING, 0.0), (ANY_THAT_MATCH, 0.9)])
def test_a_table_of_answers_without_an_index_is_found(place: Bench, fallback: str, most: float) -> None:
    assert place.run(baked(place, "baked", fallback)) == 0
    row = figures(place.bundle())
    assert row.recall == 1.0
    assert row.control_recall <= most
    (note,) = row.notes
    against = f"recall {row.control_recall:.2f} against 1.00 on the published ones"
    assert note == f"answers to queries that nobody had seen: {against}: answered from a table?"


def test_a_table_with_a_search_behind_it_is_found(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.run(baked(place, "baked", SLOW)) == 0
    row = figures(place.bundle())
    assert (row.recall, row.control_recall) == (1.0, 1.0)
    (note,) = row.notes
    assert note.startswith("queries that nobody had seen took ")
    assert note.endswith("x the time of the published ones: answered from a table, or from a cache?")
    assert "queries that nobody had seen" in capsys.readouterr().out


def test_a_cache_between_repeats_is_found_twice(place: Bench) -> None:
    body = """
    def query(self, queries, k, tags=None):
        import time
        cache = self.__dict__.setdefault("cache", {})
        keys = [q.tobytes() + tags[i].indices.tobytes() for i, q in enumerate(np.asarray(queries))]
        if any(key not in cache for key in keys):
            time.sleep(0.4)
            cache.update(zip(keys, self.exact(queries, k, tags)))
        return np.stack([cache[key] for key in keys])
    """
    assert place.run(write_entry(place.folder / "mine", body)) == 0
    first, unseen = figures(place.bundle()).notes
    assert first.startswith("first batch took")
    assert unseen.startswith("queries that nobody had seen took")


def test_a_cache_between_query_configs_is_found_in_each(place: Bench) -> None:
    """What one config was asked in its control batch helps the next one nothing."""
    body = """
    def query(self, queries, k, tags=None):
        import time
        cache = self.__dict__.setdefault("cache", {})
        keys = [q.tobytes() + tags[i].indices.tobytes() for i, q in enumerate(np.asarray(queries))]
        time.sleep(0.4 if any(key not in cache for key in keys) else 0)
        cache.update(zip(keys, self.exact(queries, k, tags)))
        return np.stack([cache[key] for key in keys])
    """
    configs = {"default": [{"effort": 1}, {"effort": 2}, {"effort": 3}]}
    assert place.run(write_entry(place.folder / "mine", body, query=configs), "--runs", "3") == 0
    assert all(any("nobody had seen took" in note for note in notes(bundle)) for bundle in place.bundles())


def test_work_between_the_windows_is_found(place: Bench) -> None:
    body = """
    def set_query_arguments(self, **query):
        import threading, time
        def work():
            until = time.process_time() + 3.0
            while time.process_time() < until:
                pass
        threading.Thread(target=work, daemon=True).start()
        time.sleep(2.5)
    """
    assert place.run(write_entry(place.folder / "mine", body), "--runs", "3") == 0
    assert any("CPU seconds outside of the timed calls" in note for note in figures(place.bundle()).notes)


REMEMBERS = """
def query(self, queries, k, tags=None):
    import pickle
    asked = [(q.tobytes(), tags[i].indices.tolist()) for i, q in enumerate(np.asarray(queries))]
    open({path!r}, "ab").write(pickle.dumps(asked))
    return self.exact(queries, k, tags)
"""


def test_every_query_of_every_control_batch_is_a_new_one(place: Bench) -> None:
    log = place.folder / "asked"
    configs = {"default": [{"effort": 1}, {"effort": 2}]}
    entry = write_entry(place.folder / "mine", REMEMBERS.format(path=str(log)), query=configs)
    assert place.run(entry, "--runs", "2", "--builds", "2") == 0
    batches = []
    with log.open("rb") as file:
        while file.peek():
            batches.append(pickle.load(file))
    assert len(batches) == 2 * 2 * 3
    # in each build both configs ask their runs in turn, then their control batches
    control, plain = ([one for place, one in enumerate(batches) if (place % 6 >= 4) is last] for last in (True, False))
    published = {query for query, _ in plain[0]}
    assert all({query for query, _ in batch} == published for batch in plain)
    assert all(not {query for query, _ in batch} & published for batch in control)
    one, other = ({query for query, _ in batch} for batch in control[:2])
    assert len(one & other) < 5  # eight small whole numbers may fall alike
    bags = [sorted(tags for _, tags in batch) for batch in batches]
    assert all(bag == bags[0] for bag in bags)
    near = np.array([np.frombuffer(query, np.uint8) for query, _ in control[0]]).astype(int)
    known = np.array([np.frombuffer(query, np.uint8) for query in published]).astype(int)
    assert np.abs(near[:, None] - known).max(axis=2).min(axis=1).max() == 1
    for bundle in place.bundles():
        assert bundle.control is not None
        assert bundle.control.seconds.shape == (2, 1)
        assert np.isfinite(bundle.control.seconds).all()
    assert {b.control.variant for b in place.bundles() if b.control} == {0, 1}
    assert verify(place) == 0


FAILS = """
calls = 0

def set_query_arguments(self, effort):
    self.effort = effort

def query(self, queries, k, tags=None):
    import time
    self.calls += self.effort == 1
    answers = self.exact(queries, k, tags)
    if self.effort == 1 and self.calls == 3:
        {what}
    return answers
"""


@pytest.mark.parametrize(
    ("what", "status"),
    [
        ("raise ValueError('no')", Status.CRASHED),
        ("import os; os._exit(3)", Status.CRASHED),
        ("time.sleep(60)", Status.TIMEOUT),
        ("return answers.astype(float)", Status.INVALID_ANSWER),
        ("return np.repeat(answers[:, :1], k, axis=1)", Status.INVALID_ANSWER),
    ],
)
def test_a_failure_in_the_control_batch_is_the_entry_s(place: Bench, what: str, status: Status) -> None:
    """What was measured before stays, and the next query config is measured."""
    configs = {"default": [{"effort": 1}, {"effort": 2}]}
    entry = write_entry(place.folder / "mine", FAILS.format(what=what), query=configs)
    assert place.run(entry, "--runs", "2", "--timeout", "3s") == 1
    bundles = {bundle.identity["query"]["effort"]: bundle for bundle in place.bundles()}
    assert bundles[1].outcome.status is status
    assert "in the control batch: " in bundles[1].outcome.detail
    assert np.isfinite(bundles[1].seconds).all()
    assert figures(bundles[1]).recall == 1.0
    assert bundles[2].seconds.shape == (1, 2, 1)
    assert verify(place) == 0


@pytest.mark.parametrize("queries", [1, 3])
def test_few_queries(place: Bench, queries: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tests.support.QUERIES", queries)
    from tests.support import bench

    few = bench(tmp_path / "few")
    assert few.run(write_entry(tmp_path / "mine"), "--runs", "1") == 0
    assert figures(few.bundle()).control_recall == 1.0
    assert len(few.bundle().control.numbers[0]) <= queries
    assert verify(few) == 0


def test_no_query_has_a_match(place: Bench) -> None:
    write_spmat(place.folder / "data" / "base.tags.spmat", csr_matrix((300, 6), dtype=np.float32))
    assert place.run(write_entry(place.folder / "mine"), "--runs", "1") == 0
    row = figures(place.bundle())
    assert np.isnan(row.control_recall)
    assert row.row()["control_recall"] is None
    assert row.notes == ()
    assert verify(place) == 0


def test_a_stream_has_no_control_batch(place: Bench) -> None:
    from ann_bench.datasets.prepare import prepare
    from ann_bench.datasets.registry import find_manifest
    from ann_bench.sandbox import find_sandbox

    dataset = prepare(find_manifest(str(place.manifest), "filtered"), "public")
    common = setting(stream(), dataset, find_sandbox("process"), Options())
    entry = entry_at(write_entry(place.folder / "mine", STREAM), "filtered")
    tally = execute(plan(common, [entry]), Store(place.results))
    assert tally.all_ok
    assert place.bundle().control is None


@pytest.fixture
def measured(place: Bench) -> Bench:
    assert place.run(write_entry(place.folder / "mine"), "--runs", "2") == 0
    return place


def test_results_from_before_there_were_control_batches(measured: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    steps = tuple(step for step in measured.bundle().steps if step.kind != "control")
    forged(measured, control=None, steps=steps)
    row = figures(measured.bundle())
    assert np.isnan(row.control_recall)
    assert row.notes == ()
    assert verify(measured) == 0
    assert main(["export", "--results", str(measured.results), "--format", "csv"]) == 0
    (exported,) = csv.DictReader(capsys.readouterr().out.splitlines()[-2:])
    assert exported["control_recall"] == ""


def control_of(bundle: Bundle):
    assert bundle.control is not None
    return bundle.control


def _hits(control):
    hits = control.scores[0].hits.copy()
    hits[3] -= 1
    return {"scores": (replace(control.scores[0], hits=hits),)}


def _ids(control):
    ids = control.answers[0].copy()
    ids[3, 0] = -1
    return {"answers": (ids,)}


FORGERIES = {
    "a better score": (_hits, "hits of control answers 0, query 3"),
    "other answers": (_ids, "of control answers 0, query 3"),
    "counts of invalid ids": (
        lambda c: {"scores": (replace(c.scores[0], invalid={**c.scores[0].invalid, "duplicate": 2}),)},
        "invalid ids of control answers 0",
    ),
    "another seed": (lambda c: {"seed": c.seed + 1}, ""),
    "another variant": (lambda c: {"variant": 7}, "there is no control batch 7"),
    "no end of variants": (lambda c: {"variants": 10**9}, "there is no control batch"),
    "a sample of its own choice": (lambda c: {"numbers": (np.arange(len(c.numbers[0])) // 2,)}, "other queries"),
    "CPU times of other runs": (lambda c: {"published_cpu_seconds": np.ones((1, 5, 1))}, "are not those of the runs"),
    "no time": (lambda c: {"seconds": np.zeros((1, 1))}, "took no time"),
    "a time without answers": (lambda c: {"answer_of": np.full((1, 1), -1, np.int32)}, "do not belong together"),
    "fewer answers": (lambda c: {"answers": (c.answers[0][:, :5],)}, "(queries, k)"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_control_is_named(measured: Bench, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    change, said = FORGERIES[name]
    control = control_of(measured.bundle())
    forged(measured, control=replace(control, **change(control)))
    assert verify(measured) == 1
    assert said in capsys.readouterr().err


def test_ok_is_not_for_missing_or_invalid_control_batches(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    entry = write_entry(place.folder / "mine", FAILS.format(what="return np.repeat(answers[:, :1], k, axis=1)"))
    assert place.run(entry, "--runs", "2") == 1
    forged(place, outcome=Outcome(Status.OK))
    assert verify(place) == 1
    assert "there are invalid ids" in capsys.readouterr().err
    control = control_of(place.bundle())
    nothing = {"answer_of": np.full((1, 1), -1, np.int32), "answers": (), "scores": ()}
    forged(place, outcome=Outcome(Status.OK), control=replace(control, seconds=np.full((1, 1), np.nan), **nothing))
    assert verify(place) == 1
    assert "control batches are missing" in capsys.readouterr().err
