"""Entries that attack in earnest, in a real container: each is blocked, or ends with the right name, or gets a note.

README.md has the table. Whatever an entry does, the data, the results and the engine are as they should be afterwards.
"""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest
from ann_bench.judge.run import ask_all
from ann_bench.progress import silent
from ann_bench.results.figures import figures
from ann_bench.results.model import Bundle, Status
from ann_bench.results.notes import notes
from ann_bench.sandbox.folders import PREFIX
from ann_bench.tracks import find_track
from tests.support import EXACT, Bench, bench, processes_with, temporary_folders

pytestmark = pytest.mark.docker

HERE = Path(__file__).parent
ATTACKS = sorted(path.parent.name for path in HERE.glob("*/wrapper.py"))
#: What the entries look for; it is written in two pieces everywhere, so that nobody finds it in a program.
WORD = "ann-bench-" + "canary"
BOXED = ("--sandbox", "docker", "--cpus", "1", "--memory", "256m", "--timeout", "30s", "--runs", "2")
QUERIES, RUNS = 40, 2


@pytest.fixture
def place(tmp_path: Path, own_cache: Path, engine: Any) -> Iterator[Bench]:
    """A bench whose secrets bear the word, and whose files anybody may write: what protects them is the container."""
    made = bench(tmp_path)
    made.results.mkdir()
    secrets = [folder / "secret" for folder in (tmp_path, tmp_path / "data", own_cache, own_cache / "truth")]
    for path in secrets:
        path.parent.mkdir(exist_ok=True)
        path.write_text(WORD, encoding="utf-8")
    for path in (made.results, *(tmp_path / "data").rglob("*"), tmp_path / "data"):
        path.chmod(0o777)
    before = contents(tmp_path / "data")
    with marked_process(tmp_path):
        yield made
    assert contents(tmp_path / "data") == before
    assert all(path.read_text(encoding="utf-8") == WORD for path in secrets)
    assert unexpected(made) == []
    nothing_left(engine)


