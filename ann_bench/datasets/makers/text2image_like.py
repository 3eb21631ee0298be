"""`text2image-like-<N>`: stands in for text2image-10M of big-ann-benchmarks, where the real set cannot be had.

What it has of the original (reference: the data set's page in big-ann-benchmarks): 200-d float32 vectors, inner
product, queries of another kind than the base, and sample queries to learn from. docs/datasets.md says how it is
made, what was measured on it, and what it does not claim.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from ann_bench.datasets.formats import xbin_writer
from ann_bench.datasets.makers import register
from ann_bench.datasets.makers.cells import ahead
from ann_bench.datasets.makers.maker import LEAST_ROWS, MOST_ROWS, Maker, MakerArguments, Order, Part
from ann_bench.datasets.makers.text2image_world import CELL, DIM, World
from ann_bench.datasets.manifest import LEARN, Manifest
from ann_bench.errors import UsageError


class Arguments(MakerArguments):
    """`rows` of the base; `queries` in the set that is made with it."""

    rows: int = Field(ge=LEAST_ROWS, le=MOST_ROWS)
    queries: int | None = Field(default=None, gt=0, le=MOST_ROWS)

    def count(self, group: str) -> int:
        """Rows of the base or queries of a set.

        Where none are given: a tenth of the rows, at least 1,000, at most 10,000 to search with and 100,000 to learn
        from.
        """
        if group == "base":
            return self.rows
        return self.queries or min(100_000 if group == LEARN else 10_000, max(1_000, self.rows // 10))


class Text2ImageLike(Maker):
    """Clustered 200-d float32 vectors, inner product, queries from another distribution."""

    name = "text2image-like"
    version = 1
    description = "made here after Text-to-Image: 200-d float32, inner product, queries of another kind; <N> is 1M, ..."
    tracks = ("ood", "dense")
    model = Arguments

    def manifest_of(self, name: str, rows: int) -> Manifest:
        """See Maker."""
        text = f"synthetic, after Text-to-Image: {rows:,} x {DIM} float32, queries of another kind"
        return self.made(name, rows, description=text, metric="ip", sets=("public", "private", LEARN))

    def suffix(self, part: Part) -> str:
        """See Maker."""
        if part.kind != "vectors":
            raise UsageError(f"generator {self.name} makes vectors, not {part}")
        return ".fbin"

    def size(self, part: Part, arguments: Any) -> int:
        """See Maker."""
        return 8 + int(arguments.count(part.group)) * DIM * 4

    def write(self, order: Order, target: Path) -> None:
        """See Maker."""
        group = order.part.group
        world = World(self.version, order.arguments.seed)
        look = world.pictures if group == "base" else world.texts
        count, task = order.arguments.count(group), f"make {order.part}"
        cells = ahead(lambda cell: world.rows(look, group, cell, min(CELL, count - cell * CELL)), -(-count // CELL))
        with xbin_writer(target, (count, DIM), "float32") as vectors:
            for block in cells:
                vectors.append(block)
                order.progress(task, vectors.rows, count)


register(Text2ImageLike())
