"""Sends a message of 2 GB, to fill the judge's memory. `how`: a line, a message, its stats."""

from __future__ import annotations

import sys
from typing import Any

from kit import Exact, told

WHOLE = 2 * 2**30
BLOCK = b"x" * 2**16


class Entry(Exact):
    def set_query_arguments(self, how: str) -> None:
        self.how = how

    def query(self, queries: Any, k: int, tags: Any = None) -> Any:
        if self.how != "its stats":
            send(b'{"type":"done","padding":"' if self.how == "a message" else b"")
        return self.exact(queries, k, tags)

    def stats(self) -> dict[str, Any]:
        send(b'{"type":"done","stats":{"padding":"')
        return {}


def send(start: bytes) -> None:
    """As the worker's own answer."""
    sock = told("channel")._socket
    sock.sendall(start)
    for _ in range(WHOLE // len(BLOCK)):
        sock.sendall(BLOCK)
    sys.stdout.write(f"all {WHOLE:,} bytes were taken\n")
    sock.sendall(b'"}\n')
