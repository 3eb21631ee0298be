"""Entries that are programs: a client written from docs/wire.md alone serves every track; what fails has a name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ann_bench.entries.discovery import entry_at
from ann_bench.entries.entry import entry_hash
from ann_bench.errors import UsageError
from ann_bench.results.figures import figures
from ann_bench.results.model import Status
from tests.programs.data import ASKED, data_for
from tests.support import Bench, bench

CLIENT = Path(__file__).parent / "client"

pytestmark = pytest.mark.usefixtures("nothing_left")


def program(folder: Path, command: list[str], text: str = "", name: str = "server", **config: Any) -> Path:
    """An entry of one executable script."""
    folder.mkdir(parents=True)
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
    settings = {
        "command": command,
        "tracks": ["filtered"],
        "open_source": True,
        "description": "a program for a test",
        "query": {"default": [{}]},
        **config,
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(settings))
    return folder


@pytest.mark.parametrize("asked", ASKED)
def test_a_client_written_from_the_page_alone(tmp_path: Path, asked: str) -> None:
    place = Bench(tmp_path, data_for(tmp_path / "data", asked), ASKED[asked])
    assert place.run(CLIENT, "--runs", "2", "--cpus", "1") == 0
    bundle = place.bundle()
    assert bundle.outcome.status is Status.OK, bundle.outcome
    assert figures(bundle).recall == 1.0
    assert bundle.stats["compared"] > 0


@pytest.mark.docker
@pytest.mark.parametrize("asked", ["range", "filtered", "sparse-streaming"])
def test_the_same_in_a_container(tmp_path: Path, asked: str, engine: Any) -> None:
    place = Bench(tmp_path, data_for(tmp_path / "data", asked), ASKED[asked])
    assert place.run(CLIENT, "--runs", "2", "--cpus", "1", "--sandbox", "docker") == 0
    assert figures(place.bundle()).recall == 1.0


HELLO = """#!/usr/bin/env python3
import json, os, socket, sys
judge = socket.socket(socket.AF_UNIX)
judge.connect(os.environ["ANN_BENCH_SOCKET"])
lines = judge.makefile("r")
def say(message): judge.sendall((json.dumps(message) + chr(10)).encode())
"""
SERVES = HELLO + 'say({"type": "hello", "protocol": 1})\n'

FAILURES = {
    "speaks another version": (
        HELLO + 'say({"type": "hello", "protocol": 7})\nlines.read()',
        Status.RULE_BROKEN,
        "speaks version 7 of the wire protocol, the judge speaks 1",
    ),
    "begins without hello": (HELLO + 'say({"type": "done"})\nlines.read()', Status.RULE_BROKEN, "is no hello"),
    "speaks no JSON": (HELLO + 'judge.sendall(b"GET /\\n")\nlines.read()', Status.RULE_BROKEN, "not a JSON line"),
    "ends before it calls": (
        "#!/bin/sh\necho no index today >&2\nexit 3\n",
        Status.CRASHED,
        "the process ended with exit code 3 during its start: no index today",
    ),
    "ends at once with 0": ("#!/bin/sh\n", Status.CRASHED, "exit code 0 during its start"),
    "ends after hello": (
        SERVES + 'lines.readline()\nprint("out of luck")\nsys.exit(4)',
        Status.CRASHED,
        "exit code 4 during its import and constructor: out of luck",
    ),
    "refuses": (
        SERVES + 'say({"type": "error", "seq": 1, "kind": "exception", "text": "no bytes"})\nlines.read()',
        Status.CRASHED,
        "its import and constructor: no bytes",
    ),
    "has no interpreter": ("#!/no/such/interpreter\n", Status.CRASHED, ""),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_a_result_with_a_name(
    tmp_path: Path, name: str, sandbox: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text, status, detail = FAILURES[name]
    place = bench(tmp_path)
    entry = program(tmp_path / "mine", ["./server"], text)
    assert place.run(entry, "--sandbox", sandbox, "--cpus", "1") == 1
    outcome = place.bundle().outcome
    assert outcome.status is status, outcome
    assert detail in outcome.detail
    assert "Traceback" not in capsys.readouterr().err


def test_what_cannot_be_executed_says_why_in_its_log(tmp_path: Path) -> None:
    place = bench(tmp_path)
    assert place.run(program(tmp_path / "mine", ["./server"], "#!/no/such/interpreter\n")) == 1
    outcome = place.bundle().outcome
    assert "exit code 126 during its start: ./server: cannot be executed (No such file" in outcome.detail
    assert "cannot be executed" in outcome.log


@pytest.mark.parametrize("silent", ["import time; time.sleep(600)", "lines.read()"])
def test_a_program_that_never_says_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent: str, sandbox: str
) -> None:
    for place in ("sandbox.process", "sandbox.docker_session", "judge.driver"):
        monkeypatch.setattr(f"ann_bench.{place}.START_SECONDS", 1.5)
    place = bench(tmp_path)
    start = HELLO if "lines" in silent else "#!/usr/bin/env python3\n"
    assert place.run(program(tmp_path / "mine", ["./server"], start + silent), "--sandbox", sandbox) == 1
    outcome = place.bundle().outcome
    assert outcome.status is Status.TIMEOUT
    expected = "its start took longer" if "lines" in silent else "never connected to the socket of ANN_BENCH_SOCKET"
    assert expected in outcome.detail


NOT_THERE = {
    "no file": (["./other"], "there is no program ./other in its folder; compile it there"),
    "not on PATH": (["no-such-program-of-ours"], "the program no-such-program-of-ours is not on PATH"),
    "in the folder, but named barely": (["server"], "not on PATH; write ./server for the one in its folder"),
    "not executable": (["./config.yaml"], "the program ./config.yaml may not be executed; try: chmod +x "),
}


@pytest.mark.parametrize("name", NOT_THERE)
def test_a_program_that_is_not_there(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command, detail = NOT_THERE[name]
    place = bench(tmp_path)
    assert place.run(program(tmp_path / "mine", command)) == 1
    outcome = place.bundle().outcome
    assert outcome.status is Status.NOT_INSTALLED
    assert detail in outcome.detail
    assert "not-installed" in capsys.readouterr().out


@pytest.mark.docker
def test_an_image_without_the_program_is_not_finished(tmp_path: Path, engine: Any) -> None:
    place = bench(tmp_path)
    entry = program(tmp_path / "hollow", ["./compiled"])
    assert place.run(entry, "--sandbox", "docker") == 1
    outcome = place.bundle().outcome
    assert outcome.status is Status.NOT_INSTALLED
    assert "./compiled is not in /entry or on PATH, or may not be executed" in outcome.detail


SAYS_WHERE = (
    SERVES
    + """
