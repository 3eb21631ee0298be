"""Forks without end: as it is built it counts how many children and threads there may be, then it forks for good.

`how`: `quietly` only answers, `without end` forks until it is ended, and so do its children.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

from kit import Exact, inside_only, why

MOST = 20_000


class Entry(Exact):
    def fit(self, base: Any, tags: Any = None, learn: Any = None) -> None:
        inside_only()
        super().fit(base, tags, learn)
        self.refused: list[str] = []
        self.children = self.count_children()
        self.threads_made = self.count_threads()

    def set_query_arguments(self, how: str) -> None:
        self.how = how

    def query(self, queries: Any, k: int, tags: Any = None) -> Any:
        if self.how == "without end":
            self.without_end()
        return self.exact(queries, k, tags)

    def count_children(self) -> int:
        children = []
        try:
            while len(children) < MOST:
                pid = os.fork()
                if pid == 0:
                    signal.pause()
                    os._exit(0)
                children.append(pid)
        except OSError as error:
            self.refused.append(why(error))
        for pid in children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        return len(children)

    def count_threads(self) -> int:
        enough = threading.Event()
        threading.stack_size(64 * 1024)
        threads: list[threading.Thread] = []
        try:
            while len(threads) < MOST:
                thread = threading.Thread(target=enough.wait, daemon=True)
                thread.start()
                threads.append(thread)
        except RuntimeError as error:
            self.refused.append(str(error))
        enough.set()
        for thread in threads:
            thread.join()
        return len(threads)

    def without_end(self) -> None:
        """Deaf to what would end it, in sessions of their own."""
        while True:
            try:
                if os.fork() == 0:
                    signal.signal(signal.SIGTERM, signal.SIG_IGN)
                    os.setsid()
            except OSError:
                time.sleep(0.01)

    def stats(self) -> dict[str, Any]:
        return {"children": self.children, "threads": self.threads_made, "refused": ", ".join(self.refused)}
