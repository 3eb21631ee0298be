"""The table of a run."""

from __future__ import annotations

import dataclasses
import io
import math

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from ann_bench.report import format as show
from ann_bench.report.ranking import best_per_algorithm
from ann_bench.report.table import results_table
from ann_bench.results.figures import figures
from ann_bench.results.model import Bundle, Status, Step, Usage
from ann_bench.tracks import Score
from tests.report import scenes
from tests.results import made

FASTEST = Score("qps", 0.9)
BEST_RECALL = Score("recall")


def printed(bundles: list[Bundle], width: int = 100, score: Score | None = FASTEST) -> list[str]:
    console = Console(width=width, file=io.StringIO())
    console.print(results_table([figures(bundle) for bundle in bundles], 10, score))
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 100, 140])
def test_it_fits(width: int) -> None:
    lines = printed(scenes.four(), width)
    assert all(cell_len(line) <= width for line in lines)
    assert not any("…" in line for line in lines)
    rows = [line for line in lines if line.rstrip().endswith("412 MiB")]
    assert len(rows) == 18  # no number is broken over lines
    for status in ("invalid-answer", "not-installed"):
        assert sum(status in line for line in lines) == 2  # in the table and with its reason
    assert len({line.rstrip().rindex("MiB") for line in rows}) == 1


def test_what_it_says() -> None:
    lines = printed(scenes.four())
    text = "\n".join(lines)
    assert "recall@10" in lines[0]
    for word in ("not-installed", "invalid-answer", "effort=16", "95 %"):
        assert word in text
    assert "absent nprobe=4  not-installed: hnswlib: pip install hnswlib" in lines
    order = [line.split()[0] for line in lines[2:] if line[:1].isalpha()][:6]
    assert order == ["absent", "broken", "exact", "faiss-hnsw", "faiss-ivf", "hnswlib"]
    best = lines[next(i for i, line in enumerate(lines) if "Most queries per second" in line) :]
    names = ["faiss-hnsw", "faiss-ivf", "hnswlib", "exact", "absent", "broken"]
    assert [line.split()[0] for line in best[3:-1]] == names
    assert "none reaches it" in best[-2]


def test_recall_rises_within_an_algorithm() -> None:
    shown = [one.recall for one in map(figures, scenes.one())]
    lines = printed(scenes.one(), score=None)[2:]
    assert [f"{recall:.4f}" in line for recall, line in zip(sorted(shown), lines, strict=True)] == [True] * 6


def test_builds_are_named_where_they_differ() -> None:
    lines = printed([made.bundle(build={"m": 8}), made.bundle(build={"m": 16})])
    assert sum("m=8; nprobe=4" in line for line in lines) == 1


def test_markup_in_names_is_no_markup() -> None:
    assert "[bold]x" in "\n".join(printed([made.bundle(algorithm="[bold]x"), made.failed(detail="[/red] [a]")]))


def test_notes_stand_below_the_table() -> None:
    busy = made.bundle(query={"nprobe": 9})
    busy = dataclasses.replace(busy, usage=Usage(cpu_inside_seconds=2, cpu_outside_seconds=30))
    lines = printed([made.bundle(), busy, made.failed(query={})])
    note = "faiss-ivf nprobe=9: used 30 CPU seconds outside of the timed calls"
    assert [line for line in lines if "CPU seconds" in line] == [note]
    assert lines.index(note) > max(i for i, line in enumerate(lines) if "not-installed" in line)
    assert not any("CPU seconds" in line for line in printed([made.bundle(), made.failed()]))


def test_the_same_note_to_several_results_of_an_entry_is_one_line() -> None:
    busy = [
        dataclasses.replace(
            made.bundle(query={"nprobe": n}), usage=Usage(cpu_inside_seconds=2, cpu_outside_seconds=10 * n)
        )
        for n in (2, 9)
    ]
    note = "faiss-ivf, 2 of its results: used 20 to 90 CPU seconds outside of the timed calls"
    assert [line for line in printed(busy) if "CPU seconds" in line] == [note]


def test_nothing() -> None:
    assert printed([])


def test_the_best_counts_ok_results_only() -> None:
    bundles = [made.bundle(0.95, 900, status=Status.TIMEOUT), made.bundle(0.95, 500), made.bundle(0.5, 9000)]
    best = best_per_algorithm(map(figures, bundles), FASTEST)["faiss-ivf"]
    assert best is not None
    assert best.qps < 600


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (12345.6, 11900.0, 12800.0, "12,300 [11,900-12,800]"),
        (12345.6, 12340.0, 12350.0, "12,350 [12,340-12,350]"),
        (182.3, 181.9, 183.1, "182.3 [181.9-183.1]"),
        (1.234, 1.15, 1.3, "1.23 [1.15-1.30]"),
        (0.01234, 0.0119, 0.0127, "0.0123 [0.0119-0.0127]"),
        (123456.0, math.nan, math.nan, "123,000"),
        (31234.0, 9876.0, 62345.0, "31,000 [10,000-62,000]"),
        (5000.0, 5000.0, 5000.0, "5,000 [5,000-5,000]"),
        (math.nan, math.nan, math.nan, "-"),
    ],
)
def test_no_more_digits_than_the_interval_supports(value: float, low: float, high: float, shown: str) -> None:
    assert show.rate(value, low, high) == shown


