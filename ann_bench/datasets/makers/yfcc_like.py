"""`yfcc-like-<N>`: stands in for yfcc-10M of big-ann-benchmarks, where the real set cannot be had, at any size.

What it has of the original (reference: the data set's page in big-ann-benchmarks): 192-d uint8 vectors, 200,386
tags in bags that average 10.8, 1 or 2 tags a query, as many queries. What it adds is a way to make it that gives
the same bytes everywhere; docs/datasets.md says how, and what it does not claim.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from ann_bench.datasets.formats import spmat_writer, xbin_writer
from ann_bench.datasets.makers import register
from ann_bench.datasets.makers.cells import ahead
from ann_bench.datasets.makers.maker import LEAST_ROWS, MOST_ROWS, Maker, MakerArguments, Order, Part
from ann_bench.datasets.makers.yfcc_world import CELL, DIM, TAGS, Asked, World
from ann_bench.datasets.manifest import Manifest
from ann_bench.errors import UsageError


class Arguments(MakerArguments):
    """`rows` of the base; `queries` in each set."""

    rows: int = Field(ge=LEAST_ROWS, le=MOST_ROWS)
    queries: int | None = Field(default=None, gt=0, le=MOST_ROWS)

    @property
    def asked(self) -> int:
        """Queries in a set: a tenth of the rows, but at least 1,000 and at most 100,000, where none are given."""
        return self.queries or min(100_000, max(1_000, self.rows // 10))


class YfccLike(Maker):
    """Clustered 192-d uint8 vectors with bags of tags."""

    name = "yfcc-like"
    version = 1
    description = "made here after YFCC 10M: 192-d uint8, 200,386 tags, 1 or 2 a query; <N> is 100k, 1M, 10M, ..."
    tracks = ("filtered",)
    model = Arguments

    def manifest_of(self, name: str, rows: int) -> Manifest:
        """See Maker."""
        text = f"synthetic, after YFCC 10M: {rows:,} x {DIM} uint8, {TAGS:,} tags"
        return self.made(name, rows, description=text, metric="euclidean", parts=("vectors", "tags"))

    def suffix(self, part: Part) -> str:
        """See Maker."""
        if part.kind not in ("vectors", "tags") or part.group == "learn":
            raise UsageError(f"generator {self.name} makes vectors and tags, not {part}")
        return ".u8bin" if part.kind == "vectors" else ".spmat"

    def size(self, part: Part, arguments: Any) -> int:
        """See Maker."""
        rows = arguments.rows if part.group == "base" else arguments.asked
        if part.kind == "vectors":
            return 8 + int(rows) * DIM
        bag = 11 if part.group == "base" else 2
        return int(rows) * (8 + 8 * bag)

    def write(self, order: Order, target: Path) -> None:
        """See Maker."""
        world = World(self.version, order.arguments.seed, order.arguments.rows)
        if order.part.group == "base":
            _write_base(world, order, target)
        else:
            _write_queries(world, order, target)


def _write_base(world: World, order: Order, target: Path) -> None:
    rows, task = world.rows, f"make {order.part}"
    if order.part.kind == "vectors":
        with xbin_writer(target, (rows, DIM), "uint8") as vectors:
            for block in ahead(world.vectors, world.cells):
                vectors.append(block)
                order.progress(task, vectors.rows, rows)
    else:
        with spmat_writer(target, (rows, TAGS)) as tags:
            for bags in ahead(world.tags, world.cells):
                tags.append(*bags)
                order.progress(task, tags.rows, rows)


def _write_queries(world: World, order: Order, target: Path) -> None:
    base = order.need(Part("base", order.part.kind))
    count, task = order.arguments.asked, f"make {order.part}"
    asked = Asked(world, order.part.group, count)
    if order.part.kind == "vectors":
        with xbin_writer(target, (count, DIM), "uint8") as vectors, base.open("rb", buffering=0) as rows:
            for cell in range(-(-count // CELL)):
                vectors.append(asked.vectors(cell, rows))
                order.progress(task, vectors.rows, count)
    else:
        with spmat_writer(target, (count, TAGS)) as tags, base.open("rb", buffering=0) as bags:
            for cell in range(-(-count // CELL)):
                tags.append(*asked.tags(cell, bags))
                order.progress(task, tags.rows, count)


register(YfccLike())
