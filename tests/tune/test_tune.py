"""The whole command, with an entry that is the slower the more of its answers are right."""

from __future__ import annotations

import builtins
import json
import signal
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest

from ann_bench.cli import main
from ann_bench.entries.discovery import entry_at
from ann_bench.entries.space import Tuned
from ann_bench.judge.run import measuring
from ann_bench.results.figures import figures
from tests.support import Bench, bench, write_entry

pytestmark = pytest.mark.usefixtures("own_cache")

#: `effort` of 10 answers are right; a search takes `effort` + |`size` - 4| times 4 ms.
TRADES = """
def query(self, queries, k, tags=None):
    import time
    answers = self.exact(queries, k, tags)
    time.sleep(0.004 * (self.effort + abs(self.build["size"] - 4)))
    answers[:, self.effort :] = -1
    return answers

def set_query_arguments(self, effort):
    self.effort = effort
"""
CONFIG = {
    "build": {"default": {"size": 30}},
    "query": {"default": [{"effort": 10}]},
    "space": {"build": {"size": {"from": 1, "to": 30}}, "query": {"effort": {"from": 1, "to": 10}}},
}


@pytest.fixture
def place(tmp_path) -> Bench:
    return bench(tmp_path)


def tune(place: Bench, entry, *options: str) -> int:
    fixed = ["tune", str(entry), "--dataset", str(place.manifest), "--runs", "1", "--out", str(place.folder / "tuned")]
    return main([*fixed, "--results", str(place.results), *options])


def test_it_finds_what_is_quicker_and_writes_an_entry_that_says_so(place, capsys) -> None:
    entry = write_entry(place.folder / "trades", TRADES, **CONFIG)
    assert tune(place, entry, "--budget", "6s", "--recall", "0.6", "--json") == 0
    (told,) = json.loads(capsys.readouterr().out)
    trials = told["trials"]
    own = [trial for trial in trials if trial["own"]]
    assert [(trial["build"], trial["query"]) for trial in own] == [({"size": 30}, {"effort": 10})]
    (row,) = told["rows"]
    good = [trial for trial in trials if trial["recall"] >= 0.6]
    assert row["seen"]["qps"] == max(trial["qps"] for trial in good)
    assert row["seen"]["query"]["effort"] >= 5  # some queries have fewer than ten answers
    assert row["unseen"]["query"] == row["seen"]["query"]
    assert row["drop"] == pytest.approx(row["seen"]["recall"] - row["unseen"]["recall"])
    assert row["own"]["recall"] == 1.0
    assert told["queries"] == "half of the public queries"

    folder = place.folder / "tuned" / "trades-tuned"
    tuned = entry_at(folder, "filtered")
    assert tuned.config.build_for("tiny") == told["build"]
    assert tuned.config.queries_for("tiny") == told["query"]
    assert tuned.config.build_for("other") is None
    version = tuned.config.tuned.version
    assert tuned.config.tuned == Tuned(
        dataset="tiny", queries="half of the public queries", budget_seconds=6.0, seed=1, version=version
    )
    assert {path.name for path in folder.parent.iterdir()} == {"trades-tuned"}

    assert tune(place, entry, "--budget", "6s") == 2  # nothing is written over
    assert "is there already" in capsys.readouterr().err
    assert place.run(folder, "--runs", "1") == 0
    assert "tuned" in capsys.readouterr().out
    assert all(figures(bundle).tuned for bundle in place.bundles())
    assert place.run(entry, "--runs", "1") == 0
    assert "tuned" not in capsys.readouterr().out


