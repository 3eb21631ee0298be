"""A web server that serves one file, well or badly."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Host:
    """What is served, how, and what was asked."""

    content: bytes
    name: str = "data.bin"
    ranges: bool = True
    validators: bool = True
    etag: str | None = None  # None: follows from the content
    statuses: list[int] = field(default_factory=list)  # answered first, one a request
    cuts: list[int] = field(default_factory=list)  # bytes of the body after which the connection closes, one a request
    stalls: list[int] = field(default_factory=list)  # the same, but the connection stays open and silent
    lie: int = 0  # added to Content-Length
    modified: str | None = None  # Last-Modified; left out of replies with a part, as RFC 9110, 15.3.7 allows
    shift: int = 0  # a part begins that many bytes from where it was asked for, and says so
    chunked: bool = False
    ignore_if_range: bool = False
    after: Callable[[Host], None] = lambda host: None
    asked: list[str] = field(default_factory=list)
    conditions: list[str | None] = field(default_factory=list)  # the If-Range of each request
    served: int = 0
    port: int = 0
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/files/{self.name}?version=1"

    @property
    def tag(self) -> str:
        return self.etag or f'"{hashlib.sha256(self.content).hexdigest()[:8]}"'


class _Handler(BaseHTTPRequestHandler):
    host: Host

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        host = self.host
        wanted = self.headers.get("Range")
        host.asked.append(wanted or "all")
        if host.statuses and (status := host.statuses.pop(0)) != 200:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body, content_range = self._body(host, wanted)
        if body is None:
            self.send_response(416)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self._send(host, body, content_range)
        host.after(host)

    def _body(self, host: Host, wanted: str | None) -> tuple[bytes | None, str | None]:
        condition = self.headers.get("If-Range")
        host.conditions.append(condition)
        fits = condition in (None, host.tag, host.modified) or host.ignore_if_range
        found = re.fullmatch(r"bytes=(\d+)-(\d*)", wanted or "")
        if not (found and host.ranges and fits):
            return host.content, None
        start = int(found[1]) + host.shift
        stop = min(int(found[2]) + 1 if found[2] else len(host.content), len(host.content))
        if start >= stop:
            return None, None
        return host.content[start:stop], f"bytes {start}-{stop - 1}/{len(host.content)}"

    def _send(self, host: Host, body: bytes, content_range: str | None) -> None:
        self.send_response(206 if content_range else 200)
        if content_range:
            self.send_header("Content-Range", content_range)
        if host.validators:
            self.send_header("ETag", host.tag)
        if host.modified and not content_range:
            self.send_header("Last-Modified", host.modified)
        if not host.chunked:
            self.send_header("Content-Length", str(len(body) + (0 if content_range else host.lie)))
        self.end_headers()
        cut = host.cuts.pop(0) if host.cuts else len(body)
        stall = host.stalls.pop(0) if host.stalls else None
        sent = body[: min(cut, len(body) if stall is None else stall)]
        try:
            for start in range(0, len(sent), 65536):
                self.wfile.write(sent[start : start + 65536])
                host.served += len(sent[start : start + 65536])
        except (BrokenPipeError, ConnectionResetError):
            return
        if stall is not None:
            self.wfile.flush()
            host.stop.wait(5)


@contextmanager
def serving(host: Host) -> Iterator[Host]:
    """Serve until the block ends."""
    handler = type("Handler", (_Handler,), {"host": host})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = False
    host.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield host
    finally:
        host.stop.set()
        time.sleep(0.01)
        server.shutdown()
        thread.join()
        server.server_close()