from pathlib import Path
print("cwd", "server" in os.listdir(), sys.argv[1:])
print("home", os.listdir(os.environ["HOME"]), os.environ["OMP_NUM_THREADS"], len(os.sched_getaffinity(0)))
print("input", repr(sys.stdin.read()))
sys.exit(9)
"""
)


def test_where_a_program_finds_itself(tmp_path: Path, sandbox: str) -> None:
    place = bench(tmp_path)
    entry = program(tmp_path / "mine", ["./server", "a b", "$HOME"], SAYS_WHERE)
    place.run(entry, "--sandbox", sandbox, "--cpus", "1")
    log = place.bundle().outcome.log
    assert "cwd True ['a b', '$HOME']" in log
    assert "home [] 1 1" in log
    assert "input ''" in log


def test_a_program_may_not_outgrow_its_memory(tmp_path: Path, sandbox: str) -> None:
    place = bench(tmp_path)
    entry = program(tmp_path / "mine", ["./server"], SERVES + "hog = bytearray(2**29)\nlines.read()")
    assert place.run(entry, "--sandbox", sandbox, "--memory", "256m") == 1
    assert place.bundle().outcome.status is Status.OUT_OF_MEMORY


def test_the_command_is_part_of_the_hash(tmp_path: Path) -> None:
    hashes = set()
    for number, command in enumerate((["./server"], ["./server", "-v"], ["sh", "server"])):
        hashes.add(entry_hash(entry_at(program(tmp_path / str(number), command), "filtered")))
    assert len(hashes) == 3


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"command": []}, "command: write the words of a command"),
        ({"command": [""]}, "command: write the words of a command"),
        ({"command": "./server"}, "command: input should be a valid list"),
        ({"command": ["../server"]}, "command: the program lies in the entry's folder"),
        ({"command": ["./server"], "class": "a.B"}, "an entry has either `class` (module.Class) or `command`"),
        ({"command": None}, "an entry has either `class` (module.Class) or `command`"),
    ],
)
def test_a_config_that_names_no_program(tmp_path: Path, config: dict[str, Any], message: str) -> None:
    folder = program(tmp_path / "mine", **{"command": ["./server"], **config})
    with pytest.raises(UsageError) as caught:
        entry_at(folder, "filtered")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("mode", [("latency",), ("load", "--rate", "100")])
def test_queries_one_by_one_are_an_ability_that_a_program_may_lack(tmp_path: Path, mode: tuple[str, ...]) -> None:
    """It is said by its name before anything is built."""
    place = bench(tmp_path)
    assert place.run(CLIENT, "--runs", "1", "--cpus", "1", "--mode", *mode) == 1
    outcome = place.bundle().outcome
    assert outcome.status is Status.CRASHED
    assert f"--mode {mode[0]} is not supported" in outcome.detail
    assert '"asks": true' in outcome.detail
    assert not [step for step in place.bundle().steps if step.kind == "build"]
