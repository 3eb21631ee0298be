"""Programs that several threads wait for: their output line by line, and an end to all of them at once."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from ann_bench.errors import AnnBenchError


class Ended(AnnBenchError):
    """Somebody has ended the work."""


class Children:
    """The programs that run now, each with all that it starts."""

    def __init__(self) -> None:
        self._ended = False
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()

    def run(self, words: Sequence[str], environment: Mapping[str, str], read: Callable[[str], None]) -> int:
        """Run a program to its end, each line that it prints handed to `read`; its exit code. Raises Ended."""
        process = self._start(words, environment)
        try:
            for line in process.stdout or ():
                read(line.rstrip("\n"))
            code = process.wait()
        finally:
            _kill(process)
            if process.stdout is not None:
                process.stdout.close()
            with self._lock:
                self._running.discard(process)
        if self._ended:
            raise Ended("ended before it was done")
        return code

    def end(self) -> None:
        """End every program, and let none begin."""
        with self._lock:
            self._ended = True
            for process in self._running:
                _kill(process)

    def _start(self, words: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[str]:
        with self._lock:
            if self._ended:
                raise Ended("ended before it was done")
            process = subprocess.Popen(
                list(words),
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,  # Ctrl-C is ours to handle, and compilers end with their pip
            )
            self._running.add(process)
            return process


def _kill(process: subprocess.Popen[str]) -> None:
    """End a program and what it has started; one that has been waited for is no more."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
