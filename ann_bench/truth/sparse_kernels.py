"""Compiled loops of `inverted.py`: build the inverted index of a block of rows, and search it.

A module of its own because it imports numba, which takes a second: only work that pays for it comes here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

from ann_bench.truth.sparse_parts import Array, Asked, Kept, Scratch, Span

Function = TypeVar("Function", bound=Callable[..., Any])
STRIP = 64  # rows that one vectorised test covers
_UNIT = 2.0**-24
_UNDERFLOW = 2.0**-125  # more than what one product, or one value, loses where float32 has no smaller numbers
_SAFE = 1e18  # lengths below it: no product or sum of float32 overflows
_UNTOUCHED = np.int32(-(2**31))  # the bits of -0.0
_MEASURE = 150.0  # exact distance of one row, and ...
_ADD = 1.0  # ... one addition to an accumulator, in nanoseconds: they steer how much is left out, never what is found


def _compiled(function: Function) -> Function:
    """The function, compiled at its first call and kept in numba's cache where that can be written."""
    try:
        return cast(Function, numba.njit(nogil=True, cache=True, error_model="numpy")(function))
    except RuntimeError:  # no folder for the cache
        return cast(Function, numba.njit(nogil=True, error_model="numpy")(function))


@_compiled
def index_block(span: Span, slot_of: Array, block: int) -> bool:
    """Build the inverted index of one block; False, and nothing of use, where its rows are not canonical.

    `slot_of` (dim,) int32 is -1 where no query uses the column.
    """
    first, last = span.edges[block], span.edges[block + 1]
    starts, highest, lowest = span.starts[block], span.highest[block], span.lowest[block]
    starts[:] = 0
    highest[:] = 0.0
    lowest[:] = 0.0
    for row in range(first, last):
        before = -1
        for place in range(span.indptr[row], span.indptr[row + 1]):
            column = span.indices[place]
            if column <= before or column >= len(slot_of):
                return False
            before = column
            slot = slot_of[column]
            if slot >= 0:
                starts[slot + 1] += 1
    at = span.indptr[first]
    starts[0] = at
    for slot in range(len(highest)):
        at += starts[slot + 1]
        starts[slot + 1] = at
    # Placing moves each start to its stop, which is the start of the next slot.
    longest = 0.0
    for row in range(first, last):
        square = 0.0
        for place in range(span.indptr[row], span.indptr[row + 1]):
            value = np.float64(span.values[place])
            square += value * value
            slot = slot_of[span.indices[place]]
            if slot >= 0:
                to = starts[slot]
                starts[slot] = to + 1
                span.rows[to] = row - first
                span.weights[to] = value
                highest[slot] = max(highest[slot], value)
                lowest[slot] = min(lowest[slot], value)
        length = math.sqrt(square)
        span.lengths[row] = length * (1 + 2 * _UNIT)
        if not length <= longest:  # not a number: stays
            longest = length
    for slot in range(len(highest), 0, -1):
        starts[slot] = starts[slot - 1]
    starts[0] = span.indptr[first]
    span.longest[block] = longest
    return True


@_compiled
def _sink(distances: Array, points: Array, distance: float, point: int) -> None:
    """Put a point in the place of the root of a heap: the farthest, of equals the one with the larger number."""
    count = len(distances)
    at = 0
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        other = child + 1
        if other < count and (
            distances[other] > distances[child]
            or (distances[other] == distances[child] and points[other] > points[child])
        ):
            child = other
        if distances[child] < distance or (distances[child] == distance and points[child] < point):
            break
        distances[at] = distances[child]
        points[at] = points[child]
        at = child
    distances[at] = distance
    points[at] = point


@_compiled
def _kth_largest(sums: Array, count: int, level: Array, unused: Array) -> float:
    """The k-th largest of the first `count` sums, for `level` of length k; minus infinity where there are fewer."""
    level[:] = np.inf
    for row in range(count):
        if -sums[row] < level[0]:
            _sink(level, unused, -np.float64(sums[row]), 0)
    return float(-level[0])


@_compiled
def _below(value: float) -> Any:
    """A float32 that lies below this value."""
    return np.float32(value - abs(value) * (4 * _UNIT) - 2.0**-140)


@_compiled
def _distance(span: Span, dense: Array, row: int, plain: bool) -> float:
    """The exact distance, its terms in the order in which `distance.paired` adds them."""
    total = 0.0
    for place in range(span.indptr[row], span.indptr[row + 1]):
        weight = dense[span.indices[place]]
        if plain or weight != 0.0:  # infinity times a term that the query lacks is no number
            total += np.float64(span.values[place]) * weight
    return 0.0 - total


@_compiled
def search(span: Span, asked: Asked, kept: Kept, scratch: Scratch, job: tuple[int, int, int]) -> None:
    """Offer the rows of a span to some queries; `job` is (first query, last query, point of the first row)."""
    for block in range(len(span.longest)):
        for query in range(job[0], job[1]):
            _search_block(span, asked, kept, scratch, (block, query, job[2]))


