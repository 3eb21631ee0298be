"""Writes where only process 1 should: its own exit code, or the word that ends the container, before it has ended.

`how`: `crashed` says that it has ended while it works on; `left` lets the container go at once when the worker dies, so
that nobody can read what it has used, and then outgrows its memory.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from kit import Exact, inside_only, told


class Entry(Exact):
    def set_query_arguments(self, how: str) -> None:
        self.how = how

    def query(self, queries: Any, k: int, tags: Any = None) -> Any:
        inside_only()
        folder = Path(told("address")).parent
        file = os.open(folder / ("ended" if self.how == "crashed" else "leave"), os.O_WRONLY | os.O_NONBLOCK)
        os.write(file, b"0\n")
        if self.how == "left":
            return np.ones(2**31, dtype=np.uint8)
        return self.exact(queries, k, tags)
