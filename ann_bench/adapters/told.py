"""What an adapter is told beyond what an entry is: where the wrapper lies, and what will be asked of it."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ann_bench.algorithm import Algorithm


@dataclass(frozen=True)
class Told:
    """The wrapper's folder, and of the searches: how many queries each has, k, radius, whether they are filtered.

    `stream` says that rows come by inserts. What the judge did not say is None or False.
    """

    folder: Path
    queries: int | None = None
    k: int | None = None
    radius: float | None = None
    filtered: bool = False
    stream: bool = False

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Told:
        """From what the worker sets; keys that are not known are left out."""
        known = {name: value[name] for name in ("queries", "k", "radius", "filtered", "stream") if name in value}
        return Told(Path(value["folder"]), **known)


class Adapter(Algorithm):
    """The base of the adapters; the worker sets `told` before it makes one."""

    told: ClassVar[Mapping[str, Any]] = {}
    _folder: ClassVar[str] = ""
    _end: ClassVar[Callable[[], None] | None] = None

    def enter(self) -> Told:
        """Make a working folder of the wrapper's own, go there, and say what was told.

        Of an index that this worker made before nothing stays, neither its folder nor what it would do at the end.
        The entry's folder is taken off the path of imports: a file of a wrapper is often called like the library that
        it wraps.
        """
        told = Told.from_json(self.told)
        sys.path[:] = [place for place in sys.path if place != str(told.folder)]
        if Adapter._end is not None:
            atexit.unregister(Adapter._end)
            Adapter._end()
            Adapter._end = None
        before, Adapter._folder = Adapter._folder, tempfile.mkdtemp(prefix="wrapper-")
        os.chdir(Adapter._folder)
        if before:
            shutil.rmtree(before, ignore_errors=True)
        return told

    def at_end(self, wrapper: object) -> None:
        """Call the wrapper's `done`, where it has one, when this index is no longer wanted."""
        Adapter._end = getattr(wrapper, "done", None)
        if Adapter._end is not None:
            atexit.register(Adapter._end)
