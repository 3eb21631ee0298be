"""The wire between judge and worker: one JSON object a line over a Unix socket, size-capped, never pickle.

Arrays do not travel here; they lie in files that both sides map (`ann_bench.arrays`).

    judge                                        worker
                                                 {"type": "hello", "protocol": 1, ...}
    {"type": "create", "seq": 1, ...}            {"type": "done", "seq": 1}
    {"type": "build" | "setup" | "insert" | "delete" | "replace" | "search", "seq": n, ...}
                                                 {"type": "ready", "seq": n}
    {"type": "go", "seq": n, "token": t}         {"type": "done", "seq": n, "token": t}
    {"type": "set" | "stats", "seq": n, ...}     {"type": "done", "seq": n, ...}
    {"type": "save" | "load", "seq": n, "folder": path}
                                                 {"type": "done", "seq": n, "supported": true | false}
    {"type": "quit", "seq": n}                   (exits)

Instead of `ready` or `done` a worker may answer {"type": "error", "seq": n, "kind": ..., "text": ...}, where
kind is `exception`, `memory` or `invalid-answer`.

`save` writes the index into an empty folder, `load` reads what `save` has written there, in another process as a
rule, and takes the place of the build: searches may follow. A worker that can do neither says `"supported": false`.
`"strided": true` in `create` lets Python's worker hand out dense vectors with gaps between the values; no run has it.

Queries one by one, many of them in flight, for a worker whose hello says `"asks": true`:

    {"type": "serve", "seq": n, ...}             {"type": "ready", "seq": n}
    {"type": "ask", "seq": n + 1 + i, "row": i}  {"type": "answered", "seq": n + 1 + i}, in any order
    {"type": "rest", "seq": m}                   {"type": "done", "seq": m}
"""

from __future__ import annotations

import json
import select
import socket
import time
from typing import Any

PROTOCOL = 1

#: No message is longer than this, in bytes.
MESSAGE_CAP = 64 * 1024

#: What every cell of an answer file holds until the worker has written it. No id is this small, so an answer
#: file that still holds it when `done` arrives was not answered.
UNANSWERED = -(2**63)

#: `poll` counts milliseconds; what is shorter than this is waited for with `select`.
_COARSE = 0.002

Message = dict[str, Any]


class WireError(Exception):
    """The other side broke the protocol."""


class WireClosed(Exception):
    """The other side is gone."""


class WireTimeout(Exception):
    """Nothing came in time."""


class Channel:
    """One end of the wire.

    `wake` is a second file descriptor to wait on: when it becomes readable before a message has come, the
    other side is taken for gone, although one of its children may still hold the socket open.
    """

    def __init__(self, connection: socket.socket, wake: int | None = None) -> None:
        self._socket = connection
        self._wake = wake
        self._pending = b""
        self._unsent = bytearray()
        self._poll = select.poll()
        self._poll.register(connection, select.POLLIN)
        if wake is not None:
            self._poll.register(wake, select.POLLIN)

    def send(self, message: Message) -> None:
        """Send one message; WireError where it is too long, WireClosed where nobody listens."""
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        if len(line) > MESSAGE_CAP:
            raise WireError(f"a message of {len(line):,} bytes is longer than {MESSAGE_CAP:,}")
        try:
            self._socket.sendall(line)
        except OSError as error:
            raise WireClosed(str(error)) from error

    def receive(self, timeout: float | None = None) -> Message:
        """The next message; WireTimeout after `timeout` seconds, WireClosed, or WireError for anything odd."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while b"\n" not in self._pending:
            if len(self._pending) > MESSAGE_CAP:
                raise WireError(f"a message longer than {MESSAGE_CAP:,} bytes")
            self._pending += self._read(deadline)
        line, _, self._pending = self._pending.partition(b"\n")
        return _parse(line)

    def _read(self, deadline: float | None) -> bytes:
        if deadline is None and self._wake is None:  # nothing else to wait for: one system call less
            return self._received(0)
        left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
        ready = dict(self._poll.poll(left))
        if self._socket.fileno() in ready:
            return self._received(0)
        if ready:
            raise WireClosed("the process ended")
        raise WireTimeout

    def _received(self, flags: int) -> bytes:
        """What has come; BlockingIOError where nothing has and the flags say not to wait."""
        try:
            data = self._socket.recv(MESSAGE_CAP, flags)
        except BlockingIOError:
            raise
        except OSError as error:
            raise WireClosed(str(error)) from error
        if not data:
            raise WireClosed("the connection was closed")
        return data

    def post(self, line: bytes) -> None:
        """Send a line without waiting; what does not go now goes with the next `post` or `collect`."""
        waiting = bool(self._unsent)
        self._unsent += line
        if not waiting:
            self._flush()

    def collect(self, timeout: float, awake: float = 0.0) -> list[Message]:
        """All the messages that have come; waits for the first of them up to `timeout` seconds, exact to microseconds.

        Of that it stays `awake` for so many seconds at first, since being woken takes a while. Raises WireClosed, or
        WireError for anything odd.
        """
        data = self._looked_for(min(awake, timeout)) if awake > 0 else b""
        if not data and timeout > awake:
            self._wait(timeout - awake)
        if self._unsent:
            self._flush()
        data = data or self._at_once()
        if not data:
            return []
        *lines, self._pending = (self._pending + data).split(b"\n")
        if len(self._pending) > MESSAGE_CAP:
            raise WireError(f"a message longer than {MESSAGE_CAP:,} bytes")
        return [_parse(line) for line in lines]

    def _looked_for(self, seconds: float) -> bytes:
        """What comes within so many seconds, without sleeping."""
        until = time.perf_counter() + seconds
        while not (data := self._at_once()) and time.perf_counter() < until:
            if self._unsent:
                self._flush()
        return data

    def _at_once(self) -> bytes:
        """What is there already."""
        try:
            return self._received(socket.MSG_DONTWAIT)
        except BlockingIOError:
            return b""

    def _wait(self, timeout: float) -> None:
        """Until something can be read (or what is unsent be sent); WireClosed where the other side is gone."""
        if timeout >= _COARSE and not self._unsent:
            ready = [file for file, _ in self._poll.poll(int(timeout * 1000))]
        else:
            files = [self._socket.fileno(), *([] if self._wake is None else [self._wake])]
            ready = select.select(files, files[:1] if self._unsent else [], [], timeout)[0]
        if self._wake in ready and self._socket.fileno() not in ready:
            raise WireClosed("the process ended")

    def _flush(self) -> None:
        try:
            with memoryview(self._unsent) as unsent:
                sent = self._socket.send(unsent[:MESSAGE_CAP], socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError as error:
            raise WireClosed(str(error)) from error
        del self._unsent[:sent]

    def unread(self) -> bool:
        """Whether something has come that nobody asked for; WireClosed where the other side is gone."""
        if self._pending:
            return True
        if not select.select([self._socket], [], [], 0)[0]:
            return False
        try:
            waiting = self._socket.recv(1, socket.MSG_PEEK)
        except OSError as error:
            raise WireClosed(str(error)) from error
        if not waiting:
            raise WireClosed("the connection was closed")
        return True

    def wait(self, timeout: float) -> bool:
        """Whether, within so many seconds, something has come or the other side is gone: `receive` tells which."""
        return b"\n" in self._pending or bool(self._poll.poll(max(0.0, timeout) * 1000))

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


def _parse(line: bytes) -> Message:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise WireError(f"not a JSON line: {line[:60]!r}") from error
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise WireError(f"not a message: {line[:60]!r}")
    return message
