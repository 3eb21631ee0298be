"""Tiny data for every track, by the name of what is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ann_bench.datasets.formats import write_xbin
from tests.judge.ranges import range_dataset
from tests.support import QUERIES, tiny_dataset
from tests.tracks.test_streams import RUNBOOK, sparse

#: What is asked, and the track that asks it.
ASKED = {
    "dense": "dense",
    "angular floats": "dense",
    "range": "dense",
    "filtered": "filtered",
    "learn": "ood",
    "sparse": "sparse",
    "streaming": "streaming",
    "filtered-streaming": "filtered-streaming",
    "sparse-streaming": "sparse-streaming",
}


def data_for(folder: Path, asked: str) -> Path:
    """The manifest of a tiny data set of which this is asked."""
    track, changes = ASKED[asked], {}
    if asked == "range":
        return range_dataset(folder)
    if track.startswith("sparse"):
        changes = sparse(folder)
    elif asked in ("angular floats", "learn"):
        changes = _floats(folder, asked)
    if track.endswith("streaming"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "book.yaml").write_text(RUNBOOK)
        changes["runbook"] = {"file": "book.yaml"}
    return tiny_dataset(folder, tracks=[track], **changes)


def _floats(folder: Path, asked: str) -> dict[str, Any]:
    folder.mkdir(parents=True)
    rng = np.random.default_rng(3)
    for name, rows in (("base", 200), ("queries", QUERIES), ("learn", 20)):
        write_xbin(folder / f"{name}.fbin", rng.standard_normal((rows, 7)).astype(np.float32))
    queries = {"public": {"vectors": {"file": "queries.fbin"}}}
    if asked == "learn":
        queries["learn"] = {"vectors": {"file": "learn.fbin"}}
    metric = "ip" if asked == "learn" else "angular"
    return {"metric": metric, "base": {"vectors": {"file": "base.fbin"}}, "queries": queries}
