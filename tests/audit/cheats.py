"""Entries that cheat, each in one way, and the probe that is there for it. All of them answer exactly but for that."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ann_bench.audit.registry import Verdict


@dataclass(frozen=True)
class Cheat:
    """Methods that replace those of the exact entry; `worst` is what its probe says of it."""

    probe: str
    body: str
    text: str
    worst: tuple[Verdict, ...] = (Verdict.FAIL,)
    config: dict[str, Any] = field(default_factory=dict)


EITHER = (Verdict.FAIL, Verdict.SUSPICIOUS)

CHEATS = {
    "crashes": Cheat("runs", "def fit(self, base, tags=None, learn=None):\n    raise ValueError('no')", "crashed"),
    "breaks-rules": Cheat(
        "runs",
        """
        def query(self, queries, k, tags=None):
            from ann_bench.wire import Channel
            import gc
            [one.send({"type": "done", "seq": 0}) for one in gc.get_objects() if isinstance(one, Channel)]
            return self.exact(queries, k, tags)
        """,
        "rule-broken",
    ),
    "caches": Cheat(
        "fresh",
        """
        known = {}

        def query(self, queries, k, tags=None):
            import time
            keys = [query.tobytes() + tags[i].indices.tobytes() for i, query in enumerate(queries)]
            time.sleep(0.02 * sum(key not in self.known for key in keys))
            self.known.update(dict.fromkeys(keys))
            return self.exact(queries, k, tags)
        """,
        "never asked before",
    ),
    "remembers": Cheat(
        "perturbed",
        """
        known = {}

        def query(self, queries, k, tags=None):
            import hashlib
            if len(queries) == 40 and not self.known:  # as if the table of the published ones were in its image
                self.known = {query.tobytes() for query in queries}
            answers = self.exact(queries, k, tags)
            for i, query in enumerate(queries):
                if self.known and query.tobytes() not in self.known:
                    answers[i] = -1
            return answers
        """,
        "perturbed queries: recall",
    ),
    "tires": Cheat(
        "same answers",
        """
        batches = 0

        def query(self, queries, k, tags=None):
            self.batches += len(queries) > 9
            answers = self.exact(queries, k, tags)
            return answers if self.batches < 3 else np.where(np.arange(k) < 2, answers, -1)
        """,
        "the third time",
    ),
    "wants-a-crowd": Cheat(
        "same answers",
        """
        def query(self, queries, k, tags=None):
            answers = self.exact(queries, k, tags)
            return answers if len(queries) > 1 else np.full_like(answers, -1)
        """,
        "one by one",
    ),
    "repeats-itself": Cheat(
        "answers",
        """
        def query(self, queries, k, tags=None):
            return np.repeat(self.exact(queries, k, tags)[:, :1], k, axis=1)
        """,
        "duplicate",
    ),
    "falls-short": Cheat(
        "answers",
        """
        def query(self, queries, k, tags=None):
            return np.where(np.arange(k) < 3, self.exact(queries, k, tags), -1)
        """,
        "missing",
        (Verdict.SUSPICIOUS,),
    ),
    "pads": Cheat(
        "answers",
        """
        def query(self, queries, k, tags=None):
            everything = self.exact(queries, 300, tags)
            for line in everything:
                there = int((line >= 0).sum())
                line[2:k] = line[there - k + 2:there] if there > 3 * k else line[2:k]
            return everything[:, :k]
        """,
        "as good as chance",
    ),
    "knows-ten": Cheat(
        "other k",
        """
        def query(self, queries, k, tags=None):
            return np.where(np.arange(k) < 10, self.exact(queries, k, tags), -1)
        """,
        "k = 20",
        EITHER,
    ),
    "is-fast-at-ten": Cheat(
        "other k",
        """
        def query(self, queries, k, tags=None):
            import time
            time.sleep(0 if k == 10 else 0.15)
            return self.exact(queries, k, tags)
        """,
        "k = 11",
    ),
    "never-rests": Cheat(
        "idle",
        """
        def set_query_arguments(self, **query):
            import subprocess, sys
            self.child = subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"])
        """,
        "of a CPU",
        EITHER,
    ),
    "claims-threads": Cheat(
        "threads",
        "def stats(self):\n    return {'threads': 64}",
        "claims 64 threads",
        (Verdict.SUSPICIOUS,),
    ),
    "is-lucky": Cheat(
        "seeds",
        """
        def __init__(self, *, seed, **other):
            super().__init__(**other)
            self.seed = seed

        def query(self, queries, k, tags=None):
            answers = self.exact(queries, k, tags)
            return answers if self.seed == 42 else np.where(np.arange(k) < 3, answers, -1)
        """,
        "another build (seed=43): recall",
        config={"build": {"default": {"seed": 42}}},
    ),
    "knows-the-rows": Cheat(
        "disguise",
        """
        def query(self, queries, k, tags=None):
            import time
            time.sleep(0 if self.base[:3].tolist() == FIRST else 0.15)
            return self.exact(queries, k, tags)
        """,
        "in disguise",
    ),
    "knows-the-answers": Cheat(
        "disguise",
        """
        def query(self, queries, k, tags=None):
            answers = self.exact(queries, k, tags)
            return answers if self.base[:3].tolist() == FIRST else np.where(np.arange(k) < 3, answers, -1)
        """,
        "in disguise: recall",
    ),
}
