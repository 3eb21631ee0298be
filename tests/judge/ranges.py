"""A tiny data set that is searched within a radius, and an entry that does so exactly."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ann_bench.datasets.formats import write_xbin
from tests.support import Bench

ROWS, DIM, QUERIES = 300, 6, 40
RADIUS = 9000.0

ENTRY = """
import numpy as np
from ann_bench import Algorithm

class Entry(Algorithm):
    def fit(self, base, tags=None, learn=None):
        self.base = np.asarray(base, dtype=np.int64)

    def set_query_arguments(self, **query):
        pass

    def range_query(self, queries, radius):
        return self.exact(queries, radius)

    def lists(self, queries, radius):
        distances = ((self.base[None] - np.asarray(queries, dtype=np.int64)[:, None]) ** 2).sum(axis=2)
        return [np.flatnonzero(line < radius) for line in distances]

    def joined(self, lists):
        return np.cumsum([0, *map(len, lists)]), np.concatenate([*lists, np.zeros(0, np.int64)])

    def exact(self, queries, radius):
        return self.joined(self.lists(queries, radius))
"""


def range_dataset(folder: Path, *, seed: int = 1, **changes: Any) -> Path:
    """Write it; returns its manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    write_xbin(folder / "base.u8bin", rng.integers(0, 100, (ROWS, DIM), dtype=np.uint8))
    queries = rng.integers(0, 100, (QUERIES, DIM), dtype=np.uint8)
    queries[:3] = 255  # far from everything: no answer
    write_xbin(folder / "queries.u8bin", queries)
    manifest = {
        "name": "round",
        "tracks": ["dense"],
        "metric": "euclidean",
        "radius": RADIUS,
        "base": {"vectors": {"file": "base.u8bin"}},
        "queries": {"public": {"vectors": {"file": "queries.u8bin"}}},
        "licence": "MIT",
        "source": "made for a test",
        **changes,
    }
    path = folder / "round.yaml"
    path.write_text(yaml.safe_dump(manifest), encoding="utf-8")
    return path


def range_entry(folder: Path, body: str = "", *, start: str = "", **config: Any) -> Path:
    """An entry that answers exactly, but for the methods in `body`."""
    folder.mkdir(parents=True, exist_ok=True)
    methods = textwrap.indent(textwrap.dedent(body), "    ")
    (folder / "wrapper.py").write_text(textwrap.dedent(start) + ENTRY + methods, encoding="utf-8")
    settings = {
        "class": "wrapper.Entry",
        "tracks": ["dense"],
        "requires": [],
        "open_source": True,
        "description": "an entry for a test",
        "query": {"default": [{"effort": 1}]},
        **config,
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    return folder


def range_bench(folder: Path, **dataset: Any) -> Bench:
    """A new bench in this folder."""
    return Bench(folder, range_dataset(folder / "data", **dataset), track="dense")
