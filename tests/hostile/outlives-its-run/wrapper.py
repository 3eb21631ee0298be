"""Outlives its run: children in sessions of their own, a thread that is no daemon, a worker that does not leave."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import threading
import time
from typing import Any

from kit import Exact

#: The test looks for processes with this word.
WORD = "ann-bench-" + "outliving"
SECONDS = "987"


class Entry(Exact):
    def fit(self, base: Any, tags: Any = None, learn: Any = None) -> None:
        super().fit(base, tags, learn)
        self.started = 0
        for detached in (False, True):
            subprocess.Popen(
                ["sleep", SECONDS], env={"WORD": WORD}, start_new_session=detached, stdout=subprocess.DEVNULL
            )
            self.started += 1
        self.orphans()
        threading.Thread(target=time.sleep, args=(float(SECONDS),)).start()
        atexit.register(time.sleep, float(SECONDS))

    def orphans(self) -> None:
        """Fork twice, so that nobody is its parent any more."""
        child = os.fork()
        if child == 0:
            if os.fork() == 0:
                os.setsid()
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                os.execvpe("sleep", ["sleep", SECONDS], {"WORD": WORD, "PATH": os.environ["PATH"]})
            os._exit(0)
        os.waitpid(child, 0)
        self.started += 1

    def stats(self) -> dict[str, Any]:
        return {"started": self.started}
