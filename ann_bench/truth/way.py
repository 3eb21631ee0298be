"""When the searches of a stream are answered by one scan for all groups, and how, within a given memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ann_bench.arrays import CsrRef
from ann_bench.truth.cores import threads
from ann_bench.truth.lives import Lifetime, points_in
from ann_bench.truth.model import Problem
from ann_bench.truth.timeline import Node, levels, walk

_TYPES = ("float32", "float16", "uint8", "int8")  # others have float64 scores, which `exact` knows
_FEWEST_GROUPS = 8  # fewer cost little more than one scan, one after the other ...
_FEWEST_PAIRS = 2 * 10**8  # ... and fewer pairs of query and point less than loading the compiled loops
_MOST_K = 32  # an item is put in its place in a list by moving those behind it
_SPARE = 6  # places of a list beyond k: for points that may be nearer than their scores say
_MARKS = 128  # times k points for each query that can be in an answer; memory is set aside for so many
_PORTION = 1 << 10  # queries that one thread answers at once: more gain nothing ...
_FEWEST = 1 << 6  # ... and fewer make slow products


@dataclass(frozen=True)
class Way:
    """How shortlists are made: nodes of the tree of times, `length` of the lists, most points that a query may have
    (`marks`), queries of one `portion`, queries of a block (`most`)."""

    k: int
    nodes: tuple[Node, ...]
    levels: int
    length: int
    marks: int
    portion: int
    most: int

    @staticmethod
    def of(problem: Problem, groups: Sequence[Lifetime], searches: int, memory_bytes: int) -> Way | None:
        """The way for a memory of so many bytes; None where one group after the other is better, or has to do."""
        if not _fits(problem, groups):
            return None
        k, nodes = problem.k, walk(groups, searches)
        length, depth = k + _SPARE, levels(nodes)
        marks = min(_MARKS * k, length * min(searches, len(groups)))
        in_portion = len(groups) * (9 * length + 8) + 16 * marks + 8 * depth * length + 16 * problem.base.shape[1]
        in_block = 12 * marks + 8 * len(groups) + 12 * k * (depth + 2)
        portion = min(_PORTION, memory_bytes // 2 // (threads() * in_portion))
        most = memory_bytes // 2 // in_block
        return Way(k, nodes, depth, length, marks, portion, most) if min(portion, most) >= _FEWEST else None

    def portions(self, queries: int, workers: int) -> int:
        """How many portions to make of so many queries: a multiple of the threads that share them."""
        return min(queries, -(-queries // (self.portion * workers)) * workers)


def _fits(problem: Problem, groups: Sequence[Lifetime]) -> bool:
    base, queries = problem.base, problem.queries
    if isinstance(base, CsrRef) or isinstance(queries, CsrRef) or problem.query_tags is not None:
        return False
    if problem.radius is not None or problem.k > _MOST_K or len(groups) < _FEWEST_GROUPS:
        return False
    points = sum(points_in(group.runs) for group in groups)
    fits = base.dtype in _TYPES and queries.dtype in _TYPES and 0 < points <= np.iinfo(np.int32).max
    return fits and queries.shape[0] * points >= _FEWEST_PAIRS
