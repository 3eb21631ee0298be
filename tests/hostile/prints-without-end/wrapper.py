"""Prints without end, to fill the disk with its log, or the memory of who reads it: lines, no lines, no text at all."""

from __future__ import annotations

import os
from typing import Any

from kit import Exact, inside_only

MEGABYTES = 48
BLOCKS = (b"y" * 2**20, b"a line of the log\n" * 2**15, bytes(range(256)) * 2**12, b"\x1b[2J\r" * 2**17)


class Entry(Exact):
    def set_query_arguments(self, **query: Any) -> None:
        inside_only()
        self.printed = 0
        for number in range(MEGABYTES):
            block = BLOCKS[number % len(BLOCKS)]
            for at in range(0, len(block), 2**16):
                self.printed += os.write(1 + number % 2, block[at : at + 2**16])
        os.write(1, b"\nthe end of the log\n")

    def stats(self) -> dict[str, Any]:
        return {"printed": self.printed}
