"""Who interrupts a run keeps the runs that were whole, as results that say so and are measured anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ann_bench.cli import main
from ann_bench.judge.events import Began, Event, Work
from ann_bench.judge.run import execute, wanted
from ann_bench.results.figures import figures
from ann_bench.results.model import Bundle, Status
from ann_bench.results.newest import newest
from ann_bench.results.store import Store
from tests.judge.planned import planned
from tests.support import Bench, bench, write_entry

#: Answers that differ from call to call, so that those of a run that is dropped are nobody's.
FICKLE = """
def query(self, queries, k, tags=None):
    answers = self.exact(queries, k, tags)
    answers[:, np.random.default_rng().integers(1, k)] = -1
    return answers
"""


@pytest.fixture
def place(tmp_path: Path) -> Bench:
    return bench(tmp_path)


def entries(place: Bench) -> list[Path]:
    two = {"default": [{"effort": 1}, {"effort": 2}]}
    return [write_entry(place.folder / name, FICKLE, query=two) for name in ("one", "other")]


def interrupt(place: Bench, at: Callable[[Work], bool], *, force: bool = False, **options: object) -> list[Bundle]:
    """Run two entries up to where `at` says so; returns what is stored then, and verifies it."""

    def watch(event: Event) -> None:
        if isinstance(event, Began) and at(event.work):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(planned(place, entries(place), **options), Store(place.results), force=force, watch=watch)
    if not list(place.results.rglob("*.h5")):
        return []
    assert main(["verify", "--results", str(place.results)]) == 0
    return place.bundles()


def runs(bundle: Bundle) -> list[int]:
    """How many runs of each build are there."""
    return [int(row.sum()) for row in np.isfinite(bundle.seconds).all(axis=2)]


def to_run(place: Bench, **options: object) -> int:
    store = Store(place.results)
    return sum(len(wanted(job, store)) for job in planned(place, entries(place), **options).jobs)


def test_whole_runs_are_kept_and_the_next_run_measures_anew(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    kept = interrupt(place, lambda work: work.kind == "search" and work.number == 3, runs=4)
    assert len(kept) == 4
    for bundle in kept:
        assert bundle.outcome.status is Status.UNFINISHED
        assert bundle.outcome.detail == "interrupted after 2 of 4 runs; the next run measures it anew"
        assert runs(bundle) == [2]
        row = figures(bundle)
        assert not row.ok
        assert row.qps > 0
    assert to_run(place, runs=4) == 4
    shorter = interrupt(place, lambda work: work.kind == "search" and work.number == 2, runs=4)
    assert [runs(bundle) for bundle in shorter] == [[2]] * 4  # that with more runs stays
    tally = execute(planned(place, entries(place), runs=4), Store(place.results))
    assert (tally.found, tally.made, tally.all_ok) == (0, 4, True)
    assert to_run(place, runs=4) == 0
    before = [path.read_bytes() for path in sorted(place.results.rglob("*.h5"))]
    interrupt(place, lambda work: work.kind == "control", force=True, runs=4)
    assert [path.read_bytes() for path in sorted(place.results.rglob("*.h5"))] == before  # whole results stay
    capsys.readouterr()


def test_what_is_finished_is_finished(place: Bench) -> None:
    """The end comes while the answers of the second config are scored: two are whole, the others lack a batch."""
    seen: list[Work] = []

    def second_score(work: Work) -> bool:
        seen.append(work)
        return [one.kind for one in seen].count("score") == 2

    kept = interrupt(place, second_score, runs=2)
    assert sorted(bundle.outcome.status.value for bundle in kept) == ["ok", "ok", "unfinished", "unfinished"]
    assert to_run(place, runs=2) == 2


def test_earlier_builds_are_kept(place: Bench) -> None:
    kept = interrupt(place, lambda work: work.kind == "build" and work.number == 2, runs=2, builds=3)
    assert [runs(bundle) for bundle in kept] == [[2, 0, 0]] * 4
    assert {bundle.outcome.detail for bundle in kept} == {
        "interrupted after 2 of 6 runs in 3 builds; the next run measures it anew"
    }
    assert {step.build for bundle in kept for step in bundle.steps} == {0}


def test_without_a_whole_run_nothing_is_kept(place: Bench) -> None:
    assert interrupt(place, lambda work: work.kind == "search", runs=2) == []


def test_a_whole_result_stands_for_an_unfinished_one(place: Bench) -> None:
    interrupt(place, lambda work: work.kind == "search" and work.number == 2, runs=2)
    old = [figures(bundle) for bundle in place.bundles()]
    execute(planned(place, entries(place), runs=2), Store(place.results))
    new = [figures(bundle) for bundle in place.bundles()]
    assert newest(new + old) == new
