"""A server over HTTP that belongs to an entry: started here, asked over loopback, ended with the worker."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from socket import create_connection, create_server
from typing import Any

_HERE = "127.0.0.1"
_LOG_LINES, _LOG_CHARACTERS = 3, 120


class ServerFailed(Exception):
    """The server did not start, ended, or gave an answer that is none; one line, with the last lines of its log."""


class Server:
    """The entry's server, a child of the worker, and what it has printed last."""

    def __init__(self, command: Sequence[str], port: int, folder: Path, environment: Mapping[str, str]) -> None:
        self._port = port
        self._last: deque[str] = deque(maxlen=_LOG_LINES)
        words = [word.replace("{port}", str(port)) for word in command]
        if not _is_free(port):
            raise ServerFailed(
                f"somebody listens at port {port} already; leave `port` out, and write {{port}} in `command`"
            )
        try:
            self._process = subprocess.Popen(
                words,
                cwd=folder,
                env={**os.environ, **environment, "PORT": str(port)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
        except OSError as error:
            raise ServerFailed(f"the server {words[0]} cannot be started ({error.strerror})") from error
        atexit.register(self.end)
        self._log = threading.Thread(target=self._hand_on, daemon=True)
        self._log.start()

    def wait(self, until: float) -> None:
        """Until it takes connections; ServerFailed where it ends before, or does not at this time."""
        while time.monotonic() < until:
            try:
                create_connection((_HERE, self._port), 1.0).close()
            except OSError:
                self.check()
                time.sleep(0.02)
            else:
                return
        raise self.failed(f"took no connection at port {self._port} in the time given by start_seconds")

    def check(self) -> None:
        """ServerFailed where it has ended."""
        if (code := self._process.poll()) is not None:
            self._log.join(1.0)
            raise self.failed(f"ended with exit code {code}")

    def ask(self, path: str, body: dict[str, Any]) -> Any:
        """POST, and what the answer has under the name of the path."""
        answer = self.post(path, body)
        if not isinstance(answer, dict) or path not in answer:
            raise self.failed(f"answered /{path} without the key {path!r}")
        return answer[path]

    def post(self, path: str, body: dict[str, Any], seconds: float | None = None) -> Any:
        """POST a JSON object and read one; ServerFailed for anything but that.

        Without `seconds` it is the judge that limits the time.
        """
        connection = HTTPConnection(_HERE, self._port, timeout=seconds)
        try:
            connection.request("POST", f"/{path}", json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            content = response.read()
        except TimeoutError as error:
            raise self.failed(f"did not answer /{path} in {seconds:.0f} s") from error
        except (OSError, HTTPException) as error:
            self._process_may_end()
            self.check()
            raise self.failed(f"hung up on /{path} ({type(error).__name__})") from error
        finally:
            connection.close()
        if response.status // 100 != 2:
            words = " ".join(content.decode(errors="replace").split())[:_LOG_CHARACTERS]
            raise self.failed(f"answered /{path} with status {response.status}: {words}")
        try:
            return json.loads(content)
        except ValueError as error:
            raise self.failed(f"answered /{path} with what is no JSON ({content[:40]!r})") from error

    def failed(self, what: str) -> ServerFailed:
        """The error for this, with the last lines of the log."""
        lines = " | ".join(line[:_LOG_CHARACTERS] for line in self._last)
        return ServerFailed(f"the server {what}" + (f"; its log ends: {lines}" if lines else "; its log is empty"))

    def end(self) -> None:
        """End it, and all that waits for its end."""
        atexit.unregister(self.end)
        self._process.kill()
        self._process.wait()

    def _process_may_end(self) -> None:
        try:
            self._process.wait(0.2)
        except subprocess.TimeoutExpired:
            return

    def _hand_on(self) -> None:
        """What the server prints goes into the worker's log."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.strip():
                self._last.append(line.strip())
            sys.stderr.write(line)


def _is_free(port: int) -> bool:
    try:
        create_server((_HERE, port)).close()
    except OSError:
        return False
    return True


def free_port() -> int:
    """A port of loopback that nobody listens at."""
    with create_server((_HERE, 0)) as listener:
        return int(listener.getsockname()[1])
