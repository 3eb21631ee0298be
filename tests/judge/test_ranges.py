"""Range searches through the whole house: worker, judge, truth, scores, results, report."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from ann_bench.cli import main
from ann_bench.datasets.formats import locate_ranges, write_ranges
from ann_bench.datasets.formats.xbin import locate_xbin
from ann_bench.judge import ranges
from ann_bench.judge.ranges import most_answers
from ann_bench.ragged import Ragged
from ann_bench.results.figures import figures
from ann_bench.results.model import Bundle, Outcome, Status
from ann_bench.results.store import Store
from tests.judge.ranges import QUERIES, RADIUS, ROWS, range_bench, range_dataset, range_entry
from tests.support import Bench, write_entry

pytestmark = pytest.mark.usefixtures("nothing_left")

QUERY = "def range_query(self, queries, radius):\n    "
#: The worker believes whatever the entry says: what reaches the judge is as bad as it can be.
UNCHECKED = """
import ann_bench.worker.answers as answers, numpy as np, os
answers._checked = lambda result, queries, most: tuple(np.asarray(part, dtype=np.int64) for part in result)
"""


@pytest.fixture
def place(tmp_path: Path) -> Bench:
    return range_bench(tmp_path)


def right(place: Bench) -> list[list[int]]:
    """The answers, nearest first."""
    base, queries = (read(place, name) for name in ("base", "queries"))
    distances = ((base[None] - queries[:, None]) ** 2).sum(axis=2)
    return [[row for row in np.lexsort((np.arange(ROWS), line)) if line[row] < RADIUS] for line in distances]


def read(place: Bench, name: str) -> np.ndarray:
    return locate_xbin(place.manifest.parent / f"{name}.u8bin", "uint8").open().astype(np.int64)


def lists(answers: Ragged) -> list[list[int]]:
    return [answers.ids[a:b].tolist() for a, b in zip(answers.offsets[:-1], answers.offsets[1:], strict=True)]


def test_the_whole_pipeline(place: Bench, sandbox: str, capsys: pytest.CaptureFixture[str]) -> None:
    entry = range_entry(place.folder / "exact-here")
    assert place.run(entry, "--runs", "3", "--sandbox", sandbox) == 0
    shown = capsys.readouterr()
    assert "AP" in shown.out
    assert "recall@" not in shown.out
    assert "at AP >= 0.90" in shown.out
    bundle, wanted = place.bundle(), right(place)
    (answers,) = bundle.answers
    assert isinstance(answers, Ragged)
    assert answers.ids.dtype == np.int32
    assert [sorted(line) for line in lists(answers)] == [sorted(line) for line in wanted]
    row = figures(bundle)
    assert (row.status, row.recall, row.recall_strict, row.precision, row.radius) == ("ok", 1.0, 1.0, 1.0, RADIUS)
    assert 0.9 < row.recall_bigann < 1
    assert (row.recall_low, row.recall_high) == (1.0, 1.0)
    assert row.control_recall == 1.0
    assert sorted(path.name for path in (place.folder / "plots").iterdir()) == ["dense-round.png", "dense-round.svg"]
    assert main(["verify", "--results", str(place.results)]) == 0
    assert place.run(entry, "--runs", "3", "--sandbox", sandbox) == 0
    assert "1 of 1 results were there already" in capsys.readouterr().err
    assert main(["export", "--results", str(place.results), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["radius"] == RADIUS


def test_what_is_missing_and_what_lies_beyond(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """Half of the right ids, and as many wrong ones: about half of recall and precision, and no invalid id."""
    body = """
    def range_query(self, queries, radius):
        lists = [line[: len(line) // 2] for line in self.lists(queries, radius)]
        wrong = [np.setdiff1d(np.arange(len(self.base)), line) for line in self.lists(queries, radius)]
        return self.joined([np.concatenate([a, b[: len(a)]]) for a, b in zip(lists, wrong)])
    """
    assert place.run(range_entry(place.folder / "half", body), "--runs", "2") == 0
    row, wanted = figures(place.bundle()), [len(line) for line in right(place)]
    assert row.recall == pytest.approx(sum(n // 2 for n in wanted) / sum(wanted))
    assert row.recall == row.recall_strict
    returned = sum(n // 2 + min(n // 2, ROWS - n) for n in wanted)
    assert row.precision == pytest.approx(sum(n // 2 for n in wanted) / returned)
    assert row.recall_low < row.recall < row.recall_high
    assert f"{1 - row.precision:.0%} of the ids returned lie beyond the radius" in row.notes
    assert "beyond the radius" in capsys.readouterr().out
    assert main(["verify", "--results", str(place.results)]) == 0


#: Knows the published queries by their bytes, and answers others with half of what it finds.
BAKED = """
def range_query(self, queries, radius):
    import pathlib
    known = {line.tobytes() for line in np.load(pathlib.Path(__file__).parent / "queries.npy")}
    new = not all(line.tobytes() in known for line in np.asarray(queries))
    return self.joined([line[: len(line) // 2] if new else line for line in self.lists(queries, radius)])
"""


def test_a_table_of_answers_is_found_by_the_control_batch(place: Bench) -> None:
    entry = range_entry(place.folder / "baked", BAKED)
    np.save(entry / "queries.npy", locate_xbin(place.manifest.parent / "queries.u8bin", "uint8").open())
    assert place.run(entry, "--runs", "2") == 0
    row = figures(place.bundle())
    assert row.recall == 1.0
    assert row.control_recall < 0.55
    (note,) = row.notes
    assert f"recall {row.control_recall:.2f} against 1.00 on the published ones" in note
    assert main(["verify", "--results", str(place.results)]) == 0


def test_a_failure_in_the_control_batch_has_a_name(place: Bench) -> None:
    body = (
        QUERY
        + """self.asked = getattr(self, "asked", 0) + 1
    return self.exact(queries, radius) if self.asked < 3 else (np.arange(41) * 2, [7] * 80)
"""
    )
    assert place.run(range_entry(place.folder / "late", body), "--runs", "2", "--cpus", "1") == 1
    outcome = place.bundle().outcome
    assert outcome.status is Status.INVALID_ANSWER, outcome
    assert "the control batch" in outcome.detail
    assert figures(place.bundle()).recall == 1.0
    assert main(["verify", "--results", str(place.results)]) == 0


def test_no_answer_at_all(place: Bench) -> None:
    body = QUERY + "return np.zeros(len(queries) + 1, dtype=int), []"
    assert place.run(range_entry(place.folder / "silent", body), "--runs", "1") == 0
    row = figures(place.bundle())
    assert (row.recall, row.recall_bigann) == (0.0, 0.0)
    assert math.isnan(row.precision)
    assert main(["verify", "--results", str(place.results)]) == 0


def test_nothing_to_find(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = range_bench(tmp_path, radius=0.0)
    assert place.run(range_entry(tmp_path / "mine"), "--runs", "1") == 0
    assert math.isnan(figures(place.bundle()).recall)
    assert "there is no recall to measure" in capsys.readouterr().err
    assert main(["verify", "--results", str(place.results)]) == 0


FAILURES = {
    "one array": (QUERY + "return np.zeros((3, 4), int)", "returned ndarray instead of (offsets, ids)"),
    "three parts": (QUERY + "return (1, 2, 3)", "returned tuple instead of (offsets, ids)"),
    "float offsets": (QUERY + "return np.zeros(41), []", "offsets of type float64 instead of integers"),
    "float ids": (QUERY + "return np.r_[0, np.ones(40, int)], [0.5]", "ids of type float64 instead of integers"),
    "too few offsets": (QUERY + "return np.zeros(40, int), []", "offsets of shape (40,) instead of (41,)"),
    "offsets that fall": (QUERY + "return np.r_[0, 2, np.ones(39, int)], [1]", "do not ascend from 0"),
    "offsets that begin late": (QUERY + "return np.ones(41, int), [1]", "do not ascend from 0"),
    "negative offsets": (QUERY + "return np.r_[0, -np.ones(40, int)], []", "do not ascend from 0"),
    "fewer ids than said": (QUERY + "return np.r_[0, np.full(40, 9)], [1, 2]", "its offsets end at 9"),
    "ragged lists": (QUERY + "return np.zeros(41, int), [[1], [1, 2]]", "ids that are no array"),
    "more than there can be": (
        QUERY + "return np.arange(41) * 301, np.zeros(40 * 301, int)",
        "returned 12,040 ids, a batch holds at most 12,000",
    ),
    "out of range": (QUERY + "return np.r_[0, np.full(40, 2)], [300, -1]", "2 out of range"),
    "beyond int32": (QUERY + "return np.r_[0, np.ones(40, int)], np.array([2**40])", "1 out of range"),
    "twice": (QUERY + "return np.r_[0, np.full(40, 3)], [7, 8, 7]", "1 duplicate"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_wrong_answers_are_named(place: Bench, name: str) -> None:
    body, detail = FAILURES[name]
    assert place.run(range_entry(place.folder / "mine", body), "--runs", "1", "--cpus", "1") == 1
    outcome = place.bundle().outcome
    assert outcome.status is Status.INVALID_ANSWER, outcome
    assert detail in outcome.detail
    assert main(["verify", "--results", str(place.results)]) == 0


LIES = {
    "offsets that fall": ("np.r_[0, 5, np.ones(39, int)], [1] * 5", "offsets that cannot be"),
    "negative offsets": ("np.r_[0, -np.ones(40, int)], []", "offsets that cannot be"),
    "an end beyond the file": ("np.r_[0, np.full(40, 5000)], [1]", "cut short"),
    "more than a batch holds": ("np.r_[0, np.full(40, 2**40)], [1]", "offsets that cannot be"),
    "offsets never written": ("np.full(41, -2**63), [1]", "said done before 40 of its answers were written"),
    "ids never written": ("np.r_[0, np.full(40, 3)], [1, -2**63, -2**63]", "said done before 1 of its answers"),
}


@pytest.mark.parametrize("name", LIES)
def test_a_worker_that_lies_breaks_the_rules(place: Bench, name: str) -> None:
    answer, detail = LIES[name]
    entry = range_entry(place.folder / "mine", QUERY + f"return {answer}", start=UNCHECKED)
    assert place.run(entry, "--runs", "1", "--cpus", "1") == 1
    outcome = place.bundle().outcome
    assert outcome.status is Status.RULE_BROKEN, outcome
    assert detail in outcome.detail
    assert place.bundle().answers == ()


def test_a_file_that_grew_unwritten_is_unanswered(place: Bench) -> None:
    start = """
    import ann_bench.worker.answers as answers, numpy as np, os

    def write(self, result):
        os.truncate(self._ref.path, self._ref.nbytes + 8 * 40)
        self._offsets[...] = np.arange(41)

    answers.RangeAnswers.write = write
    """
    body = ""
    assert place.run(range_entry(place.folder / "mine", body, start=start), "--runs", "1", "--cpus", "1") == 1
    outcome = place.bundle().outcome
    assert outcome.status is Status.RULE_BROKEN, outcome
    assert "said done before 40 of its answers were written" in outcome.detail


def test_an_entry_without_range_query_is_not_built(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    entry = write_entry(place.folder / "nearest", "def fit(self, *rows):\n    raise SystemExit", tracks=["dense"])
    assert place.run(entry) == 1
    outcome = place.bundle().outcome
    assert outcome.status is Status.CRASHED
    assert "range search is not supported: Entry has no range_query()" in outcome.detail
    assert place.bundle().answers == ()
    assert "range search is not supported" in capsys.readouterr().out


def test_more_right_answers_than_a_batch_holds(
    place: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ranges, "EACH", 1)
    assert place.run(range_entry(place.folder / "mine")) == 2
    assert f"a batch holds at most {QUERIES + ROWS:,}" in capsys.readouterr().err.splitlines()[-1]
    assert not list(place.results.glob("**/*.h5"))


def test_the_cap_says_nothing_of_the_truth() -> None:
    assert most_answers(10, 50) == 500
    assert most_answers(100_000, 10**9) == 10**8 + 10**9
    assert most_answers(0, 5) == 0


def forged(place: Bench, **changes: object) -> None:
    bundle: Bundle = place.bundle()
    Store(place.results).write(replace(bundle, **changes))


@pytest.mark.parametrize("name", ["hits", "hits_strict", "possible", "returned", "curve"])
def test_a_forged_score_is_named(place: Bench, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.run(range_entry(place.folder / "mine"), "--runs", "1") == 0
    score = place.bundle().scores[0]
    counts = getattr(score, name).copy()
    counts[(1, 7) if name == "curve" else 7] += 1
    forged(place, scores=(replace(score, **{name: counts}),))
    assert main(["verify", "--results", str(place.results)]) == 1
    assert f"{name} of answers 0, {'threshold' if name == 'curve' else 'query'} 7" in capsys.readouterr().err


def test_forged_ids_are_named(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.run(range_entry(place.folder / "mine"), "--runs", "1") == 0
    (answers,) = place.bundle().answers
    ids = answers.ids.copy()
    ids[0] = next(i for i in range(ROWS) if i not in lists(answers)[int(np.flatnonzero(answers.counts)[0])])
    forged(place, answers=(Ragged(answers.offsets, ids),))
    assert main(["verify", "--results", str(place.results)]) == 1
    forged(place, answers=(np.zeros((QUERIES, 10), np.int32),))
    assert main(["verify", "--results", str(place.results)]) == 1
    assert "not those of a search within a radius" in capsys.readouterr().err


def test_ok_is_not_for_invalid_ids(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    body = QUERY + "return np.r_[0, np.full(40, 2)], [7, 7]"
    assert place.run(range_entry(place.folder / "twice", body), "--runs", "1") == 1
    forged(place, outcome=Outcome(Status.OK))
    assert main(["verify", "--results", str(place.results)]) == 1
    assert "there are invalid ids" in capsys.readouterr().err


def test_the_truth_command(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = right(place)
    counts = [len(line) for line in wanted]
    command = ["truth", "--track", "dense", "--dataset", str(place.manifest)]
    output = place.folder / "answers.rangeres"
    assert main([*command, "--output", str(output)]) == 0
    shown = capsys.readouterr().out
    assert f"40 queries, {sum(counts):,} within the radius: mean {np.mean(counts):.1f}" in shown
    assert f"most {max(counts)} a query; {counts.count(0)} none" in shown
    parts = locate_ranges(output)
    assert parts.counts.open().tolist() == counts
    assert parts.ids.open().tolist() == list(chain(*wanted))
    assert main([*command, "--json"]) == 0
    row = json.loads(capsys.readouterr().out)[0]
    assert (row["answers"], row["median"], row["without_answer"]) == (sum(counts), np.median(counts), counts.count(0))


def test_a_given_truth_is_checked(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = right(place)
    path = place.manifest.parent / "mine.rangeres"
    queries = {"public": {"vectors": {"file": "queries.u8bin"}, "truth": {"file": "mine.rangeres"}}}
    manifest = range_dataset(place.manifest.parent, queries=queries)
    for change, code in ((lambda line: line, 0), (lambda line: line[1:], 1)):
        given = [change(line[::-1]) for line in wanted]
        ids = np.array(list(chain(*given)))
        write_ranges(path, np.array([len(line) for line in given]), ids, np.zeros(len(ids)))
        assert main(["truth", "--track", "dense", "--dataset", str(manifest)]) == code
    assert "lacks id" in capsys.readouterr().err
