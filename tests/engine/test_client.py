"""Reaching the engine: quickly, or one line that says why not and what to do."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ann_bench.engine import client
from ann_bench.engine.client import DISK_FULL, connect, engine_errors
from ann_bench.errors import EngineError

TRY = "try: connect()\nexcept Exception as e: print(f'{type(e).__name__}: {e}')"
IMPORT = "from ann_bench.engine.client import connect"


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Short enough for the name of a socket."""
    return tmp_path_factory.mktemp("s")


class Server:
    """A socket that somebody listens at, who answers with these bytes, or never."""

    def __init__(self, path: Path, answer: bytes | None) -> None:
        self.answer = answer
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.bind(str(path))
        self.socket.listen()
        self.open: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.open.append(connection)
            if self.answer is not None:
                connection.recv(1000)
                connection.sendall(self.answer)
                connection.close()

    def close(self) -> None:
        for one in (self.socket, *self.open):
            one.close()


def failure(monkeypatch: pytest.MonkeyPatch, host: str) -> str:
    """The line that connecting to this DOCKER_HOST ends with."""
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(EngineError) as caught:
        connect()
    line = str(caught.value)
    assert len(line.splitlines()) == 1
    return line


def test_no_engine(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    line = failure(monkeypatch, f"unix://{folder}/none.sock")
    assert line.startswith(f"no container engine at {folder}/none.sock: start one")
    assert "--sandbox process" in line


def test_a_socket_that_nobody_listens_at(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(folder / "dead.sock"))
    assert "start one" in failure(monkeypatch, f"unix://{folder}/dead.sock")


def test_no_engine_costs_no_import(folder: Path) -> None:
    program = f"{IMPORT}\n{TRY}\nimport sys; print('docker' in sys.modules)"
    environment = {**os.environ, "DOCKER_HOST": f"unix://{folder}/none.sock"}
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    assert output.stdout.splitlines()[-1] == "False"


def test_an_engine_that_hangs(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(client, "PING_SECONDS", 0.3)
    server = Server(folder / "h.sock", None)
    began = time.monotonic()
    assert "does not answer" in failure(monkeypatch, f"unix://{folder}/h.sock")
    assert time.monotonic() - began < 5
    server.close()


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", "is no container engine"),
        (b"", "is no container engine"),
        (b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n", "is not well (500)"),
    ],
)
def test_something_else_answers(monkeypatch: pytest.MonkeyPatch, folder: Path, answer: bytes, says: str) -> None:
    server = Server(folder / "x.sock", answer)
    assert says in failure(monkeypatch, f"unix://{folder}/x.sock")
    server.close()


@pytest.fixture
def locked(folder: Path) -> Iterator[Path]:
    path = folder / "locked.sock"
    server = Server(path, b"")
    path.chmod(0o600)
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.getuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    yield path
    server.close()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_no_permission(locked: Path) -> None:
    program = f"{IMPORT}\nimport os; os.setgroups([]); os.setgid(65534); os.setuid(65534)\n{TRY}"
    environment = {**os.environ, "DOCKER_HOST": f"unix://{locked}"}
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    (line,) = ended.stdout.splitlines()
    assert line.startswith(f"EngineError: no permission for the container engine at {locked}: ")
    assert "only root may use it" in line


def test_who_may_use_the_socket(tmp_path: Path) -> None:
    assert "docker" in client._who_may(str(tmp_path / "none"))
    (tmp_path / "s").touch()
    assert "may use it" in client._who_may(str(tmp_path / "s"))


@pytest.mark.parametrize("host", ["tcp://10.1.2.3:2375", "ssh://me:secret@host", "https://host.example:2376"])
def test_an_engine_elsewhere(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    line = failure(monkeypatch, host)
    assert "on another machine" in line
    assert "secret" not in line


@pytest.mark.parametrize("host", ["nonsense", "unix://", "fd://x", "npipe:////./pipe/docker", "tcp://localhost:port"])
def test_no_address(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    assert f"DOCKER_HOST={host} is no address of an engine" in failure(monkeypatch, host)


def test_an_engine_over_tcp_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert "connecting to tcp://" in failure(monkeypatch, f"tcp://127.0.0.1:{port}")


@pytest.mark.parametrize(
    ("raised", "says"),
    [
        ("docker.errors.APIError('x', explanation='write /a: no space left on device')", DISK_FULL),
        ("docker.errors.APIError('x', explanation='it\\ncannot be')", "the container engine says: it cannot be"),
        ("requests.exceptions.ReadTimeout('x')", "does not answer"),
        ("requests.exceptions.ConnectionError('x')", "went away"),
        ("urllib3.exceptions.ProtocolError('x')", "went away"),
        ("docker.errors.DockerException('x')", "making it: x"),
    ],
)
def test_errors_of_the_sdk(raised: str, says: str) -> None:
    import docker.errors
    import requests.exceptions
    import urllib3.exceptions

    names = {"docker": docker, "requests": requests, "urllib3": urllib3}
    with pytest.raises(EngineError, match=r"^making it: ") as caught, engine_errors("making it"):
        raise eval(raised, names)
    assert says in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_our_own_errors_pass() -> None:
    with pytest.raises(ZeroDivisionError), engine_errors("making it"):
        raise ZeroDivisionError


@pytest.mark.docker
def test_the_engine_of_this_machine(engine: object) -> None:
    found = connect()
    assert found.api.ping()
    assert found.api.timeout == client.REQUEST_SECONDS
    found.close()