def test_an_interrupted_search_goes_on(place, own_cache, capsys) -> None:
    """It waits for its turn, keeps what it has measured, and the same command uses up what is left of the time."""
    entry = write_entry(place.folder / "trades", TRADES, **CONFIG)
    options = ["--budget", "5s", "--results", str(place.results), "--json"]
    words = ["tune", str(entry), "--dataset", str(place.manifest), "--runs", "1", "--out", str(place.folder / "tuned")]
    place.results.mkdir()
    with ExitStack() as stack:
        with measuring(place.results):
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "ann_bench", *words, *options],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            assert "another run is measuring" in process.stderr.readline()
            assert not list(own_cache.glob(".tune/*"))
        while not any('"trial"' in path.read_text() for path in own_cache.glob(".tune/*")):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130, said
    assert "run the same command again" in said
    assert not (place.folder / "tuned").exists()
    (kept,) = own_cache.glob(".tune/*")
    before = [json.loads(line) for line in kept.read_text().splitlines()]
    with kept.open("a") as file:
        file.write('{"spent": {"sec')  # killed while it wrote
    assert main([*words, *options]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    trials = [line["trial"] for line in before if "trial" in line]
    assert told["trials"][: len(trials)] == trials
    assert [trial["own"] for trial in told["trials"]].count(True) == 1
    assert told["spent"]["builds"] > before[-1]["spent"]["builds"]
    assert 0 < before[-1]["spent"]["seconds"] < told["spent"]["seconds"]
    assert list(own_cache.glob(".tune/*")) == []


def test_several_of_which_one_was_finished(place, capsys) -> None:
    paths = [write_entry(place.folder / name, TRADES, **CONFIG) for name in ("one", "two")]
    assert tune(place, paths[0], "--budget", "2s") == 0
    capsys.readouterr()
    assert tune(place, paths[0], str(paths[1]), "--budget", "2s", "--json") == 0
    told = capsys.readouterr()
    assert [one["entry"] for one in json.loads(told.out)] == ["two"]
    assert "one: was tuned with this budget and seed before" in told.err
    assert tune(place, paths[0], str(paths[1]), "--budget", "2s") == 2
    assert "is there already" in capsys.readouterr().err


@pytest.mark.docker
def test_in_containers(place, engine, capsys) -> None:
    entry = write_entry(place.folder / "trades", TRADES, **CONFIG)
    options = ("--sandbox", "docker", "--cpus", "1", "--memory", "256m", "--budget", "8s", "--recall", "0.6", "--json")
    assert tune(place, entry, *options) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["spent"]["failed"] == 0
    assert told["rows"][0]["unseen"]["recall"] > 0
    tuned = entry_at(place.folder / "tuned" / "trades-tuned", "filtered").config
    assert (tuned.tuned.budget_seconds, tuned.build_for("tiny")) == (8.0, told["build"])


def test_a_budget_too_small_for_one_build(place, capsys) -> None:
    entry = write_entry(
        place.folder / "slow", "def fit(self, *given):\n    import time\n    time.sleep(60)\n", **CONFIG
    )
    assert tune(place, entry, "--budget", "1s") == 2
    error = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error")]
    assert len(error) == 1
    assert "a budget of 1 s is too small for one build" in error[0]
    assert not (place.folder / "tuned").exists()


def test_an_entry_that_fails_whatever_is_tried(place, capsys) -> None:
    entry = write_entry(place.folder / "broken", "def fit(self, *given):\n    raise OSError('no luck')\n", **CONFIG)
    assert tune(place, entry, "--budget", "2s") == 1
    assert "nothing that was tried could be measured: crashed" in capsys.readouterr().err


def test_an_entry_without_a_space(place, capsys) -> None:
    entry = write_entry(place.folder / "plain")
    assert tune(place, entry, "--budget", "1s") == 2
    assert "declares no `space:`" in capsys.readouterr().err


def test_without_optuna(place, capsys, monkeypatch) -> None:
    imported = builtins.__import__

    def refuse(name, *rest, **named):
        if name == "optuna":
            raise ImportError(name)
        return imported(name, *rest, **named)

    entry = write_entry(place.folder / "trades", TRADES, **CONFIG)
    monkeypatch.setattr(builtins, "__import__", refuse)
    assert tune(place, entry, "--budget", "1s") == 2
    assert "python -m pip install 'ann-bench[tune]'" in capsys.readouterr().err
