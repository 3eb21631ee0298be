"""The Docker sandbox by itself, on a real engine: limits, readings, what is seen inside, the end of everything."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ann_bench.engine.probe import USER
from ann_bench.entries.discovery import entry_at
from ann_bench.entries.entry import Entry
from ann_bench.errors import EngineError, StorageError
from ann_bench.progress import silent
from ann_bench.results.model import Status
from ann_bench.sandbox import Sandbox, Session, WorkerSpec, choose_sandbox, container, find_sandbox
from ann_bench.sandbox.machine import MEMORY_STEP
from ann_bench.wire import WireClosed
from ann_bench.workload import Limits
from tests.support import Bench, bench, temporary_folders, write_entry

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("engine")]

LIMITS = Limits(cpus=1, memory_bytes=2**28)
CPUS = [max(os.sched_getaffinity(0))]


@pytest.fixture(scope="module")
def entry(tmp_path_factory: pytest.TempPathFactory) -> Entry:
    """An entry whose image is built."""
    folder = tmp_path_factory.mktemp("entries")
    made = entry_at(write_entry(folder / "honest"), "filtered")
    find_sandbox("docker").prepare([made], folder / "logs", silent)
    return made


@pytest.fixture
def box(engine) -> Sandbox:
    return find_sandbox("docker")


@pytest.fixture
def session(box: Sandbox, entry: Entry) -> Iterator[Session]:
    opened = box.open(WorkerSpec(entry, LIMITS, CPUS))
    yield opened
    assert not containers(box)
    assert not temporary_folders()


@pytest.fixture
def place(tmp_path: Path) -> Bench:
    return bench(tmp_path)


def containers(box: Any, pid: int | None = None) -> list[str]:
    """The containers that a judge (this process, or the one given) has now."""
    name = f"^/ann-bench-{pid or os.getpid()}-"
    return [c["Id"] for c in box._client.api.containers(all=True, filters={"name": name})]


def inspect(box: Any, session: Any) -> dict[str, Any]:
    return box._client.api.inspect_container(session._name)


def test_limits_are_cut_to_the_machine(box: Sandbox) -> None:
    fitted = box.fit(Limits(cpus=10_000, memory_bytes=2**60))
    assert fitted.cpus == len(box.cpus()) <= len(os.sched_getaffinity(0))
    assert fitted.memory_bytes < 2**50
    assert fitted.memory_bytes % MEMORY_STEP == 0
    assert box.fit(LIMITS) == LIMITS
    assert box.fit(Limits(1, 2**28 + 1)).memory_bytes == 2**28, "the kernel counts in pages"


def test_the_worker_calls_and_quits(session: Session) -> None:
    assert session.channel.receive(60)["type"] == "hello"
    reading = session.reading()
    assert 10 * 2**20 < reading.peak_anonymous_bytes <= reading.peak_memory_bytes < LIMITS.memory_bytes
    assert reading.cpu_seconds > 0
    assert reading.processes == 1
    session.channel.send({"type": "quit", "seq": 1})
    end = session.close(30)
    assert (end.code, end.signal, end.killed, end.out_of_memory, end.left_behind) == (0, None, False, False, 0)
    assert end.reading.peak_memory_bytes >= reading.peak_memory_bytes
    assert not session.questions.exists()


def test_what_is_in_force_is_what_was_asked(session: Any, box: Sandbox) -> None:
    session.channel.receive(60)
    found = session.in_force()
    assert (found.cpus, found.memory_bytes) == (LIMITS.cpus, LIMITS.memory_bytes)
    assert found.details["cpuset"] == CPUS
    assert found.details["processes"] == container.PROCESSES
    host = inspect(box, session)["HostConfig"]
    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"]
    status = Path(f"/proc/{session._pid}/status").read_text()
    assert all(f"Cap{kind}:\t{0:016x}\n" in status for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb"))
    assert "no-new-privileges" in host["SecurityOpt"]
    assert host["MemorySwap"] == host["Memory"] == LIMITS.memory_bytes
    assert host["PidsLimit"] == container.PROCESSES
    assert all(
        not mount["RW"] for mount in inspect(box, session)["Mounts"] if mount["Destination"] != container.ANSWERS
    )
    assert inspect(box, session)["Config"]["User"] == USER
    session.close(30)


def test_limits_that_are_changed_from_outside_are_seen(session: Any, box: Any) -> None:
    session.channel.receive(60)
    box._client.api.update_container(session._name, mem_limit=2**27, memswap_limit=2**27)
    assert session.in_force().memory_bytes == 2**27
    session.close(30)


@pytest.mark.parametrize(
    "change", [{"mem_limit": 2**29, "memswap_limit": 2**29}, {"mem_limit": 2**27}, {"cpuset_cpus": ""}]
)
def test_a_container_with_other_limits_breaks_the_rules(
    place: Bench, change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = container.settings
    monkeypatch.setattr(container, "settings", lambda *arguments: {**usual(*arguments), **change})
    entry = write_entry(place.folder / "mine")
    cpus = "1" if "cpuset_cpus" in change else "2"
    if cpus == "1" and len(os.sched_getaffinity(0)) == 1:
        pytest.skip("one CPU cannot be more than was asked")
    assert place.run(entry, "--sandbox", "docker", "--memory", "256m", "--cpus", cpus, "--runs", "1") == 1
    outcome = place.bundle().outcome
    assert outcome.status is Status.RULE_BROKEN
    assert "instead of" in outcome.detail
    assert place.bundle().provenance["limits_in_force"]["memory_bytes"] > 0


def test_killing_is_quick(session: Session) -> None:
    session.channel.receive(60)
    start = time.monotonic()
    session.kill()
    end = session.close(60)
    assert time.monotonic() - start < 10
    assert (end.signal, end.killed, end.out_of_memory) == (9, True, False)
    assert end.reading.peak_memory_bytes > 10 * 2**20, "what was used is kept"


def test_a_worker_whose_judge_hangs_up_ends(session: Session) -> None:
    session.channel.receive(60)
    end = session.close(30)
    assert (end.code, end.killed) == (0, False)


@pytest.mark.parametrize(
    ("boot", "code", "signal", "log"),
    [("print('no'); raise SystemExit(7)", 7, None, "no\n"), ("import os; os.abort()", None, 6, "")],
)
def test_a_worker_that_cannot_start_is_gone_at_once(
    box: Sandbox,
    entry: Entry,
    boot: str,
    code: int | None,
    signal: int | None,
    log: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(container, "_BOOT", boot)
    session = box.open(WorkerSpec(entry, LIMITS, CPUS))
    with pytest.raises(WireClosed):
        session.channel.receive(60)
    end = session.close(30)
    assert (end.code, end.signal, end.killed) == (code, signal, False)
    assert end.log.startswith(log)
    assert not containers(box)


def test_a_worker_that_does_not_end_is_killed(box: Sandbox, entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "_BOOT", "import time; time.sleep(600)")
    end = box.open(WorkerSpec(entry, LIMITS, CPUS)).close(0.1)
    assert (end.killed, end.signal) == (True, 9)


def test_processes_that_outlive_the_worker_are_counted_and_ended(
    box: Sandbox, entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot = "import os, time\nfor _ in range(3):\n    if not os.fork(): time.sleep(600)\n"
    monkeypatch.setattr(container, "_BOOT", boot)
    end = box.open(WorkerSpec(entry, LIMITS, CPUS)).close(30)
    assert (end.code, end.left_behind) == (0, 3)


def test_a_log_without_end_is_cut(box: Sandbox, entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "_BOOT", "[print('x' * 99) for _ in range(50_000)]; print('last')")
    end = box.open(WorkerSpec(entry, LIMITS, CPUS)).close(60)
    assert end.log.endswith("last\n")
    assert len(end.log) < 100_000


def test_the_engine_tells_that_process_1_was_out_of_memory(
    box: Sandbox, entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the shell itself is what the kernel ends, the control group is gone before it can be read."""
    monkeypatch.setattr(container, "_INIT", 'exec python -c "x = bytearray(2**29)"')
    end = box.open(WorkerSpec(entry, LIMITS, CPUS)).close(60)
    assert (end.killed, end.signal, end.out_of_memory) == (False, 9, True)


