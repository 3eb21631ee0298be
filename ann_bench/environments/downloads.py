"""One pip at a time may download, so that what several entries need comes over the network once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: What pip says when it has all that it needs: what follows is unpacking.
_COMPLETE = "Installing collected packages"


class Downloads:
    """Turns of several pips that share a cache: each finds there what the one before has brought."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    @contextmanager
    def turn(self) -> Iterator[Callable[[str], None]]:
        """Wait for a turn; the function takes each line that pip prints, and ends the turn once all is downloaded."""
        held = self._lock.acquire()

        def read(line: str) -> None:
            nonlocal held
            if held and line.startswith(_COMPLETE):
                held = False
                self._lock.release()

        try:
            yield read
        finally:
            if held:
                self._lock.release()
