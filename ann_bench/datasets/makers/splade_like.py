"""`splade-like-<N>`: stands in for sparse-full of big-ann-benchmarks, where the real set cannot be had, at any size.

What it has of the original (reference: the data set's page in big-ann-benchmarks): sparse rows of 30,109 columns,
about 120 nonzeros a row and 49 a query, weights above 0, inner product. docs/datasets.md says how it is made, what was
measured on it, and what it does not claim.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from ann_bench.datasets.formats import spmat_writer
from ann_bench.datasets.makers import register
from ann_bench.datasets.makers.cells import ahead
from ann_bench.datasets.makers.maker import LEAST_ROWS, MOST_ROWS, Maker, MakerArguments, Order, Part
from ann_bench.datasets.makers.splade_world import CELL, TERMS, WEIGHTS, World
from ann_bench.datasets.manifest import LEARN, Manifest
from ann_bench.errors import UsageError


class Arguments(MakerArguments):
    """`rows` of the base; `queries` in each set."""

    rows: int = Field(ge=LEAST_ROWS, le=MOST_ROWS)
    queries: int | None = Field(default=None, gt=0, le=MOST_ROWS)

    def count(self, group: str) -> int:
        """Rows of the base or queries of a set: 10,000, or a tenth of fewer rows but at least 1,000."""
        return self.rows if group == "base" else self.queries or min(10_000, max(1_000, self.rows // 10))


class SpladeLike(Maker):
    """Sparse rows of weighted terms, by topic."""

    name = "splade-like"
    version = 1
    description = "made here after MS MARCO by SPLADE: sparse rows, 120 of 30,109 terms, inner product; <N> is 1M, ..."
    tracks = ("sparse",)
    model = Arguments

    def manifest_of(self, name: str, rows: int) -> Manifest:
        """See Maker."""
        text = f"synthetic, after MS MARCO by SPLADE: {rows:,} sparse rows of {TERMS:,} columns"
        return self.made(name, rows, description=text, metric="ip")

    def suffix(self, part: Part) -> str:
        """See Maker."""
        if part.kind != "vectors" or part.group == LEARN:
            raise UsageError(f"generator {self.name} makes vectors of the base and of queries, not {part}")
        return ".spmat"

    def size(self, part: Part, arguments: Any) -> int:
        """See Maker."""
        nonzeros = 123 if part.group == "base" else 52
        return int(arguments.count(part.group)) * (
            8 + 9 * nonzeros
        )  # codes of the values lie in a second file for a while

    def write(self, order: Order, target: Path) -> None:
        """See Maker."""
        group = order.part.group
        world = World(self.version, order.arguments.seed)
        kind = world.passages if group == "base" else world.questions
        count, task = order.arguments.count(group), f"make {order.part}"
        cells = ahead(lambda cell: world.rows(kind, group, cell, min(CELL, count - cell * CELL)), -(-count // CELL))
        with spmat_writer(target, (count, TERMS), WEIGHTS) as rows:
            for block in cells:
                rows.append(*block)
                order.progress(task, rows.rows, count)


register(SpladeLike())
