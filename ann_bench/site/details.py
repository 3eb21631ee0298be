"""All that a page shows of one result, from its bundle."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path, PurePath
from typing import Any

from ann_bench.errors import ResultError
from ann_bench.report.board_table import title
from ann_bench.results.figures import Figures
from ann_bench.results.queries import sole_truth
from ann_bench.results.store import read
from ann_bench.site.drill import drill
from ann_bench.site.embed import plain

#: From so many bundles on it pays to read them by several processes.
_FEW = 64

#: Operations of a workload that are shown one by one.
_OPERATIONS = 12

#: Fields of an identity that stand elsewhere on the page.
_ELSEWHERE = {"track", "dataset", "queries", "algorithm", "build", "query", "workload"}


def detail(one: Figures, raw: Mapping[str, Any], board: str | None) -> dict[str, Any]:
    """A result for its page: figures, provenance, and what `raw_details` knows; `board` is its board's page."""
    fields = one.identity.fields
    workload: Sequence[Mapping[str, Any]] = fields.get("workload", ())
    found: dict[str, Any] = plain(
        {
            "key": one.identity.key,
            "board": board,
            "place": title(one),
            "build": json.loads(one.build),
            "query": json.loads(one.query),
            "detail": one.detail,
            "notes": one.notes,
            "invalid": {kind: count for kind, count in one.invalid.items() if count},
            "rates": one.rates,
            "measured": one.measured,
            "identity": {name: value for name, value in fields.items() if name not in _ELSEWHERE},
            "operations": len(workload),
            "workload": list(workload[:_OPERATIONS]),
            "provenance": _public(one.provenance),
            "stages": [
                [
                    stage.operation + 1,
                    stage.kind,
                    stage.points,
                    stage.seconds,
                    stage.live,
                    stage.memory_bytes,
                    stage.recall,
                ]
                for stage in one.stages
            ],
            **raw,
        }
    )
    return {**plain(one.row()), **found}


def _public(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Provenance for everybody: of a manifest its name, not where it lies on somebody's machine."""
    manifest = provenance.get("manifest")
    return {**provenance, "manifest": PurePath(manifest).name} if isinstance(manifest, str) else dict(provenance)


def raw_details(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """What only the bundle itself knows, for each of them: per-query recall, memory and CPU, the entry's log."""
    paths = list(paths)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if len(paths) < _FEW or cores < 2:
        return [_raw(path) for path in paths]
    with ProcessPoolExecutor(min(cores, 8)) as pool:
        return list(pool.map(_raw, paths, chunksize=8))


def _raw(path: Path) -> dict[str, Any]:
    try:
        bundle = read(path, answers=False)
    except ResultError:  # its figures came from the cache, and it has been damaged since
        return {}
    own = {"usage": vars(bundle.usage), "log": bundle.outcome.log, "stats": bundle.stats}
    return {**own, "truth": sole_truth(bundle), "drill": drill(bundle)}
