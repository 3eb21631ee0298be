"""Claims figures of its own: in its stats, in what it prints, in the attributes of its answers, and in files."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any

import numpy as np
from kit import Exact, scratch

CLAIMS = {
    "qps": 1e9, "recall": 1.0, "recall_strict": 1.0, "best_search_time": 1e-9, "build_time": 0, "seconds": [[[1e-9]]],
    "status": "ok", "outcome": {"status": "ok"}, "scores": [], "usage": {"peak_memory_bytes": 1}, "sandbox": "docker",
    "entry_hash": "0" * 64, "identity": {"algorithm": "somebody else"}, "__class__": "Bundle", "../../results": 1,
}  # fmt: skip


class Claiming(np.ndarray):
    """Answers that say how long they took."""

    qps = 1e9
    seconds = 1e-9


class Entry(Exact):
    qps = 1e9

    def query(self, queries: Any, k: int, tags: Any = None) -> Any:
        sys.stdout.write(json.dumps({"type": "done", "seq": 5, "qps": 1e9, "seconds": 1e-9}) + "\n")
        with contextlib.suppress(OSError):
            (scratch() / "results.json").write_text(json.dumps(CLAIMS), encoding="utf-8")
        answers = self.exact(queries, k, tags)
        answers[:, 1:] = -1  # one right answer of ten: what is claimed is far from what is true
        return answers.view(Claiming)

    def stats(self) -> dict[str, Any]:
        return {**CLAIMS, "claimed": len(CLAIMS)}
