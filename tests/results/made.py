"""Bundles as a judge would make them, from random numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ann_bench.results.model import INVALID_KINDS, Asks, Bundle, Control, Identity, Outcome, Score, Status, Step, Usage

GIB = 1024**3


def identity(**changes: Any) -> Identity:
    fields: dict[str, Any] = {
        "track": "filtered",
        "dataset": "debian-20k",
        "queries": "public",
        "algorithm": "faiss-ivf",
        "build": {"nlist": 1024},
        "query": {"nprobe": 4},
        "k": 10,
        "runs": 5,
        "builds": 1,
        "sandbox": "process",
        "cpus": 2,
        "memory_limit_bytes": 4 * GIB,
        "limits": {"cpus": 2, "memory_bytes": 4 * GIB},
        "data_hash": {"base": "b", "queries": "q"},
        "machine": "Intel Xeon E5-2690 v4 @ 2.60GHz",
    }
    return Identity({**fields, **changes})


def provenance(date: str = "2026-08-30T12:00:00+00:00") -> dict[str, Any]:
    return {
        "date": date,
        "machine": {"cpu_model": "Intel Xeon E5-2690 v4 @ 2.60GHz", "cores": 2, "memory_bytes": 8 * GIB},
        "data": {"rows": 20000, "dim": 384, "dtype": "float32", "metric": "ip"},
    }


def score(hits: np.ndarray, possible: np.ndarray, invalid: int = 0) -> Score:
    kinds = dict.fromkeys(INVALID_KINDS, 0) | {"duplicate": invalid}
    strict = np.maximum(hits.astype(int) - 1, 0)
    arrays = [np.asarray(a, dtype=np.uint16) for a in (hits, strict, hits, possible)]
    return Score(*arrays, invalid=kinds)


def bundle(
    recall: float = 0.93,
    qps: float = 12_000.0,
    *,
    status: Status = Status.OK,
    shape: tuple[int, int, int] = (1, 5, 1),
    queries: int = 1000,
    distinct: bool = False,
    date: str = "2026-08-30T12:00:00+00:00",
    seed: int = 0,
    query_set: str = "public",
    **fields: Any,
) -> Bundle:
    """One measurement: `recall` and `qps` are what it is drawn around."""
    rng = np.random.default_rng(seed)
    builds, runs, searches = shape
    name = identity(**{"builds": builds, "runs": runs, "queries": query_set, **fields})
    k = name["k"]
    count = builds * runs * searches if distinct else searches
    answers = tuple(rng.integers(0, 20_000, (queries, k)).astype(np.int32) for _ in range(count))
    possible = np.full(queries, k)
    scores = tuple(score(rng.binomial(k, recall, queries), possible) for _ in range(count))
    order = np.arange(count, dtype=np.int32)
    answer_of = order.reshape(shape) if distinct else np.broadcast_to(order, shape).copy()
    seconds = queries / qps * rng.lognormal(0, 0.02, shape)
    return Bundle(
        identity=name,
        outcome=Outcome(status, "" if status is Status.OK else f"why it is {status.value}"),
        provenance=provenance(date),
        counts=(queries,) * searches,
        seconds=seconds,
        answer_of=answer_of,
        answers=answers,
        scores=scores,
        steps=tuple(Step(b, 0, "build", 3.0 + b, 5.5) for b in range(builds)),
        usage=Usage(peak_memory_bytes=412 * 2**20, cpu_inside_seconds=8.0),
        truths=("t" * 32,) * searches,
        stats={"graph": {"edges": 12}},
    )


def control(
    published: Bundle, hits: np.ndarray, *, seconds: object = None, cpu: object = None, published_cpu: object = None
) -> Control:
    """Control batches of a bundle with one search: `hits` (builds, sample) of ten for the first of its queries."""
    builds, runs, _ = published.seconds.shape
    sample = hits.shape[1]
    usual = np.median(published.seconds, axis=1) if seconds is None else np.asarray(seconds, float).reshape(builds, 1)
    return Control(
        seed=5,
        variants=3,
        variant=1,
        numbers=(np.arange(sample, dtype=np.int64),),
        seconds=usual,
        cpu_seconds=usual if cpu is None else np.asarray(cpu, float).reshape(builds, 1),
        published_cpu_seconds=(
            published.seconds if published_cpu is None else np.asarray(published_cpu, float).reshape(builds, runs, 1)
        ),
        answer_of=np.arange(builds, dtype=np.int32)[:, None],
        answers=tuple(np.zeros((sample, 10), np.int32) for _ in range(builds)),
        scores=tuple(score(one, np.full(sample, 10)) for one in hits),
    )


def asks(of: Bundle, seconds: float = 0.002, *, rate: float = math.nan, rounds: int = 1) -> Asks:
    """Times of single queries of a bundle, one after the other, `seconds` each; the last run has one round only."""
    builds, runs, searches = of.seconds.shape
    queries = sum(of.counts)
    due = np.broadcast_to(np.arange(rounds * queries) * seconds, (builds, runs, rounds * queries)).copy()
    answer_of = np.broadcast_to(of.answer_of[:, :, np.newaxis], (builds, runs, rounds, searches)).copy()
    due[:, -1, queries:], answer_of[:, -1, 1:] = np.nan, -1
    return Asks(
        due=due,
        sent=due + 1e-6,
        answered=due + np.tile(np.linspace(seconds / 2, seconds, queries), rounds),
        null=np.full((builds, runs, searches, 10), 3e-5),
        busy=np.full(of.seconds.shape, 0.1),
        rate=np.full(of.seconds.shape, rate),
        answer_of=None if rounds == 1 else answer_of,
    )


def failed(
    status: Status = Status.NOT_INSTALLED, detail: str = "hnswlib: pip install hnswlib", **fields: Any
) -> Bundle:
    """A measurement that never began."""
    return Bundle(identity=identity(**fields), outcome=Outcome(status, detail), provenance=provenance())


def stream(
    recall: float,
    workload: list[dict[str, Any]],
    *,
    decline: float = 0.0,
    speed: float = 1.0,
    inserts: float = 50_000.0,
    memory: float = 1e6,
    seed: int = 0,
    status: Status = Status.OK,
    **fields: Any,
) -> Bundle:
    """A stream that was measured once: recall goes down by `decline`; `inserts` a second, `memory` bytes for 1,000."""
    rng = np.random.default_rng(seed)
    searches = [place for place, operation in enumerate(workload) if operation["op"] == "search"]
    count = len(searches)
    queries = [int(workload[place]["queries"]) for place in searches]
    steps, live, now = [Step(0, -1, "create", 0.3, 0.3, -1, 0.0, 2**26)], 0, 0.4
    for place, operation in enumerate(workload):
        kind = operation["op"]
        points = operation["queries"] if kind == "search" else operation["ids"][1] - operation["ids"][0]
        live += {"insert": points, "delete": -points}.get(kind, 0)
        rate = {"insert": inserts, "delete": 40 * inserts, "replace": inserts / 2, "search": 1e9 * speed / (live + 1e5)}
        took = points / rate[kind] * float(rng.lognormal(0, 0.05))
        steps.append(Step(0, place, kind, took, took, 0, now, int(2**26 + memory * live / 1000), points))
        now += took * 1.1 + 0.001
    scores = tuple(
        score(rng.binomial(10, max(0.0, recall - decline * number / max(count, 1)), size), np.full(size, 10))
        for number, size in enumerate(queries)
    )
    name = identity(**{"track": "streaming", "builds": 1, "runs": 1, "workload": workload, **fields})
    return Bundle(
        identity=name,
        outcome=Outcome(status, "" if status is Status.OK else f"why it is {status.value}"),
        provenance=provenance(),
        counts=tuple(queries),
        seconds=np.array([[[step.seconds for step in steps if step.kind == "search"]]]).reshape(1, 1, count),
        answer_of=np.arange(count, dtype=np.int32).reshape(1, 1, count),
        answers=tuple(np.zeros((size, 10), np.int32) for size in queries),
        scores=scores,
        steps=tuple(steps),
        usage=Usage(peak_memory_bytes=max(step.memory_bytes for step in steps)),
        truths=tuple(f"{number:032d}" for number in range(count)),
    )
