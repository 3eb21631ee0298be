"""The main job: what is missing is measured, what is there is kept, and nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ann_bench.cli import main
from ann_bench.datasets.formats import write_spmat, write_truth
from ann_bench.results.figures import figures
from ann_bench.results.model import Status
from tests.support import Bench, bench, processes_with, temporary_folders, tiny_dataset, write_entry

SLOW = """
def set_query_arguments(self, effort):
    self.effort = effort

def query(self, queries, k, tags=None):
    import time
    self.seen = getattr(self, "seen", 0) + (self.effort == 3)
    time.sleep(0.2 if self.seen < 2 else 600)  # in the control batch: before it all of them take turns
    return self.exact(queries, k, tags)
"""


@pytest.fixture
def place(tmp_path: Path) -> Bench:
    return bench(tmp_path)


@pytest.fixture
def exact(place: Bench) -> Path:
    return write_entry(place.folder / "exact-here", query={"default": [{"effort": 1}, {"effort": 2}]})


def test_the_whole_pipeline(place: Bench, exact: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.run(exact) == 0
    shown = capsys.readouterr()
    assert "exact-here" in shown.out
    assert "1.0000" in shown.out
    for bundle in place.bundles():
        row = figures(bundle)
        assert (row.status, row.recall, row.recall_strict, row.runs) == ("ok", 1.0, 1.0, 5)
        assert row.recall_bigann == pytest.approx(np.mean([min(10, n) / 10 for n in bundle.scores[0].possible]))
        assert row.qps_low <= row.qps <= row.qps_high
        assert row.build_seconds > 0
        assert row.peak_memory_bytes > 10 * 2**20
        assert bundle.provenance["machine"]["cpu_model"]
    plots = sorted(path.name for path in (place.folder / "plots").iterdir())
    assert plots == ["filtered-tiny.png", "filtered-tiny.svg"]


def test_a_second_run_does_only_what_is_missing(place: Bench, exact: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place.run(exact)
    times = {path: path.stat().st_mtime_ns for path in place.results.rglob("*.h5")}
    capsys.readouterr()
    assert place.run(exact) == 0
    assert "2 of 2 results were there already" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in place.results.rglob("*.h5")} == times
    settings = (exact / "config.yaml").read_text()
    assert place.run(exact, "--k", "5") == 0
    assert len(place.bundles()) == 4
    assert settings == (exact / "config.yaml").read_text()


def test_force_measures_again(place: Bench, exact: Path) -> None:
    place.run(exact)
    dates = {b.identity.key: b.provenance["seed"] for b in place.bundles()}
    assert place.run(exact, "--force") == 0
    again = {b.identity.key: b.provenance["seed"] for b in place.bundles()}
    assert again.keys() == dates.keys()
    assert all(again[key] != dates[key] for key in dates)


@pytest.mark.parametrize("change", ["code", "data", "tags", "runs", "memory", "timeout", "packages", "machine"])
def test_whatever_changes_is_another_configuration(
    place: Bench, exact: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.run(exact)
    options: list[str] = []
    if change == "tags":
        wanted = csr_matrix((np.arange(240).reshape(40, 6) % 7 == 0).astype(np.float32))
        write_spmat(place.folder / "data" / "queries.tags.spmat", wanted)
    if change == "timeout":
        options = ["--timeout", "100s"]
    if change == "packages":
        monkeypatch.setattr("ann_bench.sandbox.process.installed_here", lambda *names: {"numpy": "99"})
    if change == "machine":
        monkeypatch.setattr("ann_bench.judge.plan.machine", lambda: {"cpu_model": "abacus"})
    if change == "code":
        (exact / "wrapper.py").write_text((exact / "wrapper.py").read_text() + "\n# faster\n")
    if change == "data":
        tiny_dataset(place.folder / "data", seed=2)
    if change == "runs":
        options = ["--runs", "2"]
    if change == "memory":
        options = ["--memory", "1g"]
    place.run(exact, *options)
    assert len(place.bundles()) == 4


def test_a_false_truth_file_stops_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_truth(tmp_path / "wrong.gt", np.zeros((40, 10), np.int32), np.zeros((40, 10), np.float32))
    files = {"vectors": {"file": "queries.u8bin"}, "tags": {"file": "queries.tags.spmat"}}
    place = bench(tmp_path, queries={"public": {**files, "truth": {"file": "../wrong.gt"}}})
    assert place.run(write_entry(tmp_path / "mine")) == 1
    assert "wrong.gt" in capsys.readouterr().err.splitlines()[-1]


def test_one_config_more_measures_one_config_more(place: Bench, exact: Path) -> None:
    place.run(exact)
    text = (exact / "config.yaml").read_text().replace("- effort: 2", "- effort: 2\n  - effort: 3")
    (exact / "config.yaml").write_text(text)
    place.run(exact)
    assert sorted(b.identity["query"]["effort"] for b in place.bundles()) == [1, 2, 3]


def test_bad_counters_take_nothing_from_what_was_measured(place: Bench) -> None:
    for name, body in {"raises": "raise ValueError('no')", "odd": "return {'x': chr(0xd800) * 9}"}.items():
        assert place.run(write_entry(place.folder / name, f"def stats(self):\n    {body}")) == 0


def test_what_an_entry_says_is_made_printable(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    body = (
        "def fit(self, base, tags=None, learn=None):\n    raise ValueError('red\\x1b[31m' + chr(0xd800) + 'x' * 9999)"
    )
    assert place.run(write_entry(place.folder / "mine", body)) == 1
    shown = capsys.readouterr()
    assert "\x1b[31m" not in shown.out + shown.err
    assert len(place.bundle().outcome.detail) <= 300


def test_plots_that_cannot_be_written_do_not_lose_the_table(
    place: Bench, exact: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place.folder / "plots").write_text("in the way")
    assert place.run(exact) == 1
    shown = capsys.readouterr()
    assert "1.0000" in shown.out
    assert "no plot: " in shown.err


def test_outside_a_checkout_it_says_where_to_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANN_BENCH_HOME", str(tmp_path))
    assert main(["run", "--track", "filtered", "--results", str(tmp_path / "results")]) == 2
    assert "set ANN_BENCH_HOME" in capsys.readouterr().err


def test_builds_are_repeated(place: Bench, exact: Path) -> None:
    assert place.run(exact, "--builds", "2", "--runs", "3") == 0
    for bundle in place.bundles():
        assert bundle.seconds.shape == (2, 3, 1)
        assert np.isfinite(bundle.seconds).all()
        assert [step.build for step in bundle.steps if step.kind == "build"] == [0, 1]


def test_list_runs_nothing(place: Bench, exact: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.run(exact, "--list") == 0
    assert "2 of 2 to run" in capsys.readouterr().out
    assert not place.results.exists()
    place.run(exact)
    capsys.readouterr()
    place.run(exact, "--list")
    assert "0 of 2 to run" in capsys.readouterr().out


def test_json_for_machines(place: Bench, exact: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place.run(exact, "--json")
    summary = json.loads(capsys.readouterr().out)
    assert (summary["measured"], summary["found"], summary["ok"]) == (2, 0, True)
    assert {row["algorithm"] for row in summary["results"]} == {"exact-here"}


def test_limits_that_were_in_force_are_stored(place: Bench, exact: Path) -> None:
    place.run(exact, "--cpus", "1", "--memory", "1g", "--runs", "1")
    row = figures(place.bundles()[0])
    assert (row.cpus, row.memory_limit_bytes, row.sandbox) == (1, 2**30, "process")


def test_the_entry_gets_its_cpus_and_a_clean_environment(place: Bench) -> None:
    body = f"""
    def fit(self, base, tags=None, learn=None):
        import json, os
        facts = {{"cpus": len(os.sched_getaffinity(0)), "threads": self.threads, "environment": dict(os.environ),
                 "here": os.listdir("."), "group": os.getpgid(0) == os.getpid()}}
        open({str(place.folder / "facts")!r}, "w").write(json.dumps(facts))
        self.base, self.tags = np.asarray(base, dtype=np.int64), tags.tocsc()
    """
    os.environ["SECRET_OF_THE_JUDGE"] = "42"
    try:
        place.run(write_entry(place.folder / "mine", body), "--cpus", "1")
    finally:
        del os.environ["SECRET_OF_THE_JUDGE"]
    facts = json.loads((place.folder / "facts").read_text())
    assert (facts["cpus"], facts["threads"], facts["here"], facts["group"]) == (1, 1, [], True)
    assert "SECRET_OF_THE_JUDGE" not in facts["environment"]
    assert facts["environment"]["OMP_NUM_THREADS"] == "1"


def _started(place: Bench, entry: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ann_bench", *place.arguments(entry, "--runs", "1")]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def _wait_for(condition, seconds: float = 30.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.02)


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_run_that_is_ended_keeps_what_was_finished(place: Bench, sign: int, code: int) -> None:
    configs = [{"effort": n} for n in (1, 2, 3)]
    entry = write_entry(place.folder / "mine", SLOW, query={"default": configs})
    process = _started(place, entry)
    _wait_for(lambda: len(list(place.results.rglob("*.h5"))) == 2)
    time.sleep(0.1)
    process.send_signal(sign)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == code
    if sign != signal.SIGKILL:
        assert errors.splitlines()[-1].endswith("run the same command again")
        assert "Traceback" not in errors
    kept = {b.identity["query"]["effort"]: b.outcome.status.value for b in place.bundles()}
    asked_but_not_controlled = {} if sign == signal.SIGKILL else {3: "unfinished"}
    assert kept == {1: "ok", 2: "ok"} | asked_but_not_controlled
    _wait_for(lambda: not temporary_folders(process.pid) and not processes_with(str(entry)), 5)
    assert not [p for p in place.results.rglob("*") if p.is_file() and p.suffix != ".h5" and p.name != ".measuring"]


def test_two_runs_at_once_do_not_harm_each_other(place: Bench) -> None:
    configs = [{"effort": n} for n in (1, 2)]
    entry = write_entry(place.folder / "mine", SLOW, query={"default": configs})
    first, second = _started(place, entry), _started(place, entry)
    outputs = [process.communicate(timeout=60) for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), outputs
    assert len(place.bundles()) == 2
    measured = "".join(errors for _, errors in outputs).count("effort=1: recall")
    assert measured == 1


BAD = {
    "unknown track": (["--track", "filterd"], "did you mean 'filtered'"),
    "unknown data set": (["--dataset", "debian-2k"], "did you mean 'debian-20k'"),
    "unknown algorithm": (["--algorithm", "faiss-ifv"], "did you mean"),
    "unknown sandbox": (["--sandbox", "doker"], "unknown sandbox 'doker'"),
    "unknown query set": (["--queries", "publik"], "did you mean 'public'"),
    "no such entry": (["--entry", "nowhere"], "nowhere"),
    "no such manifest": (["--dataset", "nowhere.yaml"], "nowhere.yaml"),
    "k of zero": (["--k", "0"], "--k"),
    "no size": (["--memory", "much"], "write 8g or 512m"),
    "no duration": (["--timeout", "soon"], "write 90s, 10m or 12h"),
    "unknown flag": (["--rnus", "3"], "--runs"),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_usage_is_one_line_and_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    options, hint = BAD[name]
    assert main(["run", "--track", "filtered", "--algorithm", "exact", *options]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1, shown.err
    assert shown.err.startswith("error: ")
    assert hint in shown.err
    assert not list(tmp_path.rglob("*.h5"))


def test_results_that_cannot_be_written_are_said_before_anything_runs(
    place: Bench, exact: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place.results.write_text("a file, not a folder")
    assert place.run(exact) == 1
    shown = capsys.readouterr().err
    assert len(shown.splitlines()) == 1
    assert str(place.results) in shown


def test_a_query_without_any_match_counts_for_nothing(place: Bench) -> None:
    """Rows that hold all six tags are rare, so that most of these queries have no answer at all."""
    wanted = np.ones((40, 6), dtype=np.float32)
    wanted[0, 1:] = 0
    write_spmat(place.folder / "data" / "queries.tags.spmat", csr_matrix(wanted))
    entry = write_entry(place.folder / "mine")
    assert place.run(entry) == 0
    bundle = place.bundle()
    assert figures(bundle).recall == 1.0
    assert bundle.scores[0].possible.min() < 10


def test_k_larger_than_the_base(place: Bench, exact: Path) -> None:
    assert place.run(exact, "--k", "500", "--runs", "1") == 0
    assert figures(place.bundles()[0]).recall == 1.0


def test_no_ok_result_draws_no_plot(place: Bench) -> None:
    entry = write_entry(place.folder / "mine", "def query(self, queries, k, tags=None):\n    raise ValueError")
    assert place.run(entry) == 1
    assert figures(place.bundle()).status == Status.CRASHED.value
    assert not list(place.folder.glob("plots/*"))
