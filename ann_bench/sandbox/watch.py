"""The judge's end of the pipe to the keeper of a container."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ann_bench.sandbox.base import SandboxLost

#: The keeper answers at once; a machine that is busy beyond measure may need this long.
ANSWER_SECONDS = 20.0

_WATCH = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); sys.path.append(sys.argv[2]); "
    "from ann_bench.keeper import watch; watch()"
)


class Keeper:
    """Looks at a container from outside; ends it, and removes these folders, where this process is no more."""

    def __init__(self, container: str, memory_bytes: int, ended: Path, folders: Sequence[Path]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _WATCH, json.dumps(sys.path), str(Path(__file__).resolve().parents[2])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        self._pending = b""
        order = {"container": container, "memory_bytes": memory_bytes, "ended": str(ended)}
        self._tell(json.dumps({**order, "remove": [str(folder) for folder in folders]}))

    def ask(self, command: str) -> dict[str, Any]:
        """Its answer to `watch PID` or `reading`; SandboxLost where it gives none."""
        self._tell(command)
        while b"\n" not in self._pending:
            ready, _, _ = select.select([self._from], [], [], ANSWER_SECONDS)
            data = os.read(self._from.fileno(), 65536) if ready else b""
            if not data:
                raise SandboxLost
            self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def end(self, *, container_is_gone: bool) -> None:
        """Let it go; where the container is still there, its last act is to end it."""
        with contextlib.suppress(SandboxLost):
            if container_is_gone:
                self._tell("stop")
        with contextlib.suppress(BrokenPipeError):
            self._to.close()
        self._from.close()
        self._process.wait()

    def _tell(self, line: str) -> None:
        try:
            self._to.write(line.encode() + b"\n")
            self._to.flush()
        except (BrokenPipeError, ValueError):
            raise SandboxLost from None
