"""Two entries of a stream: recall, the speed of searches, the time of the whole."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ann_bench.cli import main
from ann_bench.compare.figure import QPS, RECALL, TOTAL
from ann_bench.compare.verdict import Side, compare
from ann_bench.compare.wanted import Wanted
from ann_bench.results.model import Bundle
from ann_bench.results.stages import whole_seconds
from ann_bench.results.store import Store
from ann_bench.stats import Verdict
from tests.results import made
from tests.support import Bench, bench, write_entry
from tests.tracks.test_streams import EXACT, RUNBOOK

WORKLOAD: list[dict[str, Any]] = [
    {"op": "insert", "ids": [0, 5000]},
    {"op": "search", "queries": 500},
    {"op": "delete", "ids": [0, 1000]},
    {"op": "search", "queries": 500},
]


def repeated(recall: float, *, speed: float = 1.0, noise: float = 0.02, seed: int = 0, **fields: Any) -> Bundle:
    """Five builds of one query config of a stream; every build has the same answers."""
    one = made.stream(recall, WORKLOAD, speed=speed, seed=seed, **fields)
    factors = np.random.default_rng(seed).lognormal(0, noise, 5)
    return dataclasses.replace(
        one,
        identity=made.identity(**{**one.identity.fields, "builds": 5}),
        seconds=np.concatenate([one.seconds * factor for factor in factors]),
        answer_of=np.repeat(one.answer_of, 5, axis=0),
        steps=tuple(
            dataclasses.replace(step, build=build, seconds=step.seconds * factor)
            for build, factor in enumerate(factors)
            for step in one.steps
        ),
    )


def side(label: str, *bundles: Bundle) -> Side:
    return Side(label, str(bundles[0].identity["algorithm"]), bundles)


def two(recalls: tuple[float, float], speed: float, name: str = "one", seed: int = 0) -> list[Bundle]:
    return [
        repeated(recall, speed=speed / (1 + place), seed=seed + place, algorithm=name, query={"effort": place})
        for place, recall in enumerate(recalls)
    ]


def test_recall_comes_first_and_speed_at_the_lower_recall() -> None:
    a, b = side("A", *two((0.80, 0.90), 1.0)), side("B", *two((0.84, 0.95), 0.3, "two", seed=4))
    questions = Wanted().questions(a, b)
    assert [figure for _, figure in questions] == [RECALL, QPS, TOTAL]
    (_, first), (least, _), _ = questions
    assert first is RECALL and least == max(one.figures.recall for one in a.points())
    recall, qps, total = (compare(a, b, place, figure) for place, figure in questions)
    assert recall.verdict is Verdict.FASTER and recall.to_json()["verdict"] == "better"
    assert recall.ratio.value == pytest.approx(0.95 / 0.90, abs=0.03)
    assert qps.verdict is Verdict.SLOWER and "between" in qps.how[1] and "between" not in qps.how[0]
    assert total.verdict is Verdict.SLOWER and total.ratio.value > 1 and total.fails(0.01)
    back = compare(b, a, least, TOTAL)
    assert back.ratio.value == pytest.approx(1 / total.ratio.value) and back.verdict is Verdict.FASTER


def test_what_differs_by_chance_is_not_told_apart() -> None:
    """Other queries would have given another recall: one search of 500 queries does not tell 0.9 from 0.902."""
    a, b = side("A", repeated(0.9)), side("B", repeated(0.902, algorithm="two", seed=1))
    assert [compare(a, b, *question).verdict for question in Wanted().questions(a, b)] == [Verdict.CANNOT_TELL] * 3


def test_the_time_of_a_stream_is_that_of_all_its_operations() -> None:
    one = made.stream(0.9, WORKLOAD)
    mine = [step.seconds for step in one.steps if step.kind in ("insert", "delete", "search")]
    assert whole_seconds(one) == pytest.approx([sum(mine)])
    broken = dataclasses.replace(one, seconds=np.where([True, False], one.seconds, np.nan))
    assert np.isnan(whole_seconds(broken)).all()


def test_figures_that_results_do_not_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, bundles in (("a", two((0.8, 0.9), 1.0)), ("b", two((0.8, 0.9), 1.0))):
        for bundle in bundles:
            Store(tmp_path / name).write(bundle)
    folders = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert main(["compare", *folders, "--figure", "p99"]) == 2
    assert "cannot be compared by p99; by qps, recall, total_seconds; latencies need" in capsys.readouterr().err
    assert main(["compare", *folders, "--figure", "speed"]) == 2
    assert "unknown figure 'speed'" in capsys.readouterr().err
    assert main(["compare", *folders, "--recall", "0.99"]) == 2
    shown = capsys.readouterr()
    assert (
        "does not reach recall 0.99" in shown.err
        and "cannot tell B (one) from A (one): 1.000 x its recall" in shown.out
    )
    assert main(["compare", *folders, "--format", "markdown"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(rows) == 5 and len({row.count("|") for row in rows}) == 1


@pytest.fixture
def place(tmp_path: Path) -> Bench:
    made = bench(tmp_path, tracks=["streaming"], runbook={"file": "runbook.yaml"})
    (tmp_path / "data" / "runbook.yaml").write_text(RUNBOOK, encoding="utf-8")
    return made


def test_two_entries_take_turns_by_whole_runs(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    slow = EXACT + "\n    def insert(self, vectors, ids, tags=None):\n        pass\n"
    slow = EXACT.replace(
        "def query(self, queries, k, tags=None):\n",
        "def query(self, queries, k, tags=None):\n    import time\n    time.sleep(0.2)\n",
    )
    entries = [
        write_entry(place.folder / name / "mine", body, tracks=["streaming"])
        for name, body in (("v1", EXACT), ("v2", slow))
    ]
    words = [
        "--dataset",
        str(place.manifest),
        "--builds",
        "4",
        "--memory",
        "1g",
        "--results",
        str(place.folder / "pair"),
    ]
    assert main(["compare", *map(str, entries), *words, "--json"]) == 1
    recall, qps, total = json.loads(capsys.readouterr().out)["comparisons"]
    assert (recall["verdict"], recall["ratio"]["value"], recall["paired"]) == ("cannot tell", 1.0, True)
    assert (qps["figure"], qps["verdict"]) == ("qps", "slower") and (total["figure"], total["verdict"]) == (
        "total_seconds",
        "slower",
    )
    folders = [place.folder / "pair" / name for name in ("a", "b")]
    turns = [dict(_began(Store(folder).load()[0][0])) for folder in folders]
    for build in range(2):  # one build of each, then the next of each
        assert max(one[build] for one in turns) < min(one[build + 1] for one in turns)
    assert main(["verify", *[word for folder in folders for word in ("--results", str(folder))]]) == 0


def _began(bundle: Bundle) -> list[tuple[int, float]]:
    return [(build, at) for build, _, at in bundle.provenance["turns"]["began"]]
