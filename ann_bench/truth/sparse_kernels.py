"""Compiled loops of `inverted.py`: build the inverted index of a block of rows, and search it.

A module of its own because it imports numba, which takes a second: only work that pays for it comes here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ann_bench.compiled import compiled
from ann_bench.truth.sparse_parts import STRIP, Array, Asked, Kept, Scratch, Span

_UNIT = 2.0**-24
_PACKED = 2.0**-8  # relative error of the weight of a posting
_UNDERFLOW = 2.0**-125  # more than what one product, or one value, loses where float32 has no smaller numbers
_SAFE = 1e18  # lengths below it: no product or sum of float32 overflows
_UNTOUCHED = np.int32(-(2**31))  # the bits of -0.0
#: What the exact distance of one row costs, in additions; steers how much is left out, not what is found.
_MEASURE = 600.0


@compiled
def index_block(span: Span, slot_of: Array, block: int) -> bool:
    """Build the inverted index of one block; False, and nothing of use, where its rows are not canonical.

    `slot_of` (dim,) int32 is the slot of each column.
    """
    first, last = span.edges[block], span.edges[block + 1]
    starts = span.starts[block]
    indptr = span.indptr[first : last + 1]
    if not _count(indptr, span.indices, slot_of, starts):
        return False
    at = indptr[0]
    for slot in range(len(starts)):
        at += starts[slot]
        starts[slot] = at
    # Placing moves each start to its stop, which is the start of the next slot.
    into = starts, span.postings, span.lengths[first:]
    span.longest[block] = _place(indptr, span.indices, span.values, slot_of, into)
    for slot in range(len(starts) - 1, 0, -1):
        starts[slot] = starts[slot - 1]
    starts[0] = indptr[0]
    _bound(starts, span.postings, span.highest[block].view(np.int32), span.lowest[block].view(np.uint32))
    return True


@compiled
def _count(indptr: Array, indices: Array, slot_of: Array, starts: Array) -> bool:
    """Count the postings of each slot, into the place behind it; False where rows are not canonical."""
    starts[:] = 0
    for row in range(len(indptr) - 1):
        before = -1
        for place in range(indptr[row], indptr[row + 1]):
            column = indices[place]
            if column <= before or column >= len(slot_of):
                return False
            before = column
            starts[slot_of[column] + 1] += 1
    return True


@compiled
def _place(indptr: Array, indices: Array, values: Array, slot_of: Array, into: tuple[Array, Array, Array]) -> float:
    """Write the postings of rows where the starts say, which move on, and the lengths of the rows, rounded up.

    `into` is (starts, postings, lengths). Returns the largest length, not rounded, which may be no number.
    """
    starts, postings, lengths = into
    longest = 0.0
    for row in range(len(indptr) - 1):
        square = 0.0
        for place in range(indptr[row], indptr[row + 1]):
            value = np.float64(values[place])
            square += value * value
            slot = slot_of[indices[place]]
            to = starts[slot]
            starts[slot] = to + 1
            postings[to] = _packed(value, row)
        length = math.sqrt(square)
        lengths[row] = length * (1 + 2 * _UNIT)
        if not length <= longest:  # not a number: stays
            longest = length
    return longest


@compiled
def _packed(value: float, row: int) -> Any:
    """The bits of the float32 nearest to a value of those whose last 16 bits are the number of a row.

    Such numbers lie 2^16 steps of float32 apart, so that the error is at most 2^-8 of the value, or 2^-133.
    """
    bits = np.int64(np.float32(value).view(np.uint32))
    size = max((bits & 0x7FFFFFFF) - row + 0x8000, 0) & 0x7FFF0000
    return np.uint32((bits & 0x80000000) | size | row)


@compiled
def _bound(starts: Array, postings: Array, highest: Array, lowest: Array) -> None:
    """Set the bits of the largest and of the least weight of each slot, or of 0, as the postings have them.

    The bits of float32, as numbers, ascend with those above 0, and without a sign descend with those below.
    """
    for slot in range(len(highest)):
        most, least = np.int32(0), np.uint32(1 << 31)
        for posting in postings[starts[slot] : starts[slot + 1]]:
            most = max(most, np.int32(posting))
            least = max(least, posting)
        highest[slot] = most
        lowest[slot] = least


@compiled
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


@compiled
def _kth_largest(sums: Array, count: int, level: Array, unused: Array) -> float:
    """The k-th largest of the first `count` sums, for `level` of length k; minus infinity where there are fewer."""
    level[:] = np.inf
    for row in range(count):
        if -sums[row] < level[0]:
            _sink(level, unused, -np.float64(sums[row]), 0)
    return float(-level[0])


@compiled
def _below(value: float) -> Any:
    """A float32 that lies below this value."""
    return np.float32(value - abs(value) * (4 * _UNIT) - 2.0**-140)


@compiled
def _distance(span: Span, dense: Array, row: int, plain: bool) -> float:
    """The exact distance, its terms in the order in which `distance.paired` adds them."""
    total = 0.0
    for place in range(span.indptr[row], span.indptr[row + 1]):
        weight = dense[span.indices[place]]
        if plain or weight != 0.0:  # infinity times a term that the query lacks is no number
            total += np.float64(span.values[place]) * weight
    return 0.0 - total


@compiled
def search(span: Span, asked: Asked, kept: Kept, scratch: Scratch, job: tuple[int, int, int]) -> None:
    """Offer the rows of a span to some queries; `job` is (first query, last query, point of the first row)."""
    for block in range(len(span.longest)):
        for query in range(job[0], job[1]):
            _search_block(span, asked, kept, scratch, (block, query, job[2]))


@compiled
def _search_block(span: Span, asked: Asked, kept: Kept, scratch: Scratch, job: tuple[int, int, int]) -> None:
    block, query, point = job
    count = span.edges[block + 1] - span.edges[block]
    length, longest = asked.lengths[query], span.longest[block]
    terms = asked.indptr[query + 1] - asked.indptr[query]
    safe = length < _SAFE and longest < _SAFE
    relative = (terms + 16) * 1.05 * _UNIT + 1.01 * _PACKED
    error = relative * length * longest + terms * _UNDERFLOW * (1 + length + longest)
    target = -kept.distances[query, 0]
    budget = target * kept.shares[query] if safe and target > 0 else 0.0
    rest, cosine, adds = _add_up(span, asked, scratch.sums, (block, query), budget)
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
            if measured * _MEASURE < 0.15 * adds:
                kept.shares[query] = min(0.99, share * 1.25)
            elif measured * _MEASURE > 0.5 * adds:
                kept.shares[query] = max(0.02, share * 0.75)
    elif adds:
        scratch.sums[:] = np.float32(-0.0)


@compiled
def _add_up(span: Span, asked: Asked, sums: Array, job: tuple[int, int], budget: float) -> tuple[float, float, int]:
    """Add the products of a query's terms to the sums of a block, but for those that stay within the budget.

    Returns what the terms left out can add to any row at most, the length of that part of the query, and how many
    products were added.
    """
    block, query = job
    starts, highest, lowest = span.starts[block], span.highest[block], span.lowest[block]
    longest = span.longest[block]
    postings, values = span.postings, span.postings.view(np.float32)
    rest, square, adds = 0.0, 0.0, 0
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
            continue
        adds += stop - start
        narrow = np.float32(weight)
        for at in range(start, stop):
            sums[np.uint16(postings[at])] += narrow * values[at]
    return rest, math.sqrt(square), adds


@compiled
def _next_strip(sums: Array, lengths: Array, part: tuple[int, int], limits: tuple[Any, Any, Any, Any]) -> int:
    """The first strip from `part[0]` on with a row above the limit; `part[1]` where there is none. Clears those before.

    Strips are sifted by the bits of float32, which ascend with the numbers above 0; only those that may have such a row
    are looked at closely. A function of its own, of constant strides, so that the compiler uses vector instructions.
    """
    most, along, limit, least = limits
    bits = sums.view(np.int32)
    for first in range(part[0], part[1], STRIP):
        strip = bits[first : first + STRIP]
        highest = _UNTOUCHED
        for row in range(STRIP):
            highest = max(highest, strip[row])
        if highest > least:
            near, far, hit = sums[first : first + STRIP], lengths[first : first + STRIP], False
            for row in range(STRIP):
                added = along * far[row]
                if not added < most:
                    added = most
                hit |= near[row] + added > limit
            if hit:
                return first
        for row in range(STRIP):
            strip[row] = _UNTOUCHED
    return part[1]


@compiled
def _least(level: float, added: float) -> Any:
    """The bits of a sum below which no row can exceed a level if at most so much is added; -1 where any may."""
    value = _below(level - added)
    return np.float32(value).view(np.int32) if value > 0 else np.int32(-1)


@compiled
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
    sums, bits, lengths = scratch.sums, scratch.sums.view(np.int32), span.lengths[first:]
    distances, points = kept.distances[query], kept.points[query]
    begin, end = asked.indptr[query], asked.indptr[query + 1]
    # Rounded to float32; the error that is allowed for covers it.
    most, along, limit = np.float32(rest), np.float32(cosine), _below(level)
    added = min(rest, cosine * span.longest[block])
    least = _least(level, added) if safe else np.int32(-1)
    measured = 0
    strip = 0
    while strip < count:
        if least >= 0:
            strip = _next_strip(sums, lengths, (strip, count), (most, along, limit, least))
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
                    least = max(least, _least(-distances[0] - error, added))
        bits[strip : strip + STRIP] = _UNTOUCHED
        strip += STRIP
    if measured:
        for place in range(begin, end):
            scratch.dense[asked.columns[place]] = 0.0
    return measured
