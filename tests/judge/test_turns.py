"""Runs that take turns, warm-ups, and going on until an interval is narrow."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from ann_bench.judge.canary import ROUNDS, Canary
from ann_bench.judge.repeat import MOST_RUNS, Repeat
from ann_bench.judge.verify_steps import verify_steps
from ann_bench.results.figures import figures
from ann_bench.results.model import Bundle, Status
from tests.judge.modes import WIRE
from tests.support import Bench, bench, write_entry

#: Writes down who is asked, with which effort, and when.
TELLS = """
def set_query_arguments(self, effort):
    self.effort = effort

def query(self, queries, k, tags=None):
    import time
    with open({path!r}, "a") as file:
        print({name!r}, self.effort, file=file)
    {more}
    return self.exact(queries, k, tags)
"""
TWO = {"default": [{"effort": 1}, {"effort": 2}]}


@pytest.fixture
def place(tmp_path: Path) -> Bench:
    return bench(tmp_path)


def entries(place: Bench, **more: str) -> list[str]:
    """Arguments that name an entry for each keyword, which does this before it answers."""
    found = []
    for name, what in more.items():
        body = TELLS.format(path=str(place.folder / "told"), name=name, more=what or "pass")
        found += ["--entry", str(write_entry(place.folder / name, body, query=TWO))]
    return found[1:2], found[2:]


def told(place: Bench) -> list[str]:
    return (place.folder / "told").read_text().splitlines()


def run(place: Bench, *options: str, **more: str) -> tuple[int, dict[tuple[str, int], Bundle]]:
    (first,), others = entries(place, **more)
    code = place.run(Path(first), *others, "--cpus", "1", "--memory", "256m", *options)
    return code, {(one.identity["algorithm"], one.identity["query"]["effort"]): one for one in place.bundles()}


def test_entries_and_query_configs_take_turns(place: Bench) -> None:
    code, bundles = run(place, "--runs", "4", "--warmups", "2", one="", other="")
    assert code == 0
    every = {f"{name} {effort}" for name in ("one", "other") for effort in (1, 2)}
    calls = told(place)
    assert len(calls) == 4 * (2 + 4 + 1)  # warm-ups, runs, the control batch
    rounds = [set(calls[first : first + 4]) for first in range(0, len(calls), 4)]
    assert rounds == [every] * 7
    assert len({tuple(calls[first : first + 4]) for first in range(0, len(calls), 4)}) > 1  # not always the same order
    for bundle in bundles.values():
        verify_steps(bundle)
        assert [step.kind for step in bundle.steps].count("warmup") == 2
        assert bundle.provenance["turns"]["of"] == ["one", "other"]
        began = bundle.provenance["turns"]["began"]
        assert [turn[:2] for turn in began] == [[0, run] for run in range(4)]
        assert began == sorted(began, key=lambda turn: turn[2])
        assert figures(bundle).runs == 4


def test_those_that_wait_do_nothing(place: Bench) -> None:
    """A thread that works between the calls of its entry is stopped while the other one is measured."""
    start = "import threading\nthreading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()"
    body = TELLS.format(path=str(place.folder / "told"), name="busy", more="pass")
    busy = write_entry(place.folder / "busy", body, start=start, query=TWO)
    slow = write_entry(
        place.folder / "slow",
        "def query(self, q, k, t=None):\n    import time; time.sleep(0.3); return self.exact(q, k, t)",
    )
    assert place.run(busy, "--entry", str(slow), "--cpus", "1", "--memory", "256m", "--runs", "5") == 0
    used = sum(one.usage.cpu_outside_seconds for one in place.bundles() if one.identity["algorithm"] == "busy")
    assert used < 1.0  # of the 2.1 s that the other one takes alone


def test_the_end_of_one_entry_touches_nobody_else(place: Bench) -> None:
    code, bundles = run(
        place, "--runs", "3", bad="if self.effort == 2 and len(queries): import os; os._exit(3)", good=""
    )
    assert code == 1
    statuses = {key: one.outcome.status for key, one in bundles.items()}
    assert statuses.pop(("bad", 2)) is Status.CRASHED
    assert set(statuses.values()) == {Status.OK}
    for key, one in bundles.items():
        verify_steps(one)
        if key != ("bad", 2):
            assert np.isfinite(one.seconds).all()
            assert [step.kind for step in one.steps].count("build") == 1  # not that of the worker that was lost


def test_until_an_interval_is_narrow(place: Bench) -> None:
    code, bundles = run(place, "--until", "40%", "--runs", "30", one="time.sleep(0.02)")
    assert code == 0
    for bundle in bundles.values():
        runs = bundle.seconds.shape[1]
        assert 5 <= runs <= 30
        row = figures(bundle)
        assert row.runs == runs
        reached = row.qps_high - row.qps_low <= 2 * 0.4 * row.qps
        assert reached or any("QPS is within" in note for note in row.notes)
        verify_steps(bundle)
    before = len(told(place))
    assert run(place, "--until", "40%", "--runs", "30", one="time.sleep(0.02)")[0] == 0
    assert len(told(place)) == before  # found done


def test_until_by_builds(place: Bench) -> None:
    code, bundles = run(place, "--until", "90%", "--builds", "6", "--runs", "2", one="time.sleep(0.02)")
    assert code == 0
    for bundle in bundles.values():
        assert 3 <= bundle.seconds.shape[0] <= 6
        assert bundle.seconds.shape[1] == 2
        assert np.isfinite(bundle.seconds).all()
        verify_steps(bundle)


def test_a_goal_that_cannot_be_reached_is_said(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    more = "time.sleep(0.02 + 0.2 * (__import__('random').random() < 0.5))"
    code, bundles = run(place, "--until", "0.1%", "--runs", "6", one=more)
    assert code == 0
    assert all(bundle.seconds.shape == (1, 6, 1) for bundle in bundles.values())
    assert "6 runs and QPS is within" in " ".join(capsys.readouterr().out.split())


def test_the_time_is_up(place: Bench) -> None:
    """A worker takes longer than that to start: each query config has the one run that makes it a result."""
    code, bundles = run(place, "--until", "0.1%", "--runs", "200", "--for", "0.1", one="time.sleep(0.03)")
    assert code == 0
    assert len(bundles) == 2
    for bundle in bundles.values():
        assert bundle.seconds.shape == (1, 1, 1)
        assert any("the time was up after 1 run: too few" in note for note in figures(bundle).notes)
        verify_steps(bundle)


def test_no_build_is_begun_that_the_time_is_too_short_for(place: Bench) -> None:
    code, bundles = run(place, "--until", "1%", "--builds", "5", "--runs", "2", "--for", "0.1", one="time.sleep(0.05)")
    assert code == 0
    for bundle in bundles.values():
        assert bundle.seconds.shape[:2] == (1, 2)
        assert any("how builds differ is not known" in note for note in figures(bundle).notes)


def test_recall_counts_where_builds_are_repeated(place: Bench) -> None:
    """Speed that is the same in all builds, and answers that are not."""
    wrong = "time.sleep(0.05); ids = self.exact(queries, k, tags); half = __import__('random').random()"
    entry = write_entry(
        place.folder / "mine",
        f"def query(self, queries, k, tags=None):\n    import time\n    {wrong}\n"
        "    ids[: int(half * len(ids))] = -1\n    return ids\n",
    )
    assert place.run(entry, "--until", "20%", "--builds", "5", "--runs", "1") == 0
    (bundle,) = place.bundles()
    assert bundle.seconds.shape[0] == 5
    assert any("5 builds and" in note and "recall is within" in note for note in figures(bundle).notes)


def test_what_a_mode_is_about_counts(place: Bench) -> None:
    """A search for a rate has one figure a build; of a rate that is asked for the latency is what is to be known."""
    entry = write_entry(place.folder / "mine", start=WIRE)
    assert place.run(entry, "--until", "1%", "--mode", "load", "--rate", "max", "--p99", "10ms") == 2
    assert place.run(entry, "--until", "0.01%", "--mode", "latency", "--runs", "6", "--cpus", "1") == 0
    notes = " ".join(figures(place.bundle()).notes)
    assert "p50 is within" in notes
    assert place.run(entry, "--for", "1m") == 2


@pytest.mark.parametrize("wrong", ["2", "0", "0%", "two", "-1%", "100%"])
def test_a_goal_that_is_none(place: Bench, wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.run(write_entry(place.folder / "mine"), f"--until={wrong}") == 2
    assert "write 2% or 0.02" in " ".join(capsys.readouterr().err.split())


def test_how_many_runs() -> None:
    assert Repeat().runs(None, 5, 1) == 5
    assert Repeat(until=0.02).runs(None, 5, 1) == MOST_RUNS
    assert Repeat(until=0.02).runs(None, 5, 4) == 5  # builds are repeated
    assert Repeat().to_json() == {}


def test_a_canary_is_kept_raw_and_shared(place: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANN_BENCH_CANARY", "1")
    code, bundles = run(place, "--runs", "1", one="")
    assert code == 0
    for bundle in bundles.values():
        canary = bundle.provenance["canary"]
        assert [len(canary[name]) for name in ("before", "after")] == [ROUNDS, ROUNDS]
        assert json.dumps(canary)
        assert figures(bundle).canary_drift > -1
    canary = Canary(1)
    assert canary.after() is canary.after()


def test_a_canary_sings_where_entries_run() -> None:
    mine = os.sched_getaffinity(0)
    seen: list[set[int]] = []

    class Watched(Canary):
        def _work(self, thread: int) -> None:
            seen.append(os.sched_getaffinity(0))
            super()._work(thread)

    Watched(2, [max(mine)])
    assert set(map(frozenset, seen)) == {frozenset({max(mine)})}
    assert os.sched_getaffinity(0) == mine  # of this thread
    Canary(1, [100_000])  # no CPU of this machine
