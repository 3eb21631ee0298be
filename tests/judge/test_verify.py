"""`verify`: every figure follows from raw answers, or the first that does not is named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ann_bench.cli import main
from ann_bench.results.model import Bundle, Outcome, Status
from ann_bench.results.store import Store
from tests.results import made
from tests.support import Bench, bench, tiny_dataset, write_entry


@pytest.fixture
def place(tmp_path: Path) -> Bench:
    made = bench(tmp_path)
    assert made.run(write_entry(tmp_path / "mine"), "--runs", "2") == 0
    return made


def verify(place: Bench, *options: str) -> int:
    return main(["verify", "--results", str(place.results), *options])


def forged(place: Bench, **changes) -> None:
    """Seal other contents under the same identity, as somebody with an editor and our code could."""
    bundle: Bundle = place.bundle()
    Store(place.results).write(replace(bundle, **changes))


def test_what_was_measured_is_verified(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(place) == 0
    assert "1 of 1 results verified" in capsys.readouterr().out
    assert verify(place, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"verified": 1, "problems": []}


def test_a_changed_byte_is_named(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = place.results.rglob("*.h5")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert verify(place) == 1
    shown = capsys.readouterr()
    assert "0 of 1 results verified" in shown.out
    assert path.name in shown.err


@pytest.mark.parametrize("name", ["hits", "hits_strict", "hits_bigann", "possible"])
def test_a_forged_score_is_named(place: Bench, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    score = place.bundle().scores[0]
    counts = getattr(score, name).copy()
    counts[7] = counts[7] + 1 if name == "possible" else counts[7] - 1  # hits beyond the answers cannot be written
    forged(place, scores=(replace(score, **{name: counts}),))
    assert verify(place) == 1
    error = capsys.readouterr().err
    assert f"{name} of answers 0, query 7" in error


def test_forged_counts_of_invalid_ids_are_named(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    score = place.bundle().scores[0]
    forged(place, scores=(replace(score, invalid={**score.invalid, "duplicate": 3}),))
    assert verify(place) == 1
    assert "invalid ids of answers 0" in capsys.readouterr().err


def test_forged_answers_are_named(place: Bench) -> None:
    ids = place.bundle().answers[0].copy()
    ids[3, 0] = -1
    forged(place, answers=(ids,))
    assert verify(place) == 1


def test_a_time_without_answers_is_named(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    forged(place, answer_of=np.full_like(place.bundle().answer_of, -1))
    assert verify(place) == 1
    assert "times and answers do not belong together" in capsys.readouterr().err


def test_no_time_at_all_is_named(place: Bench) -> None:
    forged(place, seconds=np.zeros_like(place.bundle().seconds))
    assert verify(place) == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"counts": (4000,)}, "counts of queries"),
        ({"seconds": np.ones((1, 1, 1)), "answer_of": np.zeros((1, 1, 1), np.int32)}, "builds, runs and searches"),
        ({"answers": (np.zeros((40, 9), np.int32),)}, "(queries, k)"),
    ],
)
def test_what_does_not_fit_the_identity_is_named(
    place: Bench, changes: dict, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    forged(place, **changes)
    assert verify(place) == 1
    assert said in capsys.readouterr().err


def test_a_status_that_hides_invalid_ids_is_named(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    body = (
        "def query(self, queries, k, tags=None):\n    return np.repeat(self.exact(queries, k, tags)[:, :1], k, axis=1)"
    )
    assert place.run(write_entry(place.folder / "copies", body), "--runs", "1") == 1
    (bundle,) = (b for b in place.bundles() if b.outcome.status is Status.INVALID_ANSWER)
    Store(place.results).write(replace(bundle, outcome=Outcome(Status.OK)))
    assert verify(place) == 1
    assert "invalid ids" in capsys.readouterr().err


def test_other_data_is_said(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    tiny_dataset(place.folder / "data", seed=2)
    assert verify(place) == 1
    assert "not the one that was measured" in capsys.readouterr().err


def test_a_data_set_that_is_gone_is_said(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    place.manifest.unlink()
    assert verify(place) == 1
    assert "tiny.yaml" in capsys.readouterr().err


def test_failures_are_verified_too(place: Bench) -> None:
    entry = write_entry(place.folder / "other", "def query(self, queries, k, tags=None):\n    raise ValueError")
    assert place.run(entry) == 1
    assert verify(place) == 0


def test_no_results_says_how_to_make_some(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--results", str(tmp_path / "none")]) == 2
    assert "ann-bench run" in capsys.readouterr().err


def test_an_identity_that_says_too_little(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Store(tmp_path / "results").write(made.bundle())
    assert main(["verify", "--results", str(tmp_path / "results")]) == 1
    assert "its identity lacks workload: nothing can be recomputed" in capsys.readouterr().err