@contextmanager
def marked_process(folder: Path) -> Iterator[None]:
    """A process of this machine that bears the word, as the judge and its settings might."""
    environment = {"PATH": os.environ["PATH"], "ANN_BENCH_SECRET": WORD}
    argv = ["sh", "-c", "sleep 600 & wait", WORD]
    with subprocess.Popen(argv, env=environment, cwd=folder, start_new_session=True) as process:
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def contents(folder: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


def unexpected(made: Bench) -> list[str]:
    """What lies in the results folder beside results, the lock and the logs of images."""
    kept = [path for path in made.results.rglob("*") if path.is_file()]
    results = len([path for path in kept if path.suffix == ".h5"])
    assert results == len(made.bundles())
    return [str(path) for path in kept if path.suffix not in (".h5", ".log") and path.name != ".measuring"]


def nothing_left(engine: Any) -> None:
    """No container, no folder, no process of this judge's."""
    ours = f"{PREFIX}{os.getpid()}-"
    assert engine.api.containers(all=True, filters={"name": f"^/{ours}"}) == []
    assert not temporary_folders()
    for _ in range(40):
        if not processes_with(ours):
            return
        time.sleep(0.05)
    pytest.fail(f"left behind: {processes_with(ours)}")


def hostile(name: str, folder: Path, **build: Any) -> Path:
    """A copy of a hostile entry with all that it imports; `build` are arguments that only this test knows."""
    copy = folder / "entries" / name
    shutil.copytree(HERE / name, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HERE / "kit.py", copy)
    (copy / "exact.py").write_text(EXACT, encoding="utf-8")
    settings = yaml.safe_load((copy / "config.yaml").read_text(encoding="utf-8"))
    settings["build"] = {"default": build}
    (copy / "config.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    return copy


def boxed(place: Bench, name: str, *options: str, ok: bool = True, **build: Any) -> Bundle:
    """The only result of an entry that was run in a container."""
    code = place.run(hostile(name, place.folder, **build), *BOXED, *options)
    bundle = place.bundle()
    assert bundle.identity["sandbox"] == "docker"
    assert (code, bundle.outcome.status is Status.OK) == ((0, True) if ok else (1, False)), bundle.outcome
    return bundle


def by_config(place: Bench, name: str, *options: str) -> dict[str, Bundle]:
    """The results of an entry, by what its query configs call `how`."""
    place.run(hostile(name, place.folder), *BOXED, *options)
    return {bundle.identity["query"]["how"]: bundle for bundle in place.bundles()}


def is_honest(bundle: Bundle) -> bool:
    """All answers are right all the same."""
    return figures(bundle).recall == 1.0


# Blocked: the entry reaches nothing, and answers as it should.

#: For each attack the fewest attempts that it must have made, so that "nothing reached" means something.
BLOCKED = {
    "reads-truth": 3000,
    "writes-base": 80,
    "writes-elsewhere": 5000,
    "leaves-by-links": 120,
    "becomes-root": 60,
    "turns-on-others": 60,
    "raises-limits": 20,
}

#: What shows that the attack works where it may: on files and sockets of its own.
CONTROL = {"reads-truth": 1, "writes-base": 12, "leaves-by-links": 10}


@pytest.mark.parametrize("name", BLOCKED)
def test_an_attack_that_is_blocked_reaches_nothing(place: Bench, name: str) -> None:
    bundle = boxed(place, name)
    assert bundle.stats["reached"] == ""
    assert bundle.stats["tried"] == bundle.stats["blocked"] >= BLOCKED[name]
    assert bundle.stats.get("control", 0) >= CONTROL.get(name, 0)
    assert is_honest(bundle)
    for key, expected in EXPECTED.get(name, {}).items():
        assert expected(bundle.stats[key]), (key, bundle.stats[key])


Check = Callable[[Any], bool]

#: More of what they report, and what it has to be.
EXPECTED: dict[str, dict[str, Check]] = {
    "reads-truth": {"read": lambda n: n > 50e6},  # the whole of the image, at least
    "writes-base": {"files": lambda n: n == 4},
    # /scratch, /tmp, /dev/shm and the queues of messages are its own
    "writes-elsewhere": {"own": lambda n: n >= 7},
    "becomes-root": {
        "NoNewPrivs": lambda text: text == "1",
        "Seccomp": lambda text: text == "2",
        **dict.fromkeys(("CapEff", "CapPrm", "CapBnd", "CapAmb"), lambda text: int(text, 16) == 0),
        "Groups": lambda text: "0" not in text.split(),
        "ids": lambda text: text == str((65532,) * 6),
    },
    "turns-on-others": {
        "seen": lambda n: 1 <= n <= 3,
        "strangers": lambda n: n == 0,
        "marked": lambda n: n == 0,
        "sent": lambda n: n == 6,
    },
    "raises-limits": {"cpus": lambda n: n == 1},
}


def test_limits_stay_what_they_were(place: Bench) -> None:
    """Two processes that want a CPU each get one between them."""
    bundle = boxed(place, "raises-limits")
    in_force = bundle.provenance["limits_in_force"]
    assert (in_force["cpus"], in_force["memory_bytes"]) == (1, 256 * 2**20)
    windows = bundle.seconds.sum() + (0.0 if bundle.control is None else bundle.control.seconds.sum())
    assert 0.3 < bundle.usage.cpu_inside_seconds < 1.1 * windows + 0.2


def test_queries_are_not_there_before_go(place: Bench) -> None:
    stats = boxed(place, "reads-queries-early").stats
    assert stats["early"] == 0
    assert stats["looks"] >= 8
    assert stats["files"] >= 4 * RUNS
    # the same look, during the call, finds every one of them
    assert stats["control"] == stats["asked"] >= RUNS * QUERIES


@pytest.fixture
def listeners(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Ears of this machine; the addresses are an entry's build arguments."""
    with ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        names = {"abstract": f"ann-bench-hostile-{os.getpid()}", "path": str(tmp_path / "ear")}
        ears = [tcp, udp]
        for address in ("\0" + names["abstract"], names["path"]):
            ears.append(stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)))
            ears[-1].bind(address)
            ears[-1].listen()
        Path(names["path"]).chmod(0o777)
        for ear in ears:
            ear.setblocking(False)
        yield {"ears": ears, "build": {"tcp": tcp.getsockname()[1], "udp": udp.getsockname()[1], **names}}


def heard(ears: list[socket.socket]) -> list[bool]:
    """Which of them have been called."""
    found = []
    for ear in ears:
        try:
            if ear.type == socket.SOCK_DGRAM:
                ear.recv(100)
            else:
                ear.accept()[0].close()
            found.append(True)
        except BlockingIOError:
            found.append(False)
    return found


def test_no_socket_leads_out(place: Bench, listeners: dict[str, Any]) -> None:
    stats = boxed(place, "opens-sockets", **listeners["build"]).stats
    assert heard(listeners["ears"]) == [False] * 4
    assert stats["reached"] == ""
    assert stats["tried"] >= 60
    assert stats["control"] is True, "it can call nobody at all, not even itself"


def test_time_is_taken_outside(place: Bench) -> None:
    bundle = boxed(place, "patches-time")
    assert bundle.stats["took"] == 0.0
    assert bundle.stats["patched"] >= 15
    assert bundle.stats["reached"] == ""
    assert bundle.seconds.min() > bundle.stats["slept"]
    assert figures(bundle).qps < QUERIES / bundle.stats["slept"]


def test_claims_are_kept_apart(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = boxed(place, "claims-qps")
    assert bundle.stats["qps"] == 1e9
    found = figures(bundle)
    assert found.qps < 1e7
    assert found.recall == pytest.approx(0.1)
    assert bundle.identity["algorithm"] == "claims-qps"
    assert bundle.usage.peak_memory_bytes > 2**20
    assert "1,000,000,000" not in capsys.readouterr().out


def test_answers_that_come_late_are_never_read(place: Bench) -> None:
    found = by_config(place, "answers-late")
    assert found["empty"].outcome.status is Status.OK
    assert found["empty"].stats["late"] > 5
    assert figures(found["empty"]).recall == 0.0
    assert found["unsaid"].outcome.status is Status.RULE_BROKEN
    assert f"said done before {QUERIES} of its answers were written" in found["unsaid"].outcome.detail


def test_answers_that_are_replaced_after_done_are_never_read(place: Bench) -> None:
    bundle = boxed(place, "replaces-answers")
    assert bundle.stats["its_bytes"] > 5
    assert bundle.stats["another_file"] == bundle.stats["another_name"] == 0
    assert figures(bundle).recall == 0.0


def test_a_log_without_end_fills_no_disk(place: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from ann_bench.sandbox.docker import DockerSession

    kept: list[int] = []
    close = DockerSession.close

    def noting(session: Any, *arguments: Any) -> Any:
        kept.append(len(session._api.logs(session._name)))
        return close(session, *arguments)

    monkeypatch.setattr(DockerSession, "close", noting)
    before = peak_of_this_process()
    bundle = boxed(place, "prints-without-end")
    assert bundle.stats["printed"] > 30 * 2**20
    assert 0 < max(kept) < 2 * 2**20, "as long as its container lives, so long is its log"
    assert peak_of_this_process() - before < 100 * 2**20
    assert is_honest(bundle)


def peak_of_this_process() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_nothing_outlives_its_run(place: Bench) -> None:
    word = "ann-bench-" + "outliving"
    bundle = boxed(place, "outlives-its-run")
    assert bundle.stats["started"] == 3
    assert bundle.usage.processes >= 4
    assert processes_with(word) == []
    assert is_honest(bundle)


# Named: the run ends with the right status.

Outcomes = dict[str, tuple[Status, str]]
OUT = (Status.OUT_OF_MEMORY, "outgrew its memory limit during query()")
TURN = (Status.RULE_BROKEN, "spoke out of turn")
BROKEN = (Status.RULE_BROKEN, "broke the wire protocol during query()")

NAMED: dict[str, Outcomes] = {
    "allocates": dict.fromkeys(("slowly", "at once", "shared", "in files", "in children", "in the kernel"), OUT),
    "fills-disk": {"each": (Status.OK, ""), "all": OUT, "answers": OUT, "names": OUT},
    "forges-its-end": {"crashed": (Status.CRASHED, "ended with exit code 0 during query()"), "left": OUT},
    "sends-2gb": {
        **dict.fromkeys(("a line", "a message"), (BROKEN[0], "a message longer than 65,536 bytes")),
        "its stats": (Status.OK, ""),  # what was measured before stays; the stats say that the protocol was broken
    },
    "sends-broken-json": {
        **dict.fromkeys(("no json", "half of it", "deep", "no text", "a long number", "no line at all"), BROKEN),
        **dict.fromkeys(("no object", "no type", "a type that is no word"), (BROKEN[0], "not a message")),
        "nan": TURN,
    },
    "speaks-out-of-turn": {
        **dict.fromkeys(("done before ready", "done for ready", "ready twice", "done twice", "hello again"), TURN),
        **dict.fromkeys(("quit", "go", "an old token", "another number"), TURN),
        "an error of its own": (Status.RULE_BROKEN, "reported an error of no known kind"),
    },
}


@pytest.mark.parametrize("name", NAMED)
def test_an_attack_ends_with_the_right_name(place: Bench, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = peak_of_this_process()
    found = {how: bundle.outcome for how, bundle in by_config(place, name).items()}
    assert {how: outcome.status for how, outcome in found.items()} == {how: one[0] for how, one in NAMED[name].items()}
    for how, (_, detail) in NAMED[name].items():
        assert detail in found[how].detail, how
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    assert peak_of_this_process() - before < 150 * 2**20, "what an entry sends is nothing that the judge holds"


def test_memory_that_is_refused_was_used_up(place: Bench) -> None:
    """The peak of each is near the limit, and not beyond."""
    for how, bundle in by_config(place, "allocates").items():
        assert 0.9 * 256 < bundle.usage.peak_memory_bytes / 2**20 <= 256, how


def test_disks_end_at_the_limit(place: Bench) -> None:
    stats = by_config(place, "fills-disk")["each"].stats
    assert stats["reached"] == ""
    assert 0 < stats["megabytes"] < 1024
    for folder in ("/scratch", "/tmp", "/dev/shm"):
        assert f"all of {folder}: No space left on device" in stats["refused"]


def test_forks_end_at_the_limit(place: Bench) -> None:
    """With memory enough for all of them; without, it is the memory that ends them."""
    found = by_config(place, "forks", "--memory", "2g", "--timeout", "5s", "--build-limit", "60s")
    assert found["quietly"].outcome.status is Status.OK
    stats = found["quietly"].stats
    assert stats["refused"] == "Resource temporarily unavailable, can't start new thread"
    assert 500 < stats["children"] < 1024
    assert 500 < stats["threads"] < 1024
    assert found["without end"].outcome.status is Status.TIMEOUT
    assert found["without end"].usage.processes > 50


def test_an_entry_that_is_deaf_is_ended_in_time(place: Bench) -> None:
    start = time.monotonic()
    outcome = boxed(place, "ignores-signals", "--timeout", "3s", ok=False).outcome
    assert outcome.status is Status.TIMEOUT
    assert "query() took longer than its time limit" in outcome.detail
    assert time.monotonic() - start < 40


def test_words_in_the_constructor_break_the_rules(place: Bench) -> None:
    outcome = boxed(place, "speaks-in-constructor", ok=False).outcome
    assert outcome.status is Status.RULE_BROKEN
    assert "spoke out of turn during its import and constructor" in outcome.detail


# Flagged: the result says what is odd about it.


def test_a_cache_between_the_repeats_is_flagged(place: Bench) -> None:
    bundle = boxed(place, "caches-answers", "--runs", "4")
    assert bundle.stats["hits"] == 3 * QUERIES
    said = notes(bundle)
    assert any("first batch took" in note and "answers from a cache?" in note for note in said)
    assert any("queries that nobody had seen took" in note for note in said)


def test_a_table_of_answers_is_flagged(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    entry = hostile("knows-the-data", place.folder)
    write_table(place, entry / "table.npz")
    assert place.run(entry, *BOXED, "--runs", "4") == 0
    assert "answers to queries that nobody had seen" in " ".join(capsys.readouterr().out.split())
    for bundle in place.bundles():
        how = bundle.identity["query"]["how"]
        assert bundle.stats["recognised"] is True
        assert bundle.stats["known"] >= 4 * QUERIES
        assert bundle.stats["unknown"] > 0
        assert is_honest(bundle)
        said = [note for note in notes(bundle) if "queries that nobody had seen" in note]
        assert len(said) == 1, (how, notes(bundle))
        assert ("recall 0.00 against 1.00" if how == "poorly" else "x the time of the published ones") in said[0]


def write_table(place: Bench, path: Path) -> None:
    """Queries, tags and true answers of the tiny data set, and what it is recognised by."""
    data = prepare(find_manifest(str(place.manifest), "filtered"), "public", silent)
    truth = ask_all(data, find_track("filtered").workload(data, 10)).truths[0]
    assert data.queries.tags is not None
    np.savez(
        path,
        rows=np.frombuffer(hashlib.sha256(data.base.open()[:10].tobytes()).digest(), dtype=np.uint8),
        queries=data.queries.vectors.open(),
        tags=data.queries.tags.open().toarray() > 0,
        answers=truth.ids,
    )


def test_work_between_the_windows_is_flagged(place: Bench) -> None:
    bundle = boxed(place, "works-in-background")
    assert bundle.stats["delays"] >= RUNS
    assert bundle.usage.cpu_outside_seconds > 1.0
    assert any("CPU seconds outside of the timed calls" in note for note in notes(bundle))


# The same attacks outside of a container.


def test_without_a_container_the_truth_is_found(place: Bench) -> None:
    entry = hostile("reads-truth", place.folder, around=str(place.folder))
    assert place.run(entry, "--sandbox", "process", "--runs", "1") == 0
    reached = place.bundle().stats["reached"]
    assert f"the word: {place.folder}/data/secret" in reached
    assert f"a query: {place.folder}/data/queries.u8bin" in reached


def test_without_a_container_sockets_lead_out(place: Bench, listeners: dict[str, Any]) -> None:
    entry = hostile("opens-sockets", place.folder, **listeners["build"])
    assert place.run(entry, "--sandbox", "process", "--runs", "1") == 0
    assert heard(listeners["ears"]) == [True] * 4
    assert "abstract socket of the test" in place.bundle().stats["reached"]


def test_without_a_container_the_dangerous_ones_do_nothing(place: Bench) -> None:
    dangerous = [name for name in ATTACKS if "inside_only()" in (HERE / name / "wrapper.py").read_text("utf-8")]
    assert len(dangerous) > 10
    paths = [hostile(name, place.folder) for name in dangerous]
    more = [word for path in paths[1:] for word in ("--entry", str(path))]
    assert place.run(paths[0], *more, "--sandbox", "process", "--runs", "1", "--cpus", "1") == 1
    for bundle in place.bundles():
        assert "attacks in a container only" in bundle.outcome.detail, bundle.identity["algorithm"]
    assert {bundle.identity["algorithm"] for bundle in place.bundles()} == set(dangerous)


def test_every_attack_is_tried_and_in_the_table() -> None:
    tests, table = Path(__file__).read_text("utf-8"), (HERE / "README.md").read_text("utf-8")
    for name in ATTACKS:
        assert f'"{name}"' in tests
        assert f"| `{name}` |" in table
