"""The worker: the only code of the project that runs inside the sandbox, beside the entry.

It imports `workload`-level code only (`algorithm`, `arrays`, `wire`): numpy and scipy are all it needs. The
judge trusts nothing that it says: times are taken, answers are checked and results are written elsewhere.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from ann_bench.wire import Channel
from ann_bench.worker.serve import serve


def main(address: str) -> None:
    """Connect to the judge's socket at `address` and serve one entry until told to quit."""
    sys.path[:] = [p for p in sys.path if p not in ("", str(Path.cwd()))]
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(address)
    serve(Channel(connection))
    sys.stdout.flush()
    sys.stderr.flush()
