"""Entries that turn on the judge, its clock, its files, its keeper, or its limits: they harm nobody but themselves."""

from __future__ import annotations

import time

import pytest

from ann_bench.results.model import Bundle, Status
from ann_bench.results.store import Store
from tests.support import Bench, write_entry

pytestmark = pytest.mark.usefixtures("nothing_left")

QUERY = "def query(self, queries, k, tags=None):\n    "

SAYS_DONE = """
import inspect, json, os, socket, stat, time

def say(**message):
    for fd in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                os.write(fd, json.dumps(message).encode() + b"\\n")
        except OSError:
            pass

def told():
    # what the judge has told the worker, read from the worker's own frames
    for frame in inspect.stack():
        if "go" in frame.frame.f_locals:
            return frame.frame.f_locals["go"]
"""


@pytest.mark.parametrize(
    ("forgery", "detail"),
    [
        ("say(type='done', seq=told()['seq'], token=told()['token'])", "said done before"),
        ("say(type='done', seq=told()['seq'])", "spoke out of turn"),
        ("say(type='done', seq=999, token=told()['token'])", "spoke out of turn"),
    ],
)
def test_done_before_it_is_done_breaks_the_rules(place: Bench, forgery: str, detail: str) -> None:
    """What comes after such a `done` is never read."""
    body = f"{QUERY}{forgery}\n    time.sleep(0.3)\n    return self.exact(queries, k, tags)"
    entry = write_entry(place.folder / "mine", body, start=SAYS_DONE)
    assert place.run(entry, "--runs", "1") == 1
    bundle = place.bundle()
    assert bundle.outcome.status is Status.RULE_BROKEN
    assert detail in bundle.outcome.detail
    assert bundle.answers == ()


def test_done_before_go_breaks_the_rules(place: Bench) -> None:
    body = """
    def set_query_arguments(self, **query):
        import threading
        def early():
            for _ in range(300):
                say(type='done', seq=6, token='')
                time.sleep(0.001)
        threading.Thread(target=early).start()

    def query(self, queries, k, tags=None):
        time.sleep(0.1)
        return self.exact(queries, k, tags)
    """
    entry = write_entry(place.folder / "mine", body, start=SAYS_DONE)
    assert place.run(entry, "--runs", "1") == 1
    assert place.bundle().outcome.status is Status.RULE_BROKEN


TAMPERS = """
import ctypes, glob, os, re, signal, time

def exchange():
    return re.search(r"/\\S*/ann-bench-\\d+-\\w+(?=/)", open("/proc/self/maps").read())[0]
"""

TAMPERING = {
    "cuts the answers short": "[os.truncate(file, 0) for file in glob.glob(exchange() + '/*') if 'wire' not in file]; ",
    "removes all the files": "[os.unlink(file) for file in glob.glob(exchange() + '/*')]; ",
    "makes folders and pipes there": "os.mkdir(exchange() + '/answers'); os.mkfifo(exchange() + '/queries'); ",
    "points a link elsewhere": "os.symlink('/etc/passwd', exchange() + '/answers'); ",
}


@pytest.mark.parametrize("name", TAMPERING)
def test_what_an_entry_does_to_the_shared_folder_harms_nobody_else(place: Bench, name: str) -> None:
    body = QUERY + TAMPERING[name] + "return self.exact(queries.copy(), k, tags)"
    entry = write_entry(place.folder / "mine", body, start=TAMPERS)
    code = place.run(entry, "--runs", "1", "--timeout", "10s")
    status = place.bundle().outcome.status
    assert (code, status) in ((0, Status.OK), (1, Status.RULE_BROKEN), (1, Status.CRASHED))


