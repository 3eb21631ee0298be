"""What the tests of queries one by one share."""

from __future__ import annotations

#: Put at the top of an entry: the wire from inside the worker, as an entry that means ill finds it.
WIRE = """
import json, os, stat, threading, time

def say(**message):
    for fd in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                os.write(fd, json.dumps(message).encode() + b"\\n")
        except OSError:
            pass

def asked():
    # the ask that this thread answers, read from the worker's own frames
    import inspect
    for frame in inspect.stack():
        if "ask" in frame.frame.f_locals:
            return frame.frame.f_locals["ask"]
"""

#: Entries that answer one query at a time; the control batch comes the same way.
QUERY = "def query(self, queries, k, tags=None):\n    "
