"""What the worker's processes print, but not more of it than anybody reads."""

from __future__ import annotations

import os

LOG_PART = 32 * 1024


class Log:
    """The start and the end of what the tree printed."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.head = b""
        self.tail = b""
        self.total = 0
        os.set_blocking(fd, False)

    def drain(self, most: int = 64) -> bool:
        """Read what is there; False at the end of the file."""
        for _ in range(most):
            try:
                data = os.read(self.fd, 65536)
            except BlockingIOError:
                return True
            if not data:
                return False
            self.total += len(data)
            room = LOG_PART - len(self.head)
            self.head += data[:room]
            self.tail = (self.tail + data[room:])[-LOG_PART:] if room < len(data) else self.tail
        return True

    def text(self) -> str:
        """Head and tail, with a line between them that says how much was left out."""
        left_out = self.total - len(self.head) - len(self.tail)
        gap = f"\n... {left_out:,} bytes left out ...\n".encode() if left_out > 0 else b""
        return (self.head + gap + self.tail).decode(errors="replace")
