"""Ranks, tiers and what is left out of them."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from pathlib import Path
from typing import Any

import pytest

from ann_bench.cli import main
from ann_bench.report.board_table import conditions, head
from ann_bench.report.leaderboard import at_rates, boards, overall
from ann_bench.results.figures import Figures, figures
from ann_bench.results.model import Status
from ann_bench.results.store import Store
from tests.results import made

HEAD = "algorithm,parameters,dataset,count,qps,distcomps,build,indexsize,mean_ssd_ios,mean_latency,track,recall/ap\n"


def result(name: str, qps: float, recall: float = 0.95, **more: Any) -> Figures:
    return figures(made.bundle(recall, qps, algorithm=name, shape=(1, 5, 1), seed=len(name), **more))


def test_ranks_and_tiers() -> None:
    (board,) = boards([result("a", 1000), result("bb", 1005), result("ccc", 300), result("dddd", 9000, 0.5)])
    shown = [(place.algorithm, place.rank, place.tier) for place in board.places]
    assert {shown[0][0], shown[1][0]} == {"a", "bb"}
    assert [rank for _, rank, _ in shown] == [1, 2, 3, 0]
    assert shown[0][2] == shown[1][2] == 1, "five parts in a thousand are within the noise of 2 %"
    assert shown[2] == ("ccc", 3, 2)
    assert board.places[3].why.startswith("best recall@10 0.5")
    assert not board.isolated


def test_other_conditions_stand_apart_with_the_reason() -> None:
    (board,) = boards(
        [
            result("a", 1000, machine="Big"),
            result("bb", 500, machine="Big"),
            result("ccc", 5000, machine="Small", memory_limit_bytes=2**30),
        ]
    )
    assert [place.algorithm for place in board.places] == ["a", "bb"]
    (apart,) = board.apart
    assert apart.best.algorithm == "ccc"
    assert apart.reason == "memory limit 1 GiB; machine Small"


def single(name: str, mode: dict[str, Any], rate: float, speed: float) -> Figures:
    """A result of queries one by one, 1 / `speed` seconds each."""
    bundle = made.bundle(0.95, algorithm=name, shape=(2, 3, 1), mode=mode, callers=1)
    asks = made.asks(bundle, 1 / speed, rate=rate)
    asks.rate[:, 0] = math.nan if mode["rate"] == "max" else rate
    return figures(dataclasses.replace(bundle, asks=asks))


def test_the_highest_rate_has_a_board_and_a_given_one_has_none() -> None:
    searched, given = {"kind": "load", "rate": "max", "p99": 0.01}, {"kind": "load", "rate": 500.0}
    results = [single("a", searched, 800.0, 900), single("bb", searched, 1800.0, 2000), single("a", given, 500.0, 900)]
    (board,) = boards(results)
    assert [place.algorithm for place in board.places] == ["bb", "a"]
    assert all(place.best and place.best.rates == ((place.best.rate,), (place.best.rate,)) for place in board.places)
    assert "highest rate that keeps the latency" in head(board)
    (line,) = at_rates(results)
    assert line.startswith("mode load 500/s: not ranked")


def test_modes_and_disguises_have_boards_of_their_own() -> None:
    disguised = {"challenge": {"changes": "rows", "digest": "d"}}
    found = boards([result("a", 1000), result("bb", 500), result("a", 10, **disguised)])
    assert [len(board.places) for board in found] == [2, 1]
    assert not any(board.apart for board in found)
    assert "in disguise (rows)" in head(found[1])


def test_containers_come_before_processes() -> None:
    (board,) = boards([result("a", 1), result("bb", 2), result("a", 3, sandbox="docker")])
    assert board.isolated
    assert [one.reason for one in board.apart] == ["sandbox process"] * 2


def test_one_run_each_tells_nothing() -> None:
    one_run = [made.bundle(0.95, qps, algorithm=name, shape=(1, 1, 1)) for name, qps in (("a", 1.0), ("b", 9.0))]
    (board,) = boards(map(figures, one_run))
    assert [place.tier for place in board.places] == [1, 1]
    assert conditions(board).endswith("measured once each, so that no two can be told apart")


def test_failures_are_named() -> None:
    (board,) = boards([result("a", 1000), result("bb", 1000, status=Status.OUT_OF_MEMORY)])
    assert board.places[1].why == "out-of-memory: why it is out-of-memory"


def test_overall_counts_absence_as_last() -> None:
    first = [result("a", 1000), result("bb", 100)]
    second = [result("a", 10, dataset="other"), result("ccc", 1000, dataset="other")]
    rows = {row.algorithm: row for row in overall(boards(first + second))}
    assert rows["a"].mean_rank == 1.5
    assert rows["bb"].mean_rank == 2.5, "rank 2 of two, and behind both where it was not measured"
    assert rows["ccc"].mean_rank == 2.0
    assert (rows["bb"].boards, rows["ccc"].wins) == (1, 1)


def test_a_guess_has_score_0_and_exact_search_1() -> None:
    def guessed(recall: float, dataset: str) -> Figures:
        one = result("a", 10, recall, dataset=dataset)
        return dataclasses.replace(one, recall=recall, provenance={**one.provenance, "chance_recall": 0.92})

    for recall, score in ((0.92, 0.0), (0.96, 0.5), (1.0, 1.0)):
        (row,) = overall(boards([guessed(recall, "one"), guessed(recall, "another")]))
        assert row.mean_score == pytest.approx(score)
    (row,) = overall(boards([result("a", 10), result("a", 10, dataset="other")]))
    assert math.isnan(row.mean_score), "nobody noted what a guess is worth"


def test_those_of_a_tier_share_the_mean_of_their_ranks() -> None:
    one_run = [made.bundle(0.95, qps, algorithm=name, shape=(1, 1, 1)) for name, qps in (("a", 1.0), ("b", 9.0))]
    apart = [result("a", 10, dataset="other"), result("b", 1000, dataset="other")]
    rows = {row.algorithm: row.mean_rank for row in overall(boards([*map(figures, one_run), *apart]))}
    assert rows == {"a": (1.5 + 2) / 2, "b": (1.5 + 1) / 2}


def test_one_board_is_no_sum() -> None:
    assert overall(boards([result("a", 10), result("b", 1000)])) == []


@pytest.fixture
def results(tmp_path: Path) -> Path:
    store = Store(tmp_path / "results")
    for name, qps in (("a|<b>", 1000.0), ("bb", 100.0)):
        store.write(made.bundle(0.95, qps, algorithm=name))
    store.write(made.bundle(0.95, 50.0, algorithm="bb", dataset="other"))
    return store.folder


def test_as_typed(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "filter.csv"
    table.write_text(HEAD + "x,p,debian-20k,10,7000,0,-1.0,0,0,0,filter,0.93\n" + "y,p,no,10,1,0,1,0,0,0,filter,1\n")
    beside = ["--published", str(table), "--published-on", "some machine"]
    assert main(["leaderboard", "--results", str(results), *beside]) == 0
    said = capsys.readouterr().out
    assert "a|<b>" in said
    assert "unofficial" in said
    assert "published:x: recall 0.9300, 7,000 QPS (some machine); p" in said
    assert "Overall" in said
    assert main(["leaderboard", "--results", str(results), "--format", "csv", *beside]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["standing"], row["rank"]) for row in rows] == [
        ("ranked", "1"), ("ranked", "2"), ("published", ""), ("ranked", "1"),
    ]  # fmt: skip
    assert main(["leaderboard", "--results", str(results), "--format", "json", "--track", "filtered"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [board["rows"][0]["algorithm"] for board in document["boards"]] == ["a|<b>", "bb"]
    assert main(["leaderboard", "--results", str(results), "--format", "markdown"]) == 0
    assert "a\\|\\<b\\>" in capsys.readouterr().out


def test_what_cannot_be_shown(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["leaderboard", "--results", str(results), "--track", "sparse"]) == 2
    assert "no result in" in capsys.readouterr().err
    assert main(["leaderboard", "--results", str(results / "none")]) == 2
    assert "make some with `ann-bench run" in capsys.readouterr().err
    (results / "bad.h5").write_bytes(b"nothing")
    assert main(["leaderboard", "--results", str(results)]) == 1
    said = capsys.readouterr()
    assert "bad.h5" in said.err
    assert "bb" in said.out


def test_a_recommendation(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recommend", "--results", str(results), "--recall", "0.9", "--dataset", "debian-20k"]) == 0
    said = capsys.readouterr().out
    assert said.index("a|<b>") < said.index("bb")
    wants = ["recommend", "--results", str(results), "--recall", "0.99", "--memory", "100m", "--json"]
    assert main([*wants, "--dataset", "other"]) == 1
    (advice,) = json.loads(capsys.readouterr().out)
    assert advice["fitting"] == []
    assert advice["nearest"]["algorithm"] == "bb"
    assert [text.split()[0] for text in advice["nearest"]["lacks"]] == ["recall@10", "412"]
    assert main(["recommend", "--results", str(results), "--updates"]) == 2
    assert "none of them is of a stream" in capsys.readouterr().err
