"""All the searches of a workload at once against naive code and against `exact` of each search alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from ann_bench.datasets.dataset import Dataset, QuerySet
from ann_bench.truth import compute, streams
from ann_bench.truth.exact import exact
from ann_bench.truth.lives import Lifetime, lifetimes, live_of, runs_of
from ann_bench.truth.model import Live
from ann_bench.truth.problems import problems
from ann_bench.truth.store import key_of, truths_for
from ann_bench.workload import Build, Delete, Insert, Operation, Replace, Search, Workload
from tests.truth.helpers import naive, save, save_any, save_csr, use_always

ROWS, QUERIES, IDS = 24, 5, 30
RUNBOOKS = Path(__file__).resolve().parents[3] / "shared" / "data" / "runbooks"


@st.composite
def spans(draw: st.DrawFn, limit: int) -> range:
    first = draw(st.integers(0, limit - 1))
    return range(first, draw(st.integers(first, limit)))


@st.composite
def operations(draw: st.DrawFn) -> Operation:
    kind = draw(st.sampled_from(["insert", "delete", "replace", "search", "search"]))
    if kind == "search":
        return Search(draw(st.sampled_from([QUERIES, 3])), draw(st.sampled_from([1, 4])), draw(st.booleans()))
    if kind == "delete":
        return Delete(draw(spans(IDS)))
    rows = draw(spans(ROWS))
    first = draw(st.integers(0, IDS - len(rows)))
    return (Insert if kind == "insert" else Replace)(range(first, first + len(rows)), rows)


def dataset(folder: Path, seed: int, sparse: bool, kind: tuple[str, str]) -> Dataset:
    """Few distinct values: many ties and duplicates; two tags, so that filters fail and match."""
    rng = np.random.default_rng(seed)
    least = 0 if kind[1] == "uint8" else -1
    base, queries = (rng.integers(least, least + 3, (n, 3)).astype(kind[1]) for n in (ROWS, QUERIES))
    tags, query_tags = (
        save_csr(folder, csr_matrix(rng.integers(0, 2, (n, 2)).astype(np.float32))) for n in (ROWS, QUERIES)
    )
    both = [save_any(folder, csr_matrix(m.astype(np.float32)) if sparse else m) for m in (base, queries)]
    return replace(made(both, tags, query_tags), metric=kind[0])


def made(both: list, tags=None, query_tags=None) -> Dataset:
    base, queries = both
    asked = QuerySet(name="public", vectors=queries, tags=query_tags)
    return Dataset(name="made", metric="euclidean", base=base, tags=tags, queries=asked)


def plain_live(steps: list[Operation]) -> list[dict[int, int]]:
    """The row of each live id at each search, one id after the other."""
    rows: dict[int, int] = {}
    found = []
    for step in steps:
        if isinstance(step, Search):
            found.append(dict(rows))
        elif isinstance(step, Build):
            rows = {row: row for row in step.rows}
        elif isinstance(step, Delete):
            rows = {one: row for one, row in rows.items() if one not in step.ids}
        else:
            rows.update(zip(step.ids, step.rows, strict=True))
    return found


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(operations(), max_size=14),
    build=st.booleans(),
    seed=st.integers(0, 9),
    sparse=st.booleans(),
    size=st.sampled_from([1, 2, 100]),
    kind=st.tuples(st.sampled_from(["euclidean", "ip", "angular"]), st.sampled_from(["float32", "uint8", "int8"])),
    once=st.booleans(),
)
def test_any_workload(tmp_path_factory, steps, build, seed, sparse, size, kind, once):
    steps = [*([Build(range(ROWS))] if build else []), *steps, Search(QUERIES, 4)]
    searches = problems(dataset(tmp_path_factory.mktemp("data"), seed, sparse, kind), Workload(tuple(steps), IDS))
    with pytest.MonkeyPatch.context() as patch:
        if once:
            use_always(patch)
        patch.setattr(compute, "_FILTERED", size)
        patch.setattr(compute, "_QUERIES", (size, size))
        patch.setattr(compute, "_FEWEST", 1)
        patch.setattr(streams, "_CANDIDATES", size)
        found = truths_for(searches, tmp_path_factory.mktemp("cache"))
    assert len(found) == len(searches) == len(plain_live(steps))
    for problem, truth, rows in zip(searches, found, plain_live(steps), strict=True):
        live = problem.live or Live(np.arange(ROWS), np.arange(ROWS))
        assert dict(zip(live.ids.tolist(), live.rows.tolist(), strict=True)) == rows
        ids, distances = naive(replace(problem, live=live))
        if kind[0] != "angular":  # whose ties on paper are none in float64
            np.testing.assert_array_equal(truth.ids, ids)
            np.testing.assert_array_equal(truth.distances, distances)
        alone = exact(problem)
        np.testing.assert_array_equal(truth.ids, alone[0])
        np.testing.assert_array_equal(truth.distances, alone[1])
        assert truth.key == key_of(problem)


@given(st.lists(st.dictionaries(st.integers(0, 12), st.integers(0, 12)), max_size=7))
def test_lifetimes_hold_each_point_at_each_search_once(lives):
    sets = [
        Live(np.array(sorted(one), dtype=np.int64), np.array([one[i] for i in sorted(one)], dtype=np.int64))
        for one in lives
    ]
    groups = lifetimes([runs_of(live, 0) for live in sets])
    assert len({(group.birth, group.death) for group in groups}) == len(groups)
    for time, one in enumerate(lives):
        pairs = []
        for group in groups:
            assert group.birth < group.death
            if group.birth <= time < group.death:
                live = live_of(group.runs, -1)
                pairs += zip(live.ids.tolist(), live.rows.tolist(), strict=True)
        assert sorted(pairs) == sorted(one.items())


def test_each_group_is_scanned_once_and_dropped_when_it_is_over():
    groups = [
        Lifetime(birth, death, np.array([(birth, death, 1)])) for birth in range(8) for death in range(birth + 1, 9)
    ]
    seen, held_now, most = [], set(), 0

    class Watched(streams.Tops):
        def __del__(self):
            held_now.discard(self.ids[0, 0])

    def find(group):
        nonlocal most
        seen.append((group.birth, group.death))
        held_now.add(len(seen))
        most = max(most, len(held_now))
        return Watched(np.full((1, 1), len(seen), dtype=np.int32), np.full((1, 1), float(len(seen))))

    assert len(list(streams.answers(groups, 8, find, streams.Tops.empty(1, 1)))) == 8
    assert len(seen) == len(set(seen)) == len(groups)
    assert most < len(groups)


def runbook(path: Path, rows: int, queries: int, k: int) -> tuple[Workload, int]:
    """A runbook with its numbers scaled so that it has at most so many rows."""
    steps = next(iter(yaml.safe_load(path.read_text()).values()))
    numbered = [steps[key] for key in sorted(key for key in steps if isinstance(key, int))]
    most = max(max(step.get("end", 0), step.get("ids_end", 0), step.get("tags_end", 0)) for step in numbered)
    scale = min(1.0, rows / most)

    def span(step: dict, first: str, last: str) -> range:
        return range(int(step[first] * scale), int(step[last] * scale))

    found: list[Operation] = []
    for step in numbered:
        kind = step["operation"]
        if kind == "search":
            found.append(Search(queries, k))
        elif kind == "insert":
            ids = span(step, "start", "end")
            found.append(Insert(ids, ids))
        elif kind == "delete":
            found.append(Delete(span(step, "start", "end")))
        else:
            ids, taken = span(step, "tags_start", "tags_end"), span(step, "ids_start", "ids_end")
            length = min(len(ids), len(taken))
            found.append(Replace(range(ids.start, ids.start + length), range(taken.start, taken.start + length)))
    return Workload(tuple(found), most), int(most * scale) + 1


@pytest.mark.parametrize(
    "name",
    [
        "simple_runbook",
        "simple_replace_runbook",
        "clustered_runbook",
        "delete_runbook",
        "msturing-10M_slidingwindow_runbook",
        "wikipedia-1M_expiration_time_replace_delete_runbook",
        "final_runbook",
    ],
)
@pytest.mark.parametrize("once", [True, False])
def test_real_runbooks(tmp_path, monkeypatch, name, once):
    if once:
        use_always(monkeypatch)
    path = RUNBOOKS / f"{name}.yaml"
    if not path.exists():
        pytest.skip(f"no {name}.yaml in ../shared/data/runbooks")
    workload, rows = runbook(path, 20_000, 40, 10)
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(20, 6))
    both = [
        save(tmp_path, (centres[rng.integers(0, 20, n)] + rng.normal(size=(n, 6))).astype(np.float32))
        for n in (rows, 40)
    ]
    searches = problems(made(both), workload)
    found = truths_for(searches, tmp_path)
    assert len(found) == len(workload.searches) > 0
    for place in np.unique(np.linspace(0, len(found) - 1, 12).astype(int)).tolist():
        ids, distances = exact(searches[place])
        np.testing.assert_array_equal(found[place].ids, ids)
        np.testing.assert_array_equal(found[place].distances, distances)