@pytest.mark.parametrize(
    "attack",
    [
        "os.kill(os.getppid(), signal.SIGSTOP); time.sleep(60)",
        "ctypes.CDLL(None).prctl(1, 0); os.kill(os.getppid(), signal.SIGKILL); time.sleep(60)",
        "ctypes.CDLL(None).prctl(1, 0); os.kill(os.getppid(), signal.SIGKILL); return self.exact(queries, k, tags)",
    ],
)
def test_an_entry_that_turns_on_its_keeper_is_ended_all_the_same(
    place: Bench, attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ann_bench.sandbox.process.ANSWER_SECONDS", 1.0)
    entry = write_entry(place.folder / "mine", QUERY + attack, start=TAMPERS)
    assert place.run(entry, "--runs", "1", "--timeout", "3s") == 1
    assert place.bundle().outcome.status in (Status.RULE_BROKEN, Status.TIMEOUT, Status.CRASHED)


def test_a_window_is_as_long_as_the_call(place: Bench) -> None:
    body = """
    def query(self, queries, k, tags=None):
        import time
        start = time.perf_counter()
        time.sleep(0.3)
        answers = self.exact(queries, k, tags)
        self.took = getattr(self, "took", 0.0) + time.perf_counter() - start
        return answers

    def stats(self):
        return {"took": self.took}
    """
    assert place.run(write_entry(place.folder / "mine", body), "--runs", "3") == 0
    bundle = place.bundle()
    assert bundle.control is not None
    assert 1.0 <= (bundle.seconds.sum() + bundle.control.seconds.sum()) / bundle.stats["took"] < 1.3


def test_cpu_time_is_told_apart_by_the_windows(place: Bench) -> None:
    body = """
    def burn(self, seconds):
        import time
        until = time.process_time() + seconds
        while time.process_time() < until:
            pass

    def fit(self, base, tags=None, learn=None):
        self.base, self.tags = np.asarray(base, dtype=np.int64), tags.tocsc()

    def set_query_arguments(self, **query):
        self.burn(0.8)

    def query(self, queries, k, tags=None):
        self.burn(0.5)
        return self.exact(queries, k, tags)
    """
    configs = {"default": [{"effort": 1}, {"effort": 2}]}
    place.run(write_entry(place.folder / "mine", body, query=configs), "--runs", "2")
    for bundle in place.bundles():  # what one config uses is not charged to the next
        assert 1.4 < bundle.usage.cpu_inside_seconds < 2.4  # two runs and the control batch
        assert 0.7 < bundle.usage.cpu_outside_seconds < 3.3  # set up to three times: configs take turns


def test_cpu_time_of_children_that_nobody_waits_for_counts(place: Bench) -> None:
    body = """
    def query(self, queries, k, tags=None):
        import os, signal, time
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        if os.fork() == 0:
            until = time.process_time() + 1.0
            while time.process_time() < until:
                pass
            os._exit(0)
        time.sleep(2.5)
        return self.exact(queries, k, tags)
    """
    place.run(write_entry(place.folder / "mine", body), "--runs", "1")
    assert place.bundle().usage.cpu_inside_seconds > 0.6


def test_memory_that_processes_share_counts_once(place: Bench) -> None:
    body = """
    def fit(self, base, tags=None, learn=None):
        import os, time
        self.base, self.tags = np.asarray(base, dtype=np.int64), tags.tocsc()
        self.hog = np.ones(2**24)  # 128 MiB
        for _ in range(5):
            if os.fork() == 0:
                self.hog.sum()
                time.sleep(1.5)
                os._exit(0)
        time.sleep(1.0)
    """
    assert place.run(write_entry(place.folder / "mine", body), "--memory", "512m", "--runs", "1") == 0
    assert 128 * 2**20 < place.bundle().usage.peak_anonymous_bytes < 400 * 2**20


def test_no_pause_is_free(place: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is computed while the judge stores a result counts outside of the timed calls of the next."""
    usual = Store.write

    def slowly(store: Store, bundle: Bundle) -> None:
        usual(store, bundle)
        time.sleep(2.0)

    monkeypatch.setattr(Store, "write", slowly)
    body = """
    def set_query_arguments(self, **query):
        import os, time
        if query["effort"] == 1 and os.fork() == 0:
            time.sleep(1.0)
            while time.process_time() < 0.6 + self.used():
                pass
            os._exit(0)

    def used(self):
        import time
        return vars(self).setdefault("began", time.process_time())
    """
    configs = {"default": [{"effort": 1}, {"effort": 2}]}
    place.run(write_entry(place.folder / "mine", body, query=configs), "--runs", "1")
    assert max(bundle.usage.cpu_outside_seconds for bundle in place.bundles()) > 0.4
