"""Allocates without end. `how`: slowly, at once, shared, in files, in children, in the kernel's memory."""

from __future__ import annotations

import mmap
import os
import socket
import time
from typing import Any

import numpy as np
from kit import Exact, inside_only

BLOCK = 2**20
#: Were there no limit, this is where it would end.
MOST = 3000


class Entry(Exact):
    def set_query_arguments(self, how: str) -> None:
        self.how = how

    def query(self, queries: Any, k: int, tags: Any = None) -> Any:
        inside_only()
        getattr(self, self.how.replace(" ", "_"))()
        return self.exact(queries, k, tags)

    def slowly(self) -> None:
        self.held = []
        for _ in range(MOST):
            self.held.append(np.ones(4 * BLOCK, dtype=np.uint8))
            time.sleep(0.01)

    def at_once(self) -> None:
        self.held = [np.ones(MOST * BLOCK, dtype=np.uint8)]

    def shared(self) -> None:
        memory = mmap.mmap(-1, MOST * BLOCK)
        for at in range(0, len(memory), BLOCK):
            memory[at : at + BLOCK] = b"x" * BLOCK

    def in_files(self) -> None:
        """A file without a name, on no disk at all."""
        file = os.memfd_create("hostile")
        for _ in range(MOST):
            os.write(file, b"x" * BLOCK)

    def in_children(self) -> None:
        for _ in range(40):
            if os.fork() == 0:
                held = np.ones(16 * BLOCK, dtype=np.uint8)
                time.sleep(3600)
                os._exit(int(held[0]))
        time.sleep(3600)

    def in_the_kernel(self) -> None:
        """Pairs of sockets, each with as much in it as it takes."""
        self.held_sockets = []
        for _ in range(100_000):
            one, other = socket.socketpair()
            one.setblocking(False)
            self.held_sockets.append((one, other))
            try:
                while True:
                    one.send(b"x" * 65536)
            except BlockingIOError:
                pass
