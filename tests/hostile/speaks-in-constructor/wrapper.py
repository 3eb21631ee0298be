"""Speaks before it is asked anything: says in its constructor all that the worker would have said later."""

from __future__ import annotations

from typing import Any

from kit import Exact, told


class Entry(Exact):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        channel = told("channel")
        for seq in range(1, 6):
            channel.send({"type": "ready", "seq": seq})
            channel.send({"type": "done", "seq": seq, "token": ""})
