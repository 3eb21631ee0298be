"""Results for a site: names that are no names, a stream, failures, other conditions."""

from __future__ import annotations

from pathlib import Path

from ann_bench.results.model import Status
from ann_bench.results.store import Store
from tests.results import made

#: HTML, quotes, an end of a script, accents, and a sign that ends lines in old JavaScript.
EVIL = "<img src=x onerror=alert(1)>\"'&amp; </script> ü\u2028名"


def store(folder: Path) -> Store:
    """Three algorithms of six points; other conditions; failures; a track that nobody here knows; a short stream."""
    kept = Store(folder)
    for place, (name, speed) in enumerate([("faiss-ivf", 1.0), ("hnswlib", 1.6), (EVIL, 0.8)]):
        for step in range(6):
            point = {"nprobe": 2**step, "note": EVIL[:12]}
            seed = place * 10 + step
            kept.write(
                made.bundle(0.7 + 0.055 * step, 20_000 * speed / (1 + step), algorithm=name, query=point, seed=seed)
            )
    kept.write(made.bundle(0.95, 3000, algorithm="other", machine="Other <b>box</b>"))
    kept.write(made.bundle(0.95, 3000, algorithm="broken", status=Status.OUT_OF_MEMORY))
    kept.write(made.failed(algorithm="gone"))
    kept.write(made.bundle(0.9, 5000, algorithm="hnswlib", track="unheard-of"))
    for place, name in enumerate(["faiss-ivf", "hnswlib"]):
        kept.write(made.stream(0.95 - 0.05 * place, _WORKLOAD, decline=0.1, algorithm=name, dataset="tiny-stream"))
    return kept


_WORKLOAD = [
    {"op": "insert", "ids": [0, 1000]},
    {"op": "search", "queries": 200},
    {"op": "delete", "ids": [0, 500]},
    {"op": "search", "queries": 200},
]
