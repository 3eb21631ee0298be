"""Makers of synthetic data against numpy's own generator that writes as many bytes to a file the same way.

Every maker makes the base of a data set, all its parts, file by file as `data prepare` does, on the disk of the cache.
Numpy's `default_rng` fills blocks of 4 MiB: `random(dtype=float32)` for a part of floats or of sparse rows,
`integers(dtype=uint8)` for a part of bytes; they are written to a file that gets its name in the same atomic way, with
the same flush to the disk. A coin says which goes first in each round. The ratio is numpy's seconds over the maker's.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ann_bench.datasets.cache import cache_root
from ann_bench.datasets.files import atomic
from ann_bench.datasets.makers import Maker, Order, Part, makers
from ann_bench.datasets.makers.maker import parse_count
from ann_bench.datasets.manifest import Source
from ann_bench.errors import UsageError

GOAL = 0.5
_BLOCK = 4 << 20


@dataclass(frozen=True)
class Round:
    """Seconds of both ways, and how many bytes each wrote."""

    maker: float
    numpy: float
    size: int


def parts(maker: Maker, rows: int) -> list[Order]:
    """What there is to make of the base of a data set of this size."""
    base = maker.manifest_of("benchmark", rows).base
    sources: dict[str, Source | None] = {"vectors": base.vectors, "tags": base.tags}
    made = {kind: source.make for kind, source in sources.items() if source is not None}
    return [
        Order(Part("base", kind), maker.arguments(make), lambda part: Path(str(part)))
        for kind, make in made.items()
        if make is not None
    ]


def by_numpy(suffix: str, size: int, target: Path, rng: np.random.Generator) -> None:
    """A file of random bytes of numpy's own."""
    with atomic(target) as stream:
        for start in range(0, size, _BLOCK):
            count = min(_BLOCK, size - start)
            if suffix == ".u8bin":
                stream.write(rng.integers(0, 256, count, dtype=np.uint8).data)
            else:
                stream.write(rng.random(-(-count // 4), dtype=np.float32).view(np.uint8)[:count].data)


def compare(maker: Maker, rows: int, rng: np.random.Generator) -> Round:
    """One round, all parts; the files are removed."""
    seconds, total = {"maker": 0.0, "numpy": 0.0}, 0
    with tempfile.TemporaryDirectory(dir=cache_root()) as folder:
        for order in parts(maker, rows):
            suffix = maker.suffix(order.part)
            target = Path(folder) / f"part{suffix}"
            size = sizes.get((maker.name, rows, str(order.part)))
            if size is None:  # the first time warms up, and tells how many bytes there are
                maker.write(order, target)
                size = sizes[maker.name, rows, str(order.part)] = target.stat().st_size
                target.unlink()
            total += size
            turns = ["maker", "numpy"] if rng.integers(2) else ["numpy", "maker"]
            for turn in turns:
                start = time.perf_counter()
                if turn == "maker":
                    maker.write(order, target)
                else:
                    by_numpy(suffix, size, target, rng)
                seconds[turn] += time.perf_counter() - start
                target.unlink()
    return Round(seconds["maker"], seconds["numpy"], total)


sizes: dict[tuple[str, int, str], int] = {}


def main(argv: list[str]) -> int:
    """Run; returns 1 where the median ratio of a maker misses the goal."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks makers", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rows", default="500k", help="rows a round (default: 500k)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default: 5)")
    parser.add_argument(
        "--maker", action="append", choices=[maker.name for maker in makers() if maker.tracks], help="only this one"
    )
    options = parser.parse_args(argv)
    rows = parse_count(options.rows)
    if rows is None:
        raise UsageError(f"--rows {options.rows!r}: give a count such as 500k")
    cache_root().mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    print("python -m benchmarks makers " + shlex.join(argv))
    print(f"{'numpy seconds / maker seconds':<29}{'median':>8}{'min':>8}{'max':>8}{'maker':>12}{'numpy':>12}")
    reached = True
    for maker in makers():
        if not maker.tracks or (options.maker and maker.name not in options.maker):
            continue
        rounds = [compare(maker, rows, rng) for _ in range(options.rounds)]
        ratios = [each.numpy / each.maker for each in rounds]
        rates = [
            statistics.median(each.size / seconds / 1e6 for each, seconds in zip(rounds, column, strict=True))
            for column in ([each.maker for each in rounds], [each.numpy for each in rounds])
        ]
        middle = statistics.median(ratios)
        reached = reached and middle >= GOAL
        print(
            f"{maker.name:<29}{middle:>8.2f}{min(ratios):>8.2f}{max(ratios):>8.2f}"
            f"{rates[0]:>7.0f} MB/s{rates[1]:>7.0f} MB/s",
            flush=True,
        )
    print(f"goal: at least {GOAL}: {'reached' if reached else 'MISSED'}", file=sys.stdout)
    return 0 if reached else 1