@_compiled
def _search_block(span: Span, asked: Asked, kept: Kept, scratch: Scratch, job: tuple[int, int, int]) -> None:
    block, query, point = job
    count = span.edges[block + 1] - span.edges[block]
    length, longest = asked.lengths[query], span.longest[block]
    terms = asked.indptr[query + 1] - asked.indptr[query]
    safe = length < _SAFE and longest < _SAFE
    error = (terms + 16) * 1.05 * _UNIT * length * longest + terms * _UNDERFLOW * (1 + length + longest)
    target = -kept.distances[query, 0]
    budget = target * kept.shares[query] if safe and target > 0 else 0.0
    rest, cosine, adds, saved = _add_up(span, asked, scratch.sums, (block, query), budget)
    if not (rest + error < target and adds == 0):
        if not safe:
            level = -np.inf
        elif target > -np.inf:
            level = target - error
        else:  # fewer than k so far: the k largest sums of this block say what a row must reach
            level = _kth_largest(scratch.sums, count, scratch.level, scratch.unused) - 2 * error
        limits = (level, error, rest, cosine)
        measured = _collect(span, asked, kept, scratch, (block, query, count, point), limits, safe)
        if budget > 0:
            share = kept.shares[query]
            if measured * _MEASURE * 4 < saved * _ADD:
                kept.shares[query] = min(0.99, share * 1.1)
            elif measured * _MEASURE * 2 > saved * _ADD:
                kept.shares[query] = max(0.02, share * 0.85)
    if adds:
        scratch.sums[:] = np.float32(-0.0)


@_compiled
def _add_up(
    span: Span, asked: Asked, sums: Array, job: tuple[int, int], budget: float
) -> tuple[float, float, int, int]:
    """Add the products of a query's terms to the sums of a block, but for those that stay within the budget.

    Returns what the terms left out can add to any row at most, the length of that part of the query, and how many
    products were added, and how many not.
    """
    block, query = job
    starts, highest, lowest = span.starts[block], span.highest[block], span.lowest[block]
    longest = span.longest[block]
    rest, square, adds, saved = 0.0, 0.0, 0, 0
    for place in range(asked.indptr[query], asked.indptr[query + 1]):
        slot = asked.slots[place]
        weight = asked.weights[place]
        start, stop = starts[slot], starts[slot + 1]
        if start == stop:
            continue
        bound = max(weight * highest[slot], weight * lowest[slot])
        if budget > 0 and min(rest + bound, math.sqrt(square + weight * weight) * longest) <= budget:
            rest += bound
            square += weight * weight
            saved += stop - start
            continue
        adds += stop - start
        narrow = np.float32(weight)
        for at in range(start, stop):
            sums[span.rows[at]] += narrow * span.weights[at]
    return rest, math.sqrt(square), adds, saved


@_compiled
def _next_strip(sums: Array, lengths: Array, part: tuple[int, int], limits: tuple[Any, Any, Any]) -> int:
    """The first strip from `part[0]` on with a row above the limit; `part[1]` where there is none.

    A function of its own, without writes, so that the compiler can use vector instructions.
    """
    most, along, limit = limits
    for strip in range(part[0], part[1], STRIP):
        hit = False
        for row in range(strip, min(strip + STRIP, part[1])):
            added = along * lengths[row]
            if not added < most:
                added = most
            hit |= sums[row] + added > limit
        if hit:
            return strip
    return part[1]


@_compiled
def _collect(
    span: Span,
    asked: Asked,
    kept: Kept,
    scratch: Scratch,
    job: tuple[int, int, int, int],
    limits: tuple[float, float, float, float],
    safe: bool,
) -> int:
    """Measure every row of a block that may be among the nearest and keep it if it is; returns how many were."""
    block, query, count, point = job
    level, error, rest, cosine = limits
    first = span.edges[block]
    sums, lengths = scratch.sums, span.lengths[first : first + count]
    bits = sums.view(np.int32)
    distances, points = kept.distances[query], kept.points[query]
    begin, end = asked.indptr[query], asked.indptr[query + 1]
    # Rounded to float32; the error that is allowed for covers it.
    most, along, limit = np.float32(rest), np.float32(cosine), _below(level)
    measured = 0
    strip = 0
    while strip < count:
        if safe:
            strip = _next_strip(sums, lengths, (strip, count), (most, along, limit))
        last = min(strip + STRIP, count)
        for row in range(strip, last):
            if safe and not sums[row] + min(most, along * lengths[row]) > limit:
                continue
            # Nothing was added to the sum, nor left out (the k-th score must be above 0 for that): the distance is
            # exactly 0, and loses to an earlier row of 0.
            if distances[0] == 0 and bits[row] == _UNTOUCHED:
                continue
            if measured == 0:
                for place in range(begin, end):
                    scratch.dense[asked.columns[place]] = asked.weights[place]
            measured += 1
            distance = _distance(span, scratch.dense, first + row, safe)
            if distance < distances[0]:
                _sink(distances, points, distance, point + first + row)
                if safe and distances[0] < np.inf:
                    limit = max(limit, _below(-distances[0] - error))
        strip = last
    if measured:
        for place in range(begin, end):
            scratch.dense[asked.columns[place]] = 0.0
    return measured
