"""Sends what is no message where `done` is awaited. `how` names what it sends instead."""

from __future__ import annotations

from typing import Any

from kit import Exact, told

LINES = {
    "no json": b"{{{ garbage",
    "half of it": b'{"type": "done", "seq":',
    "deep": b"[" * 60_000,
    "no object": b'["done"]',
    "no type": b'{"seq": 1}',
    "a type that is no word": b'{"type": {"type": "done"}}',
    "no text": b'{"type": "\xff\xfe"}',
    "a long number": b'{"type": "done", "seq": 1' + b"0" * 50_000 + b"}",
    "nan": b'{"type": "done", "seq": NaN}',
    "no line at all": b"\x00" * 60_000,
}


class Entry(Exact):
    def set_query_arguments(self, how: str) -> None:
        self.how = how

    def query(self, queries: Any, k: int, tags: Any = None) -> Any:
        told("channel")._socket.sendall(LINES[self.how] + b"\n")
        return self.exact(queries, k, tags)
