"""Hangs and is deaf to every signal that can be ignored; its children hang with it, in sessions of their own."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Any

from kit import Exact


class Entry(Exact):
    def query(self, queries: Any, k: int, tags: Any = None) -> Any:
        for number in range(1, signal.NSIG):
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_IGN)
        with contextlib.suppress(OSError, ValueError):
            signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))
        for _ in range(3):
            if os.fork() == 0:
                os.setsid()
                break
        while True:
            time.sleep(1)
