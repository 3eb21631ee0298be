"""Sets of results as real runs have them, for the tables and pictures."""

from __future__ import annotations

from ann_bench.results.model import Bundle, Status
from tests.results import made


def sweep(name: str, points: list[tuple[float, float]], **fields: object) -> list[Bundle]:
    """One algorithm at rising effort: (recall, queries per second)."""
    return [
        made.bundle(recall, qps, algorithm=name, query={"effort": 2**i}, seed=i, **fields)
        for i, (recall, qps) in enumerate(points)
    ]


def four() -> list[Bundle]:
    return [
        *sweep("faiss-ivf", [(0.41, 31000), (0.62, 21200), (0.81, 12900), (0.93, 7300), (0.985, 3100), (0.9985, 1210)]),
        *sweep("faiss-hnsw", [(0.55, 24100), (0.74, 19800), (0.9, 14100), (0.962, 9200), (0.96, 7000), (0.991, 5100)]),
        *sweep("hnswlib", [(0.66, 9200), (0.83, 6100), (0.955, 2900), (0.98, 1500)]),
        *sweep("exact", [(1.0, 183)]),
        made.bundle(0.5, 900, algorithm="broken", status=Status.INVALID_ANSWER),
        made.failed(algorithm="absent"),
    ]


def twelve() -> list[Bundle]:
    curve = [(0.45, 1.0), (0.7, 0.62), (0.85, 0.36), (0.93, 0.2), (0.98, 0.09), (0.995, 0.03)]
    return [
        bundle
        for n in range(12)
        for bundle in sweep(f"algorithm-{n}", [(min(r + 0.004 * n, 1.0), 40000 * s / 1.25**n) for r, s in curve])
    ]


def near_one() -> list[Bundle]:
    return [
        *sweep("faiss-ivf", [(0.9921, 4200), (0.9972, 2900), (0.9991, 1500), (1.0, 800)]),
        *sweep("faiss-hnsw", [(0.9955, 6100), (0.9988, 3800), (0.9998, 1800)]),
        *sweep("exact", [(1.0, 183)]),
    ]


def high() -> list[Bundle]:
    return [
        *sweep("faiss-ivf", [(0.84, 14200), (0.91, 9900), (0.955, 5500), (0.988, 2800)]),
        *sweep("faiss-hnsw", [(0.87, 16100), (0.93, 11800), (0.971, 7800)]),
    ]


def one() -> list[Bundle]:
    return four()[:6]


def single() -> list[Bundle]:
    return sweep("exact", [(1.0, 183)])


def runbook(steps: int = 240) -> list[dict[str, object]]:
    """Operations as an identity has them: inserts, each with a search, later with a delete or a replace too."""
    workload: list[dict[str, object]] = []
    place = 0
    while len(workload) < steps:
        ids = [1000 * place, 1000 * (place + 1)]
        workload.append({"op": "insert", "ids": ids, "rows": ids})
        if place >= 30:
            gone = [1000 * (place - 30), 1000 * (place - 30) + 700]
            workload.append({"op": "delete", "ids": gone})
        if place % 3 == 0:
            workload.append({"op": "replace", "ids": ids, "rows": ids})
        workload.append({"op": "search", "queries": 100, "k": 10})
        place += 1
    return workload


def streams(steps: int = 240) -> list[Bundle]:
    """Entries that age differently: one loses recall, one is exact, one grows; the first has two query configs."""
    workload = runbook(steps)
    return [
        made.stream(0.95, workload, algorithm="faiss-ivf", query={"nprobe": 16}, decline=0.2, seed=1),
        made.stream(0.80, workload, algorithm="faiss-ivf", query={"nprobe": 4}, decline=0.2, speed=3, seed=2),
        made.stream(0.97, workload, algorithm="hnswlib", decline=0.1, speed=2, inserts=3_000, memory=3e6, seed=3),
        made.stream(0.955, workload, algorithm="diskann", decline=0.02, inserts=8_000, memory=1.4e6, seed=4),
        made.stream(1.0, workload, algorithm="exact", speed=0.05, inserts=2e6, memory=0.5e6, seed=5),
        made.stream(0.5, workload, algorithm="broken", status=Status.TIMEOUT, seed=6),
    ]