JUDGE = """
import sys, time
from pathlib import Path
from ann_bench.engine.probe import USER
from ann_bench.entries.discovery import entry_at
from ann_bench.sandbox import WorkerSpec, find_sandbox
from ann_bench.workload import Limits
session = find_sandbox("docker").open(WorkerSpec(entry_at(Path(sys.argv[1]), "filtered"), Limits(1, 2**28), [0]))
session.channel.receive(60)
print(session._keeper._process.pid, flush=True)
time.sleep(600)
"""


def killed_judge(box: Sandbox, entry: Entry, *, with_keeper: bool) -> int:
    """A judge that is killed while its container runs; its process id."""
    judge = subprocess.Popen([sys.executable, "-c", JUDGE, str(entry.folder)], stdout=subprocess.PIPE, text=True)
    assert judge.stdout is not None
    keeper = int(judge.stdout.readline())
    assert len(containers(box, judge.pid)) == 1
    assert len(temporary_folders(judge.pid)) == 1
    if with_keeper:
        os.kill(keeper, 9)
    judge.kill()
    judge.communicate()
    return judge.pid


def test_a_judge_that_is_killed_leaves_nothing(box: Sandbox, entry: Entry) -> None:
    pid = killed_judge(box, entry, with_keeper=False)
    until = time.monotonic() + 20
    while (containers(box, pid) or temporary_folders(pid)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not containers(box, pid)
    assert not temporary_folders(pid)


def test_the_next_start_removes_what_a_killed_judge_and_keeper_left(box: Sandbox, entry: Entry) -> None:
    pid = killed_judge(box, entry, with_keeper=True)
    assert containers(box, pid)
    find_sandbox("docker")
    assert not containers(box, pid)
    assert not temporary_folders(pid)


def test_a_keeper_that_is_killed_takes_nothing_with_it(session: Any) -> None:
    session.channel.receive(60)
    session._keeper._process.kill()
    session._keeper._process.wait()
    end = session.close(30)
    assert end.code == 0


def test_paths_with_spaces_and_letters_of_any_kind(tmp_path: Path) -> None:
    place = bench(tmp_path / "mit Leerzeichen, Ü: ü")
    entry = write_entry(place.folder / "mine")
    assert place.run(entry, "--sandbox", "docker", "--runs", "1", "--cpus", "1", "--memory", "256m") == 0
    bundle = place.bundle()
    assert bundle.identity["sandbox"] == "docker"
    assert bundle.identity["image"]
    assert bundle.provenance["environment"]["image_id"].startswith("sha256:")
    assert bundle.provenance["limits_in_force"]["cpus"] == 1


def test_data_that_only_its_owner_may_read_is_refused(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    (place.folder / "data" / "base.u8bin").chmod(0o600)
    assert place.run(write_entry(place.folder / "mine"), "--sandbox", "docker") == 1
    assert capsys.readouterr().err.splitlines()[-1].endswith("chmod o+r it")
    assert not list(place.results.rglob("*.h5"))
    assert not temporary_folders()


def test_an_image_that_is_gone_is_told(box: Any, tmp_path: Path) -> None:
    entry = entry_at(write_entry(tmp_path / "never-built", "x = 1"), "filtered")
    assert "ann-bench install" in box.environment(entry).missing
    with pytest.raises(EngineError, match="ann-bench install"):
        box.open(WorkerSpec(entry, LIMITS, CPUS))


def test_auto_takes_containers_only_where_every_image_is_there(entry: Entry, tmp_path: Path) -> None:
    assert choose_sandbox("auto", [entry]).sandbox.name == "docker"
    other = entry_at(write_entry(tmp_path / "not-built", "y = 2"), "filtered")
    choice = choose_sandbox("auto", [entry, other])
    assert choice.sandbox.name == "process"
    assert "not-built" in choice.line
    assert f"ann-bench install --track filtered --entry {other.folder}" in choice.line


def test_a_full_ram_disk_stops_the_run(box: Sandbox, entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: object) -> None:
        raise StorageError("no room")

    monkeypatch.setattr(container.Shared, "make", full)
    with pytest.raises(StorageError):
        box.open(WorkerSpec(entry, LIMITS, CPUS))
    assert not temporary_folders()
    assert not containers(box)
