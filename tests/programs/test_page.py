"""docs/wire.md is true: its examples have the keys of recorded sessions, its numbers are those of the code."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ann_bench.cli import main
from ann_bench.datasets.formats.names import VECTOR_TYPES
from ann_bench.judge import driver, exchange
from ann_bench.sandbox import docker_session, process
from ann_bench.wire import MESSAGE_CAP, PROTOCOL, UNANSWERED, Channel
from tests.judge.ranges import range_entry
from tests.programs.data import ASKED, data_for
from tests.programs.test_programs import CLIENT
from tests.support import Bench

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "wire.md").read_text(encoding="utf-8")

#: Objects whose keys are the entry's own.
FREE = {"build", "arguments", "stats", "needs", "asked"}
BASICS = {bool: "boolean", int: "whole number", float: "number", str: "text", type(None): "null"}


def examples() -> list[dict[str, Any]]:
    """Every JSON object that stands in a block of the page."""
    found, decoder = [], json.JSONDecoder()
    for block in re.findall(r"(?:^    .*\n)+", PAGE, re.MULTILINE):
        text = block.strip()
        while text.startswith("{"):
            value, end = decoder.raw_decode(text)
            found.append(value)
            text = text[end:].strip()
        assert not text.endswith("}"), f"a block that is no JSON: {text[:80]}"
    return found


EXAMPLES = examples()
ARRAY, CSR = (next(e for e in EXAMPLES if key in e) for key in ("path", "csr"))
MESSAGES = [example for example in EXAMPLES if "type" in example]


def form(key: str, value: Any) -> Any:
    """What can be said of a value without its content."""
    if key in FREE and isinstance(value, dict):
        return "object"
    if isinstance(value, dict):
        if value.keys() in (ARRAY.keys(), CSR.keys()):
            check_array(value)
            return "array"
        return tuple(sorted((name, form(name, inner)) for name, inner in value.items()))
    if isinstance(value, list):
        return [form(key, inner) for inner in value]
    return BASICS[type(value)]


def check_array(value: dict[str, Any]) -> None:
    model = CSR if "csr" in value else ARRAY
    assert value.keys() == model.keys()
    if "csr" in value:
        assert value["csr"].keys() == model["csr"].keys()
        for part in value["csr"].values():
            check_array(part)
        assert len(value["shape"]) == 2
    else:
        assert [type(value[key]) for key in ("path", "dtype", "offset")] == [str, str, int]
        assert f"`{value['dtype']}`" in PAGE
        assert len(value["shape"]) in (1, 2)


def forms_on_the_page() -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for message in MESSAGES:
        for key, value in message.items():
            found.setdefault(key, []).append(form(key, value))
    return found


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """All that judges of this process send and receive from here on."""
    messages: list[tuple[str, dict[str, Any]]] = []
    send, receive = Channel.send, Channel.receive

    def sent(self: Channel, message: dict[str, Any]) -> None:
        messages.append(("judge", json.loads(json.dumps(message))))
        send(self, message)

    def received(self: Channel, timeout: float | None = None) -> dict[str, Any]:
        message = receive(self, timeout)
        messages.append(("worker", message))
        return message

    monkeypatch.setattr(Channel, "send", sent)
    monkeypatch.setattr(Channel, "receive", received)
    return messages


def compare(messages: list[tuple[str, dict[str, Any]]]) -> None:
    """Every message has a twin on the page: the same keys, and values of a kind that the page has under such a key."""
    known = forms_on_the_page()
    for side, message in messages:
        twins = [example.keys() for example in MESSAGES if example["type"] == message["type"]]
        if message["type"] == "hello":
            message = {key: message[key] for key in twins[0]}  # noqa: PLW2901  more keys are allowed
        assert message.keys() in twins, f"{side}: {message}"
        for key, value in message.items():
            assert form(key, value) in known[key], f"{side}: {key} of {message}"


@pytest.mark.parametrize("asked", ASKED)
def test_recorded_sessions_are_like_the_page(tmp_path: Path, asked: str, recorded: list[Any]) -> None:
    place = Bench(tmp_path, data_for(tmp_path / "data", asked), ASKED[asked])
    assert place.run(CLIENT, "--runs", "2") == 0
    compare(recorded)
    words = " ".join(message["type"] for side, message in recorded if side == "judge")
    timed = "(setup|build|insert|delete|replace|search) go"
    assert re.fullmatch(rf"create (build|setup) go set( {timed})+ stats quit", words), words
    numbers = [message["seq"] for side, message in recorded if side == "judge" and message["type"] != "go"]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("track", ["filtered", "filtered-streaming"])
def test_a_check_is_like_the_page_and_the_client_passes_it(
    track: str, recorded: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """The conformance kit saves and loads too, and has one program make many indexes."""
    words = ["check", str(CLIENT), "--track", track, "--no-recall", "--examples", "3"]
    assert main(words) == 0, capsys.readouterr().out
    compare(recorded)
    spoken = {message["type"] for side, message in recorded if side == "judge"}
    begun = {"setup", "insert", "delete", "replace"} if track.endswith("streaming") else {"build"}
    assert spoken == {"create", "set", "search", "go", "save", "load", "quit", *begun} | spoken & {"stats"}
    assert sum(message["type"] == "create" for _, message in recorded) > sum(m["type"] == "hello" for _, m in recorded)


def test_the_worker_of_python_speaks_like_the_page(tmp_path: Path, recorded: list[Any]) -> None:
    place = Bench(tmp_path, data_for(tmp_path / "data", "range"), "dense")
    assert place.run(range_entry(tmp_path / "mine", "def stats(self):\n    return {'a': 1}\n")) == 0
    assert place.run(range_entry(tmp_path / "other", "def fit(self, *given):\n    raise OSError('no')\n")) == 1
    compare([one for one in recorded if one[1]["type"] != "create"])
    assert {"error", "ready", "done", "hello"} <= {m["type"] for _, m in recorded}
    creates = [m for _, m in recorded if m["type"] == "create"]
    assert creates[0] == {**creates[0], "class": "wrapper.Entry", "needs": {"range_query": "range search"}}


def test_every_message_that_there_is_stands_on_the_page() -> None:
    serve = import_module("ann_bench.worker.serve")
    types = {message["type"] for message in MESSAGES}
    assert {*serve._UNTIMED, *serve._TIMED, "hello", "ready", "go", "done", "error", "quit"} <= types


def test_the_numbers_of_the_page() -> None:
    assert f"at most {MESSAGE_CAP:,} bytes" in PAGE
    assert f"version of this page, **{PROTOCOL}**" in PAGE
    assert UNANSWERED == -(2**63)
    assert "the least int64, -2^63" in PAGE
    assert process.START_SECONDS == docker_session.START_SECONDS == driver.START_SECONDS == 120
    assert driver.SHORT_SECONDS == 60
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| `([a-z-]+)`", PAGE.partition("### Errors")[2], re.MULTILINE))
    assert rows == {kind: status.value for kind, status in exchange.ERRORS.items()}
    assert all(f"`{name}`" in PAGE for name in VECTOR_TYPES)


def test_links_of_the_page_lead_somewhere() -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    for target in re.findall(r"\]\(([^)#]+)", PAGE):
        assert (docs / target).exists(), target
