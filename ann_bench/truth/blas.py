"""One thread for each matrix product: truth shares its work among threads of its own.

OpenBLAS, which numpy's wheels bring, starts threads inside each product. With several products at once they fight
for the cores: on a busy machine small products then take ten times as long. Where another BLAS is in use nothing
is changed; answers are the same either way.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

_NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads64_")
_MAPS = Path("/proc/self/maps")


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, the process's OpenBLAS libraries use one thread each; afterwards as many as before."""
    before = [(setter, getter()) for getter, setter in _controls()]
    for setter, _ in before:
        setter(1)
    try:
        yield
    finally:
        for setter, count in before:
            setter(count)


@cache
def _controls() -> list[tuple[ctypes._NamedFuncPointer, ctypes._NamedFuncPointer]]:
    """The functions that get and set the number of threads of each OpenBLAS library that is loaded."""
    try:
        maps = _MAPS.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []  # no Linux
    paths = sorted({line[line.index("/") :] for line in maps.splitlines() if "openblas" in line and "/" in line})
    found = []
    for path in paths:
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        for name in (*_NAMES, "openblas_{}_num_threads"):
            if hasattr(library, name.format("get")) and hasattr(library, name.format("set")):
                found.append((getattr(library, name.format("get")), getattr(library, name.format("set"))))
                break
    return found
