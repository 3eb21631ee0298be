"""Where the judge sits while it times single queries: apart from the entry, and undisturbed by itself."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
from collections.abc import Iterator, Sequence

#: How late a timed wait may end, in nanoseconds: the kernel's usual 50 microseconds would delay scheduled queries.
_SLACK_NS = 1000
_PR_SET_TIMERSLACK = 29


@contextlib.contextmanager
def seated(worker: Sequence[int]) -> Iterator[bool]:
    """Keep this thread off the worker's CPUs, where there are others, and its garbage collector still.

    Gives whether there are others.
    """
    apart, usual = False, None
    with contextlib.suppress(AttributeError, OSError):
        usual = os.sched_getaffinity(0)
        if own := usual - set(worker):
            os.sched_setaffinity(0, own)
            apart = True
    _timer_slack(_SLACK_NS)
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield apart
    finally:
        if collecting:
            gc.enable()
        _timer_slack(0)  # the default again
        if apart and usual is not None:
            os.sched_setaffinity(0, usual)


def _timer_slack(nanoseconds: int) -> None:
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, nanoseconds)
