"""`msturing-like-<N>`: stands in for msturing-30M-clustered of big-ann-benchmarks, at any size.

What it has of the original (reference: the data set's page in big-ann-benchmarks): 100-d float32 under euclidean
distance, rows sorted by cluster, 10,000 queries, and a runbook of the shape of the competition's final one. What it
adds is a way to make it that gives the same bytes everywhere; docs/datasets.md says how, and what it does not claim.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from ann_bench.datasets.formats import xbin_writer
from ann_bench.datasets.makers import register
from ann_bench.datasets.makers.cells import ahead
from ann_bench.datasets.makers.maker import LEAST_ROWS, MOST_ROWS, Maker, MakerArguments, Order, Part
from ann_bench.datasets.makers.msturing_world import CELL, CLUSTERS, DIM, SIZES, Floats, World
from ann_bench.datasets.manifest import Manifest
from ann_bench.errors import UsageError


class Arguments(MakerArguments):
    """`rows` of the base; `queries` in each set."""

    rows: int = Field(ge=LEAST_ROWS, le=MOST_ROWS)
    queries: int = Field(default=10_000, gt=0, le=MOST_ROWS)


class MsturingLike(Maker):
    """Clustered 100-d float32 vectors, sorted by cluster, for streams."""

    name = "msturing-like"
    version = 1
    description = "made here after MS Turing 30M clustered: 100-d float32, sorted by cluster; <N> is 100k, 1M, 10M, ..."
    tracks = ("streaming", "dense")
    model = Arguments

    def manifest_of(self, name: str, rows: int) -> Manifest:
        """See Maker."""
        book = {"generator": "runbook-rounds", "seed": 1, "rows": rows, "clusters": CLUSTERS, "sizes": SIZES}
        text = f"synthetic, after MS Turing 30M clustered: {rows:,} x {DIM} float32, by cluster"
        return self.made(name, rows, description=text, metric="euclidean", runbook={"make": book})

    def suffix(self, part: Part) -> str:
        """See Maker."""
        if part.kind != "vectors":
            raise UsageError(f"generator {self.name} makes vectors, not {part}")
        return ".fbin"

    def size(self, part: Part, arguments: Any) -> int:
        """See Maker."""
        return 8 + self._rows(part, arguments) * DIM * 4

    def write(self, order: Order, target: Path) -> None:
        """See Maker."""
        arguments, part = order.arguments, order.part
        world = World(self.version, arguments.seed, arguments.rows)
        count = self._rows(part, arguments)

        def make(cell: int) -> Floats:
            return world.vectors(cell) if part.group == "base" else world.queries(part.group, count, cell)

        with xbin_writer(target, (count, DIM), "float32") as vectors:
            for made in ahead(make, -(-count // CELL)):
                vectors.append(made)
                order.progress(f"make {part}", vectors.rows, count)

    def _rows(self, part: Part, arguments: Any) -> int:
        return int(arguments.rows if part.group == "base" else arguments.queries)


register(MsturingLike())
