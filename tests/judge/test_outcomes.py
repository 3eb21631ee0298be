"""Every way in which an entry can fail, each with a real entry that fails so; none of them leaves anything behind."""

from __future__ import annotations

import numpy as np
import pytest

from ann_bench.cli import main
from ann_bench.results.figures import figures
from ann_bench.results.model import Status
from tests.support import Bench, write_entry

pytestmark = pytest.mark.usefixtures("nothing_left")


FIT = "def fit(self, base, tags=None, learn=None):\n    "
QUERY = "def query(self, queries, k, tags=None):\n    "

FAILURES = {
    "raises in fit": (FIT + "raise RuntimeError('no luck today')", Status.CRASHED, "RuntimeError: no luck today"),
    "raises in query": (QUERY + "raise KeyError('lost')", Status.CRASHED, "KeyError: 'lost'"),
    "segfaults": (QUERY + "import ctypes; ctypes.string_at(0)", Status.CRASHED, "SIGSEGV"),
    "aborts": (FIT + "import os; os.abort()", Status.CRASHED, "SIGABRT"),
    "ends by a signal without a name": (FIT + "import os; os.kill(os.getpid(), 40)", Status.CRASHED, "signal 40"),
    "is killed": (QUERY + "import os; os.kill(os.getpid(), 9)", Status.CRASHED, "SIGKILL"),
    "leaves by exit 0": (FIT + "import os; os._exit(0)", Status.CRASHED, "exit code 0"),
    "leaves by SystemExit": (QUERY + "raise SystemExit(3)", Status.CRASHED, "exit code 3"),
    "hangs in fit": (FIT + "import time; time.sleep(3600)", Status.TIMEOUT, "fit() took longer"),
    "hangs in query": (QUERY + "import time; time.sleep(3600)", Status.TIMEOUT, "query() took longer"),
    "hangs deaf to signals": (
        QUERY + "import signal, time\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    while True: time.sleep(1)",
        Status.TIMEOUT,
        "query() took longer",
    ),
    "allocates past the limit": (
        FIT + "import numpy, time; self.hog = numpy.ones(2**28); time.sleep(60)",
        Status.OUT_OF_MEMORY,
        "outgrew its memory limit during fit()",
    ),
    "allocates in a child": (
        FIT + "import os, numpy, time\n    if os.fork() == 0:\n        hog = numpy.ones(2**28)\n    time.sleep(60)",
        Status.OUT_OF_MEMORY,
        "outgrew its memory limit during fit()",
    ),
    "allocates shared memory": (
        FIT
        + "import mmap, time\n    hog = mmap.mmap(-1, 2**31)\n    for at in range(0, 2**31, 2**20):\n"
        + "        hog[at:at + 2**20] = b'x' * 2**20\n    time.sleep(60)",
        Status.OUT_OF_MEMORY,
        "outgrew its memory limit during fit()",
    ),
    "runs into MemoryError": (FIT + "import numpy; numpy.ones(2**50)", Status.OUT_OF_MEMORY, "Unable to allocate"),
    "returns the wrong shape": (QUERY + "return np.zeros((3, k), dtype=int)", Status.INVALID_ANSWER, "shape (3, 10)"),
    "returns floats": (
        QUERY + "return np.zeros((len(queries), k))",
        Status.INVALID_ANSWER,
        "float64 instead of integer",
    ),
    "returns nothing": (QUERY + "return None", Status.INVALID_ANSWER, "object instead of integer"),
    "returns ragged lists": (QUERY + "return [[1], [1, 2]]", Status.INVALID_ANSWER, "no rectangular array"),
    "writes garbage to the socket": (
        QUERY
        + "import os\n    for fd in range(3, 64):\n        try: os.write(fd, b'garbage{{{\\n')\n"
        + "        except OSError: pass",
        Status.RULE_BROKEN,
        "broke the wire protocol",
    ),
    "writes an endless line to the socket": (
        QUERY
        + "import os\n    for fd in range(3, 64):\n        try:\n            while True: os.write(fd, b'x' * 65536)\n"
        + "        except OSError: pass",
        Status.RULE_BROKEN,
        "longer than 65,536 bytes",
    ),
    "hangs up": (
        QUERY + "import os, time\n    os.closerange(3, 64)\n    time.sleep(60)",
        Status.RULE_BROKEN,
        "hung up on the judge",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_a_result_with_a_name(
    place: Bench, name: str, sandbox: str, capsys: pytest.CaptureFixture[str]
) -> None:
    body, status, detail = FAILURES[name]
    entry = write_entry(place.folder / "mine", body)
    options = ("--timeout", "4s", "--memory", "512m", "--cpus", "1", "--sandbox", sandbox)
    assert place.run(entry, *options) == 1
    outcome = place.bundle().outcome
    assert outcome.status is status, outcome
    assert detail in outcome.detail
    shown = capsys.readouterr()
    assert status.value in shown.out
    assert "Traceback" not in shown.err


def test_more_cpus_than_it_may_use_break_the_rules(place: Bench) -> None:
    """In a process; a container cannot use more than it has (tests/hostile/raises-limits)."""
    body = """
    def query(self, queries, k, tags=None):
        import os, time
        os.sched_setaffinity(0, range(os.cpu_count()))
        before, start = sum(os.times()[:4]), time.monotonic()
        child = os.fork()
        while time.monotonic() < start + 2: pass
        if child == 0: os._exit(0)
        os.wait()
        self.cpus = (sum(os.times()[:4]) - before) / (time.monotonic() - start)
        return self.exact(queries, k, tags)

    def stats(self):
        return {"cpus": self.cpus}
    """
    code = place.run(write_entry(place.folder / "mine", body), "--cpus", "1", "--runs", "1")
    outcome = place.bundle().outcome
    if outcome.status is Status.OK and place.bundle().stats["cpus"] < 1.4:
        pytest.skip("this machine is too busy, or too small, to use more than one CPU")
    assert (code, outcome.status) == (1, Status.RULE_BROKEN)
    assert "used more than its 1 CPUs in query()" in outcome.detail


def test_a_crash_keeps_the_last_lines_of_the_log(place: Bench) -> None:
    entry = write_entry(place.folder / "mine", FIT + "print('about to fall'); raise ValueError('fell')")
    place.run(entry)
    outcome = place.bundle().outcome
    assert "about to fall" in outcome.log
    assert "ValueError: fell" in outcome.log.splitlines()[-1]


def test_the_peak_of_an_entry_that_outgrew_its_memory_is_kept(place: Bench, sandbox: str) -> None:
    entry = write_entry(place.folder / "mine", FAILURES["allocates past the limit"][0])
    place.run(entry, "--memory", "512m", "--sandbox", sandbox)
    usage = place.bundle().usage
    peak = usage.peak_anonymous_bytes if sandbox == "process" else usage.peak_memory_bytes
    assert peak >= 512 * 2**20 - 2**16


INVALID = {
    "ids out of range": ("answers[0, 0] = 300; answers[1, 1] = -7; answers[2, 2] = 2**40", {"out_of_range": 3}),
    "duplicates": ("answers[:] = answers[:, :1]", {"duplicate": 9 * 40}),
    "ids that fail the filter": (
        "answers[0] = np.setdiff1d(np.arange(300), rows_of(self, tags, 0))[:k]",
        {"fails_filter": 10},
    ),
}

ROWS_OF = """
import numpy as np

def rows_of(self, tags, i):
    wanted = tags.indices[tags.indptr[i]:tags.indptr[i + 1]]
    return np.flatnonzero((self.tags[:, wanted].toarray() > 0).all(axis=1))
"""


@pytest.mark.parametrize("name", INVALID)
def test_invalid_ids_are_counted_and_never_hits(place: Bench, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    spoil, counts = INVALID[name]
    body = f"{QUERY}answers = self.exact(queries, k, tags)\n    {spoil}\n    return answers"
    entry = write_entry(place.folder / "mine", body, start=ROWS_OF)
    assert place.run(entry, "--runs", "1") == 1
    bundle = place.bundle()
    assert bundle.outcome.status is Status.INVALID_ANSWER
    assert {kind: n for kind, n in bundle.scores[0].invalid.items() if n} == counts
    assert figures(bundle).recall < 1.0
    (kind,) = counts
    assert f"{counts[kind]} {kind.replace('_', ' ')}" in bundle.outcome.detail
    assert "invalid-answer" in capsys.readouterr().out


def test_k_copies_of_the_nearest_are_one_hit(place: Bench) -> None:
    body = (
        "def query(self, queries, k, tags=None):\n    return np.repeat(self.exact(queries, k, tags)[:, :1], k, axis=1)"
    )
    entry = write_entry(place.folder / "mine", body)
    place.run(entry, "--runs", "1")
    assert figures(place.bundle()).recall == pytest.approx(0.1)


def test_too_many_query_configs_break_the_rules(place: Bench) -> None:
    configs = [{"effort": n} for n in range(11)]
    entry = write_entry(place.folder / "mine", query={"default": configs})
    assert place.run(entry) == 1
    bundles = place.bundles()
    assert {b.outcome.status for b in bundles} == {Status.RULE_BROKEN}
    assert "11 query configs; the track allows 10" in bundles[0].outcome.detail


def test_a_refusal_stands_as_long_as_its_reason(place: Bench) -> None:
    entry = write_entry(place.folder / "mine", query={"default": [{"effort": n} for n in range(11)]})
    assert place.run(entry) == 1
    write_entry(place.folder / "mine", query={"default": [{"effort": n} for n in range(2)]})
    assert place.run(entry) == 0
    write_entry(place.folder / "mine", query={"default": [{"effort": n} for n in range(11)]})
    assert place.run(entry) == 1
    status = {b.identity["query"]["effort"]: b.outcome.status for b in place.bundles()}
    assert [status[n] for n in range(3)] == [Status.OK, Status.OK, Status.RULE_BROKEN]  # nothing measured is lost


def test_a_missing_package_is_said_with_the_way_to_get_it(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    entry = write_entry(place.folder / "mine", requires=["no-such-package-of-ours>=1"])
    assert place.run(entry) == 1
    outcome = place.bundle().outcome
    assert outcome.status is Status.NOT_INSTALLED
    assert f"try: ann-bench install --sandbox process --track filtered --entry {entry}" in outcome.detail
    assert "not-installed" in capsys.readouterr().out


def test_not_installed_is_tried_again(place: Bench) -> None:
    entry = write_entry(place.folder / "mine", requires=["no-such-package-of-ours"])
    place.run(entry)
    settings = (entry / "config.yaml").read_text().replace("no-such-package-of-ours", "numpy")
    (entry / "config.yaml").write_text(settings)
    assert place.run(entry) == 0


def test_an_entry_may_print_megabytes(place: Bench) -> None:
    body = "def set_query_arguments(self, **query):\n    for _ in range(200_000):\n        print('y' * 80)"
    entry = write_entry(place.folder / "mine", body)
    assert place.run(entry) == 0
    assert figures(place.bundle()).recall == 1.0


def test_children_left_behind_are_ended(
    place: Bench, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    body = f"""
    def set_query_arguments(self, **query):
        import subprocess
        mark = {{"MARK": {str(place.folder)!r}}}
        for detached in (False, True):
            subprocess.Popen(["sleep", "600"], env=mark, start_new_session=detached)
        subprocess.run(["sh", "-c", "sleep 600 & sleep 600 &"], env=mark)  # orphans at once
    """
    entry = write_entry(place.folder / "mine", body)
    assert place.run(entry) == 0
    assert place.bundle().usage.processes >= 4
    assert "left 4 processes behind" in capsys.readouterr().err


def test_one_bad_config_does_not_lose_the_others(place: Bench) -> None:
    body = """
    def set_query_arguments(self, effort):
        self.effort = effort

    def query(self, queries, k, tags=None):
        if self.effort == 2:
            import os, signal
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.effort == 3:
            raise ValueError("three is too much")
        return np.full((len(queries), k), -1)
    """
    entry = write_entry(place.folder / "mine", body, query={"default": [{"effort": n} for n in (1, 2, 3, 4)]})
    assert place.run(entry) == 1
    status = {b.identity["query"]["effort"]: b.outcome.status for b in place.bundles()}
    assert status == {1: Status.OK, 2: Status.CRASHED, 3: Status.CRASHED, 4: Status.OK}


def test_a_result_is_measured_even_where_nothing_is_found(place: Bench) -> None:
    entry = write_entry(place.folder / "mine", QUERY + "return np.full((len(queries), k), -1)")
    assert place.run(entry) == 0
    assert figures(place.bundle()).recall == 0.0


def test_the_entry_cannot_write_its_inputs(place: Bench) -> None:
    body = "def query(self, queries, k, tags=None):\n    queries[:] = 0"
    entry = write_entry(place.folder / "mine", body)
    place.run(entry)
    assert "read-only" in place.bundle().outcome.detail


def test_self_reported_figures_stay_apart(place: Bench) -> None:
    body = "def stats(self):\n    return {'qps': 1e9, 'recall': 1.0, 'best_search_time': np.float64(1e-9)}"
    entry = write_entry(place.folder / "mine", body)
    place.run(entry)
    bundle = place.bundle()
    assert bundle.stats["qps"] == 1e9
    assert figures(bundle).qps < 1e6


def test_queries_come_in_a_fresh_order_each_time_and_answers_go_home(place: Bench) -> None:
    body = f"""
    def query(self, queries, k, tags=None):
        with open({str(place.folder / "seen")!r}, "ab") as file:
            file.write(np.ascontiguousarray(queries).tobytes())
        return self.exact(queries, k, tags)
    """
    entry = write_entry(place.folder / "mine", body)
    assert place.run(entry, "--runs", "3") == 0
    seen = np.fromfile(place.folder / "seen", dtype=np.uint8).reshape(4, 40, 8)  # three runs, then the control batch
    assert not np.array_equal(seen[0], seen[1])
    assert not np.array_equal(seen[1], seen[2])
    assert {row.tobytes() for row in seen[0]} == {row.tobytes() for row in seen[2]}
    bundle = place.bundle()
    assert len(bundle.answers) == 1  # the same answers in each order, kept once
    assert figures(bundle).recall == 1.0


def test_work_between_the_batches_is_seen(place: Bench) -> None:
    body = """
    def set_query_arguments(self, **query):
        import threading, time
        def burn():
            until = time.thread_time() + 0.6
            while time.thread_time() < until:
                sum(range(1000))
        thread = threading.Thread(target=burn)
        thread.start()
        thread.join()
    """
    entry = write_entry(place.folder / "mine", body)
    place.run(entry)
    assert place.bundle().usage.cpu_outside_seconds > 0.5


def test_what_nobody_named_and_is_not_installed_is_left_out(
    place: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    track = place.folder / "algorithms" / "filtered"
    write_entry(track / "here")
    absent = write_entry(track / "absent", requires=["no-such-package-of-ours"])
    monkeypatch.setenv("ANN_BENCH_HOME", str(place.folder))
    options = place.arguments(absent)
    at = options.index("--entry")
    everything = [*options[:at], *options[at + 2 :]]
    assert main(everything) == 0
    assert {bundle.identity["algorithm"] for bundle in place.bundles()} == {"here"}
    said = " ".join(capsys.readouterr().err.split())
    assert "not installed, and so left out: absent; ann-bench install --sandbox process --track filtered" in said
    assert main([*everything, "--list"]) == 0
    assert "left out absent" in " ".join(capsys.readouterr().out.split())
    assert main([*everything, "--algorithm", "absent"]) == 1, "asked for by name, it is a result"


def test_where_nothing_is_installed_nothing_is_left_out(place: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    absent = write_entry(place.folder / "algorithms" / "filtered" / "absent", requires=["no-such-package-of-ours"])
    monkeypatch.setenv("ANN_BENCH_HOME", str(place.folder))
    options = place.arguments(absent)
    at = options.index("--entry")
    assert main([*options[:at], *options[at + 2 :]]) == 1
    assert place.bundle().outcome.status is Status.NOT_INSTALLED
