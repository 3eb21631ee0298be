"""Replaces the answers after `done`, from a child and by the file's name: other bytes, another length, another file."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from kit import Attempts, Exact, scratch, told

SECONDS = 0.5


class Entry(Exact):
    def query(self, queries: Any, k: int, tags: Any = None) -> Any:
        path = Path(told("message")["answers"]["path"])
        answers = self.exact(queries, k, tags).astype("<i8").tobytes()
        self.log = scratch() / "written"
        with path.open("r+b", buffering=0) as file:  # held open, so that it can be written when its name is gone
            if os.fork() == 0:
                try:
                    self.replace(file.fileno(), path, answers)
                finally:
                    os._exit(0)
        return np.full((len(queries), k), -1)

    def replace(self, file: int, path: Path, answers: bytes) -> None:
        attempts = Attempts()
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            time.sleep(0.01)
            attempts.make("its bytes", os.pwrite, file, answers, 0)
            attempts.make("its length", os.ftruncate, file, len(answers) * 2)
            attempts.make("another file", path.with_name("other").write_bytes, answers)
            attempts.make("another name", path.rename, path.with_name("renamed"))
        with self.log.open("a", encoding="utf-8") as log:
            log.write("\n".join(attempts.reached) + "\n")

    def stats(self) -> dict[str, Any]:
        while True:  # until all of them have ended
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                break
        lines = self.log.read_text(encoding="utf-8").split("\n")
        return {what.replace(" ", "_"): lines.count(what) for what in ("its bytes", "another file", "another name")}
