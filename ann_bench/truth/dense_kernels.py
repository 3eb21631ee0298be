"""Compiled loops of `tiles.py`, `best.py` and `distance.py`: find scores below a limit, insert points, sum pairs.

A module of its own because it imports numba, which takes most of a second: only work that pays for it comes here.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.compiled import compiled

Array = npt.NDArray[Any]

_SEGMENT = 1024  # scores that one vectorised test covers; most hold nothing
_CHUNK = 64  # the same where something was found
_TOGETHER = 16  # rows read ahead: a few times what a core can wait for at once
_PIECE = 128  # terms that numpy sums in one go; more are halved first


@compiled
def _any_below(line: Array, limit: Any) -> bool:
    # A loop without an exit and without writes, so that the compiler uses vector instructions.
    found = False
    for place in range(len(line)):
        found |= line[place] < limit
    return found


@compiled
def below(scores: Array, limits: Array, places: Array) -> int:
    """Write to `places` where in `scores` (queries, rows), read as one line, a score is below its query's limit.

    Places ascend. Returns how many there are; only as many as `places` holds are written.
    """
    count, columns = scores.shape
    found = 0
    for query in range(count):
        line, limit = scores[query], limits[query]
        for first in range(0, columns, _SEGMENT):
            last = min(first + _SEGMENT, columns)
            if not _any_below(line[first:last], limit):
                continue
            for start in range(first, last, _CHUNK):
                stop = min(start + _CHUNK, last)
                if not _any_below(line[start:stop], limit):
                    continue
                for place in range(start, stop):
                    if line[place] < limit:
                        if found < len(places):
                            places[found] = query * columns + place
                        found += 1
    return found


@compiled
def insert(lists: tuple[Array, Array], queries: Array, points: Array, distances: Array) -> None:
    """Insert points into `lists`: points and distances (n, k), nearest first; the last offered of equals is last."""
    held, reach = lists
    last = reach.shape[1] - 1
    for i in range(len(queries)):
        query, distance = queries[i], distances[i]
        place = last
        if not distance < reach[query, last]:
            continue
        while place > 0 and distance < reach[query, place - 1]:
            held[query, place], reach[query, place] = held[query, place - 1], reach[query, place - 1]
            place -= 1
        held[query, place], reach[query, place] = points[i], distance


@compiled
def _short_sum(terms: Array) -> float:
    """The sum of at most `_PIECE` terms by eight running sums, the order of numpy's `add.reduce`."""
    count = len(terms)
    total = 0.0
    whole = 0
    if count >= 8:
        a = b = c = d = e = f = g = h = 0.0
        for eight in range(count // 8):
            place = np.uint64(8 * eight)  # unsigned: an index that may be negative costs a test
            a += terms[place]
            b += terms[place + np.uint64(1)]
            c += terms[place + np.uint64(2)]
            d += terms[place + np.uint64(3)]
            e += terms[place + np.uint64(4)]
            f += terms[place + np.uint64(5)]
            g += terms[place + np.uint64(6)]
            h += terms[place + np.uint64(7)]
        total = ((a + b) + (c + d)) + ((e + f) + (g + h))
        whole = count - count % 8
    for place in range(whole, count):
        total += terms[place]
    return total


@compiled
def _long_sum(terms: Array, plan: Array, stack: Array) -> float:
    """The sum of any number of terms, piece by piece as `plan` says."""
    first = height = 0
    for step in range(len(plan)):
        stack[height] = _short_sum(terms[first : first + plan[step, 0]])
        first += plan[step, 0]
        for _ in range(plan[step, 1]):
            height -= 1
            stack[height] += stack[height + 1]
        height += 1
    return float(stack[0])


@compiled
def _terms(a: Array, b: Array, differences: bool, terms: Array) -> None:
    if differences:
        for place in range(len(terms)):
            difference = np.float64(a[place]) - np.float64(b[place])
            terms[place] = difference * difference
    else:
        for place in range(len(terms)):
            terms[place] = np.float64(a[place]) * np.float64(b[place])


@compiled
def _touch(b: Array, rows: Array) -> float:
    # The memory of several rows is asked for before any is waited for.
    total = 0.0
    step = 64 // b.itemsize  # a cache line
    for i in range(len(rows)):
        row = b[rows[i]]
        for line in range(0, len(row), step):
            total += row[line]
    return total


@compiled
def _sums(pairs: tuple[Array, Array, Array, Array], differences: bool, plan: Array, sums: Array) -> float:
    a, left, b, right = pairs
    terms, stack = np.empty(a.shape[1]), np.empty(len(plan) + 1)
    touched = 0.0
    for first in range(0, len(left), _TOGETHER):
        last = min(first + _TOGETHER, len(left))
        touched += _touch(b, right[first:last])
        for i in range(first, last):
            _terms(a[left[i]], b[right[i]], differences, terms)
            sums[i] = _long_sum(terms, plan, stack)
    return touched  # so that the compiler keeps it


def sums(a: Array, left: Array, b: Array, right: Array, differences: bool) -> npt.NDArray[np.float64]:
    """For each i the inner product of the rows `a[left[i]]` and `b[right[i]]`, or the square of what they differ by.

    `a` and `b` are float32 or float64 of d columns, `left` and `right` int64 (pairs,), not negative. Returns float64
    (pairs,): bit by bit what numpy's `multiply` and `add.reduce` give in float64, without arrays in between.
    """
    found = np.zeros(len(left))
    if a.shape[1]:
        _sums((a, left, b, right), differences, _plan(a.shape[1]), found)
    return found


@cache
def _plan(count: int) -> npt.NDArray[np.int64]:
    """How to sum so many terms: for each piece its length, and how many sums of two are due after it.

    numpy halves what has more than 128 terms, the first half a multiple of eight, and adds the sums of the halves.
    """

    def steps(terms: int) -> list[list[int]]:
        if terms <= _PIECE:
            return [[terms, 0]]
        half = terms // 2
        found = steps(half - half % 8) + steps(terms - half + half % 8)
        found[-1][1] += 1
        return found

    return np.array(steps(count), dtype=np.int64)
