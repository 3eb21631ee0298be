"""The order in which lists of groups are merged, so that each search has the lists of those that live at its time.

A binary tree of times: a group joins at the few nodes whose whole span it lives through, and what a node holds is
shared by all searches below it. (This is offline divide and conquer over time with a segment tree.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ann_bench.truth.lives import Lifetime

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Node:
    """A node of the tree, in the order of a walk from the first search to the last.

    Its list, that of `level`, is the list of the level above with those of the groups `joining` (their numbers,
    int64) merged in. `leaf` says that it is the answer to the next search. Level 0 is an empty list.
    """

    level: int
    joining: Numbers
    leaf: bool


def walk(groups: Sequence[Lifetime], searches: int) -> tuple[Node, ...]:
    """The nodes for so many searches."""
    spans = np.array([(group.birth, group.death) for group in groups], dtype=np.int64).reshape(-1, 2)
    return tuple(_down(spans, np.arange(len(spans)), range(searches), 1)) if searches else ()


def levels(nodes: Sequence[Node]) -> int:
    """How many lists are held at once, the empty one included."""
    return 1 + max((node.level for node in nodes), default=0)


def _down(spans: Numbers, numbers: Numbers, part: range, level: int) -> Iterator[Node]:
    births, deaths = spans[numbers].T
    through = (births <= part.start) & (deaths >= part.stop)
    yield Node(level, numbers[through], len(part) == 1)
    if len(part) == 1:
        return
    for half in (part[: len(part) // 2], part[len(part) // 2 :]):
        below = ~through & (births < half.stop) & (deaths > half.start)
        yield from _down(spans, numbers[below], half, level + 1)
