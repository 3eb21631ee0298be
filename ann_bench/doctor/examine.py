"""All checks, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

from ann_bench.doctor import occupancy, processor, speed
from ann_bench.doctor.finding import Finding, unknown
from ann_bench.doctor.system import System

#: How long is listened to what others do.
LISTEN_SECONDS = 2.0


def examine(system: System, threads: int, *, listen: float = LISTEN_SECONDS) -> Iterator[Finding]:
    """Every finding as it comes. A check that fails says so, and the others go on."""
    before = occupancy.moment(system)
    time.sleep(listen)
    watched = occupancy.Watched(before, occupancy.moment(system))
    checks: list[tuple[str, Callable[[], Finding]]] = [
        ("other work", partial(occupancy.other_work, watched)),
        ("steal", partial(occupancy.steal, watched)),
        ("swap", partial(occupancy.swap, system, watched)),
        ("memory", partial(occupancy.free_memory, system)),
        ("limits", partial(occupancy.limits, watched)),
        *((check.__name__, partial(check, system)) for check in processor.CHECKS),
        ("memory bandwidth", partial(speed.bandwidth, threads)),
        ("dot products", partial(speed.products, threads)),
    ]
    for name, check in checks:
        try:
            yield check()
        except (OSError, ValueError, MemoryError) as error:
            yield unknown(name.replace("_", " "), "", f"could not be read ({error})")
