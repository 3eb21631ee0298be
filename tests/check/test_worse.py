"""Entries that hang, crash, allocate, print or break the protocol: the kit says so, goes on, and ends."""

from __future__ import annotations

import time

import pytest

from ann_bench.check import kit
from ann_bench.workload import Limits
from tests.check.support import checked, entry_of, failed

pytestmark = pytest.mark.usefixtures("nothing_left")

FIT = "def fit(self, base, tags=None, learn=None):\n    super().fit(base, tags, learn)\n    "
QUERY = "def query(self, queries, k, tags=None):\n    answers = super().query(queries, k, tags)\n    "
HANGS = "import time; time.sleep(3600)"

WORSE = {
    "hangs": (QUERY + HANGS, "timeout: query() took longer"),
    "hangs when made": ("def __init__(self, *a, **b):\n    import time; time.sleep(3600)", "timeout: its import and"),
    "aborts": (QUERY + "import os; os.abort()", "crashed: ended by SIGABRT during query()"),
    "leaves": (FIT + "import os; os._exit(0)", "crashed: the process ended with exit code 0 during fit()"),
    "is not to be imported": ("1 / 0", "crashed: its import and constructor: ZeroDivisionError"),
    "allocates": (FIT + f"self.hog = np.ones(2**28); {HANGS}", "out-of-memory: outgrew its memory limit during fit()"),
    "writes to its inputs": (FIT + "base += 1", "crashed: fit(): ValueError: output array is read-only"),
    "answers with floats": (
        QUERY + "return answers.astype(float)",
        "query() returned float64 instead of integer",
    ),
    "answers for others": (QUERY + "return answers[1:]", "invalid-answer: query(): query() returned an array of shape"),
    "has gaps": (QUERY + "answers[:, 2] = -1\n    return answers", "-1 may only stand at the end"),
    "talks to the judge": (
        QUERY + "import os\n    for file in range(3, 40):\n        try: os.write(file, b'{}\\n')\n"
        "        except OSError: pass\n    return answers",
        "rule-broken: ",
    ),
}


@pytest.fixture(autouse=True)
def tight_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kit, "LIMITS", Limits(2, 2**29, build_seconds=3.0, operation_seconds=2.0))


@pytest.mark.parametrize("how", WORSE)
def test_what_goes_wrong_at_once_is_said_and_nothing_more_is_tried(tmp_path, monkeypatch, how: str) -> None:
    monkeypatch.setattr("ann_bench.judge.driver.SHORT_SECONDS", 4.0)
    body, text = WORSE[how]
    report = checked(entry_of(tmp_path, "dense", body), "dense")
    found = failed(report)
    assert list(found) == ["ordinary"]
    assert text in found["ordinary"]
    later = [result for result in report.results if result.check not in ("config", "ordinary")]
    assert {result.outcome for result in later} == {"not run", "not applicable"}
    assert not report.passed


@pytest.mark.slow
def test_after_three_calls_that_hang_nothing_more_is_tried(tmp_path) -> None:
    body = QUERY + f"if len(self.blocks[0][0]) != 40: {HANGS}\n    return answers"
    began = time.monotonic()
    report = checked(entry_of(tmp_path, "dense", body), "dense")
    assert time.monotonic() - began < 120
    outcomes = [result.outcome for result in report.results]
    assert "took longer" in failed(report)["one-row"]
    assert outcomes.count("failed") <= 3
    assert any("hung" in result.detail for result in report.results if result.outcome == "not run")


def test_a_crash_in_some_cases_ends_nothing_else(tmp_path) -> None:
    body = FIT + "if (base == 0).all(axis=1).any(): import os; os.abort()"
    report = checked(entry_of(tmp_path, "dense", body), "dense", "zeros", "twins", "finds")
    assert list(failed(report)) == ["zeros"]
    assert [result.outcome for result in report.results] == ["passed", "passed", "passed", "failed"]


def test_an_entry_that_prints_without_end_passes(tmp_path) -> None:
    body = QUERY + "print('x' * 3_000_000)\n    return answers"
    assert failed(checked(entry_of(tmp_path, "dense", body), "dense", "finds", "twins", examples=3)) == {}


def test_what_objects_leave_behind_for_later_ones_is_no_failure(tmp_path) -> None:
    """In a run there is one object."""
    body = "made = []\n" + QUERY + "self.made.append(1)\n    return answers + 99 * (len(self.made) > 5)"
    report = checked(entry_of(tmp_path, "dense", body), "dense", "few-rows", "twins", examples=6)
    assert failed(report) == {}
    assert "objects leave something behind" in report.results[1].detail
    assert report.results[2].detail == "", "from then on, each case has a process of its own"


def test_what_fails_in_its_own_process_too_is_a_failure(tmp_path) -> None:
    body = QUERY + "return answers + 99 * (len(queries) == 6 and np.random.default_rng().random() < 0.5)"
    report = checked(entry_of(tmp_path, "dense", "tries = 0\n" + body), "dense", "few-rows")
    assert failed(report)


def test_a_refusal_is_no_failure_but_a_crash_is(tmp_path) -> None:
    refuses = FIT + "if self.dtype == 'float16': raise TypeError('no halves')"
    report = checked(entry_of(tmp_path / "one", "dense", refuses), "dense", "dtypes", "metrics")
    assert failed(report) == {}
    assert "refuses float16 (euclidean, ip, angular): TypeError: no halves" in report.results[-1].detail


def test_an_entry_that_needs_more_dimensions(tmp_path) -> None:
    needs = FIT + "if self.dim % 64: raise ValueError('a multiple of 64')"
    report = checked(entry_of(tmp_path, "dense", needs), "dense", "finds")
    assert failed(report) == {}
    assert report.results[0].detail == "euclidean int8, 64 dimensions (it refuses 16)"
