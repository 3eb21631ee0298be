"""How many CPUs a program can have on this machine now."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

#: Busy for so long, and then says what CPU time it got.
_SECONDS = 0.15
_PROGRAM = """
import os, sys, threading, time, hashlib
os.sched_setaffinity(0, [int(one) for one in sys.argv[2].split(",")])
data = bytes(1 << 20)
stop = time.monotonic() + {seconds}
def work():
    while time.monotonic() < stop:
        hashlib.sha256(data).digest()
began, used = time.monotonic(), time.process_time()
threads = [threading.Thread(target=work) for _ in range(int(sys.argv[1]))]
[one.start() for one in threads]
[one.join() for one in threads]
sys.stdout.write(str((time.process_time() - used) / (time.monotonic() - began)))
"""


def busy(threads: int, cpus: Sequence[int]) -> float:
    """CPUs that so many threads which do nothing but compute get on these CPUs, for a moment."""
    arguments = [str(threads), ",".join(map(str, cpus))]
    program = [sys.executable, "-S", "-c", _PROGRAM.format(seconds=_SECONDS), *arguments]
    done = subprocess.run(program, capture_output=True, text=True, check=True, timeout=60)
    return max(float(done.stdout), 1e-3)
