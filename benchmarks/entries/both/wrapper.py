"""One entry, one index, two ways to call it: through the judge, or in a bare loop that times itself.

For a bare call the queries are copied into memory of this process first; benchmarks/harness.py holds the keeper of the
sandbox still, so that nothing of the harness runs beside the call.
"""

import importlib
import sys
import time
from pathlib import Path

from ann_bench import Algorithm


class Both(Algorithm):
    """Wraps the class `name` of the entry in the folder `inner` beside this file."""

    def __init__(self, metric, dim, dtype, threads, name, inner):
        super().__init__(metric, dim, dtype, threads)
        sys.path.insert(0, str(Path(__file__).parent / "inner"))
        sys.modules.pop("wrapper", None)
        module, _, class_name = name.rpartition(".")
        self.entry = getattr(importlib.import_module(module), class_name)(metric, dim, dtype, threads, **inner)
        self.bare = False
        self.seconds = 0.0

    def fit(self, base, tags=None, learn=None):
        """Build the one index."""
        self.entry.fit(base, tags)

    def set_query_arguments(self, bare, inner):
        """Choose the way to call."""
        self.bare = bare
        self.entry.set_query_arguments(**inner)

    def query(self, queries, k, tags=None):
        """Answer; a bare call takes its own time."""
        if not self.bare:
            return self.entry.query(queries, k, tags)
        queries, tags = queries.copy(), tags.copy()
        start = time.perf_counter()
        answers = self.entry.query(queries, k, tags)
        self.seconds = time.perf_counter() - start
        return answers

    def stats(self):
        """The time of the last bare call."""
        return {"seconds": self.seconds}