def test_numbers() -> None:
    assert [show.recall(v) for v in (1.0, 0.99999, 0.98765, math.nan)] == ["1.0000", "0.9999", "0.9877", "-"]
    assert [show.size(v) for v in (None, 412 * 2**20, 2**30, 16.5 * 2**30)] == ["-", "412 MiB", "1 GiB", "16.5 GiB"]
    assert [show.seconds(v) for v in (0.1234, 12.34, 1234.5, math.nan)] == ["0.12", "12.3", "1,234", "-"]
    assert show.short_rate(12345.6, 11900.0, 12800.0) == "12,300 ±500"
    assert show.config('{"a":1,"b":{"c":true}}') == 'a=1 b={"c":true}'
    assert show.query_text({}) == "-"


@pytest.mark.parametrize("width", [80, 100, 140])
def test_a_stream_has_columns_of_its_own(width: int) -> None:
    bundles = scenes.streams(240)
    lines = printed(bundles, width, BEST_RECALL)
    assert all(cell_len(line) <= width for line in lines)
    deletes = ["deletes/s"] if width >= 100 else []
    assert lines[0].split()[-8 - len(deletes) + 1 :] == [
        "recall@10", "least", "QPS", "inserts/s", *deletes, "total", "s", "memory",
    ]  # fmt: skip
    exact = figures(bundles[4])
    (row, best) = (line.split() for line in lines if line.startswith("exact"))
    assert row.count("1.0000") == 2  # its mean and its least
    assert show.seconds(exact.total_seconds) in row
    assert "95 %" not in "\n".join(lines)
    assert "Best mean recall" in "\n".join(lines)
    at = next(i for i, line in enumerate(lines) if "Best mean recall" in line)
    assert [line.split()[0] for line in lines[at + 3 : -1]] == ["exact", "diskann", "hnswlib", "faiss-ivf", "broken"]
    assert "not measured" not in best
    assert "nprobe=16" in lines[at + 6]


def test_the_best_is_chosen_by_the_score() -> None:
    bundles = [made.bundle(0.95, 500, query={"a": 1}), made.bundle(0.99, 50, query={"a": 2}), made.bundle(0.5, 9000)]
    rows = [figures(bundle) for bundle in bundles]

    def best(score: Score) -> str | None:
        one = best_per_algorithm(rows, score)["faiss-ivf"]
        return None if one is None else one.query

    assert best(Score("recall")) == '{"a":2}'
    assert best(Score("qps", 0.9)) == '{"a":1}'
    assert best(Score("qps")) == '{"nprobe":4}'
    assert best(Score("qps", 0.999)) is None


def test_the_time_of_repeated_builds_has_its_interval() -> None:
    steps = tuple(Step(build, 0, "build", seconds, 0.0) for build, seconds in enumerate([12.1, 12.3, 12.2, 12.6]))
    bundles = [dataclasses.replace(made.bundle(), steps=steps)]
    assert any("12.2 ±0.4" in line for line in printed(bundles))
    assert not any("±0.4" in line for line in printed(bundles, 80))  # no room


def _rivals(runs: int, builds: int = 1) -> list[Bundle]:
    """Two that are equal, and one half as fast."""
    found = []
    for name, seconds in (("swift", 1.0), ("equal", 1.001), ("slow", 2.0)):
        noise = np.random.default_rng(len(name)).normal(1, 0.01, (builds, runs, 1))
        times, answers = seconds * noise, np.zeros(noise.shape, np.int32)
        found.append(dataclasses.replace(made.bundle(algorithm=name), seconds=times, answer_of=answers))
    return found


def test_the_best_are_in_tiers_of_those_that_cannot_be_told_apart() -> None:
    lines = printed(_rivals(runs=8), score=Score("qps"))
    head = next(i for i, line in enumerate(lines) if " tier " in line)
    at = lines[head].index("tier") + 3
    assert sorted((line.split()[0], line[at]) for line in lines[head + 2 : head + 5]) == [
        ("equal", "1"), ("slow", "2"), ("swift", "1")
    ]  # fmt: skip
    assert "one build each" in lines[-1]
    assert "one build" not in printed(_rivals(runs=2, builds=5), score=Score("qps"))[-1]


def test_what_was_measured_once_has_no_tiers() -> None:
    lines = printed(_rivals(runs=1), score=Score("qps"))
    assert not any(" tier " in line for line in lines)
    assert sum("no two can be told apart" in line for line in lines) == 1
    assert not any("told apart" in line for line in printed(_rivals(runs=8)[:1], score=Score("qps")))  # no rivals
