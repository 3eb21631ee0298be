"""The loops of linscan, compiled by numba; none of them holds Python's lock."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numba import njit

Array: TypeAlias = np.ndarray
Arrays: TypeAlias = tuple[Array, ...]

ROWS = 1 << 16  # rows of a block: their numbers fit in 16 bits, their scores in the cache of one core
LEVELS = 128  # magnitudes of a weight: 1 to 127
CHUNK = 128  # scores that are looked at together


def fixed(array: Array, dtype: type | None = None) -> Array:
    """A plain read-only view: mapped, read-only and ordinary arrays are all of one type to the compiler."""
    view = np.asarray(array, dtype).view()
    view.setflags(write=False)
    return view


@njit(nogil=True)
def largest(terms: Array, weights: Array, scale: Array) -> None:
    """Raise `scale[term]` to the largest magnitude of the term's weights."""
    for place in range(len(terms)):
        term = terms[place]
        scale[term] = max(scale[term], abs(weights[place]))


@njit(nogil=True)
def sort_block(block: Arrays, scale: Array, rows: Array, codes: Array, starts: Array) -> None:
    """Write the postings of one block of rows: by term, and of one term the weights of largest magnitude first.

    A weight becomes a signed byte in units of `scale[term]`. `starts` (terms + 1,) says where each term begins.
    Two stable counting sorts, the first by magnitude, the second by term.
    """
    indptr, terms, weights = block
    count = indptr[-1] - indptr[0]
    code_of = np.empty(count, np.int8)
    ends = np.zeros(LEVELS + 1, np.int64)
    starts[:] = 0
    for place in range(count):
        term, weight = terms[place], weights[place]
        size = max(1, round(abs(weight) / scale[term])) if scale[term] > 0 else 1
        code_of[place] = -size if weight < 0 else size
        ends[LEVELS - size] += 1
        starts[term + 1] += 1
    for level in range(LEVELS):
        ends[level + 1] += ends[level]
    for term in range(len(starts) - 1):
        starts[term + 1] += starts[term]
    by_size, row_of = np.empty(count, np.int32), np.empty(count, np.uint16)
    for row in range(len(indptr) - 1):
        for place in range(indptr[row] - indptr[0], indptr[row + 1] - indptr[0]):
            level = LEVELS - abs(code_of[place]) - 1
            by_size[ends[level]], row_of[ends[level]] = place, row
            ends[level] += 1
    to = starts[:-1].copy()
    for order in range(count):
        place = by_size[order]
        term = terms[place]
        rows[to[term]], codes[to[term]] = row_of[order], code_of[place]
        to[term] += 1


@njit(nogil=True)
def count_sizes(first: int, last: int, offsets: Array, starts: Array, codes: Array, counts: Array) -> None:
    """For the terms from `first` to `last`: `counts[term, size]` postings are of this magnitude or a larger one."""
    for block in range(len(starts)):
        for term in range(first, last):
            for place in range(offsets[block] + starts[block, term], offsets[block] + starts[block, term + 1]):
                counts[term, abs(codes[place])] += 1
    for term in range(first, last):
        for size in range(LEVELS - 1, 0, -1):
            counts[term, size - 1] += counts[term, size]


@njit(nogil=True)
def cut(terms: Array, factors: Array, counts: Array, budget: float) -> Array:
    """For each term of a query, the least magnitude to scan: the largest products, `budget` of all postings."""
    least = np.ones(len(terms), np.int64)
    postings, low, high = 0, np.float32(0), np.float32(0)
    for at in range(len(terms)):
        postings += counts[terms[at], 1]
        high = max(high, abs(factors[at]) * LEVELS)
    if budget >= 1:
        return least
    for _ in range(24):  # bisection for the least product
        middle = (low + high) / 2
        taken = 0
        for at in range(len(terms)):
            if factors[at] != 0:
                taken += counts[terms[at], min(LEVELS - 1, max(1, np.int64(middle / abs(factors[at])) + 1))]
        low, high = (middle, high) if taken > budget * postings else (low, middle)
    for at in range(len(terms)):
        least[at] = max(1, np.int64(high / abs(factors[at])) + 1) if factors[at] != 0 else LEVELS
    return least


@njit(nogil=True)
def accumulate(rows: Array, codes: Array, least: int, factor: float, scores: Array) -> None:
    """Add one term's products to the scores of a block, down to the magnitude `least`."""
    stop = len(codes)
    if stop and abs(codes[stop - 1]) < least:
        low = 0
        while low < stop:
            middle = (low + stop) // 2
            if abs(codes[middle]) >= least:
                low = middle + 1
            else:
                stop = middle
    for place in range(stop):
        scores[rows[place]] += factor * codes[place]


@njit(nogil=True)
def sink(values: Array, names: Array, value: float, name: int) -> None:
    """Put (value, name) in the place of the smallest one of a heap."""
    at, size = 0, len(values)
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and values[child + 1] < values[child]:
            child += 1
        if values[child] >= value:
            break
        values[at], names[at] = values[child], names[child]
        at = child
    values[at], names[at] = value, name


@njit(nogil=True)
def collect(scores: Array, rows: range, values: Array, names: Array) -> None:
    """Move the largest scores of a block into the heap, and set all to 0.

    The scores of CHUNK rows are compared with the least of the heap at once, which the compiler makes one instruction
    for many: hardly ever is one of them larger.
    """
    for line in range((rows.stop - rows.start + CHUNK - 1) // CHUNK):
        larger, least = np.int32(0), values[0]
        for at in range(CHUNK):
            larger += np.int32(scores[line, at] > least)
        if larger > 0:
            start = rows.start + line * CHUNK
            for at in range(min(CHUNK, rows.stop - start)):
                if scores[line, at] > values[0]:
                    sink(values, names, scores[line, at], start + at)
    scores[:] = 0


@njit(nogil=True)
def scan(index: Arrays, count: int, queries: Arrays, budget: float, values: Array, names: Array) -> None:
    """Fill the heaps (queries, candidates) with the rows of largest approximate scores.

    Block by block, and within a block query by query: popular lists stay in the cache from one query to the next.
    """
    offsets, starts, rows, codes, scale, counts = index
    indptr, terms, weights = queries
    factors = weights * scale[terms]
    least = np.empty(len(terms), np.int64)
    for query in range(len(indptr) - 1):
        own = slice(indptr[query], indptr[query + 1])
        least[own] = cut(terms[own], factors[own], counts, budget)
    scores = np.zeros(ROWS, np.float32)
    for block in range(len(starts)):
        inside = range(block * ROWS, min((block + 1) * ROWS, count))
        for query in range(len(indptr) - 1):
            for at in range(indptr[query], indptr[query + 1]):
                if least[at] < LEVELS:
                    begin, end = (
                        offsets[block] + starts[block, terms[at]],
                        offsets[block] + starts[block, terms[at] + 1],
                    )
                    accumulate(rows[begin:end], codes[begin:end], least[at], factors[at], scores)
            collect(scores.reshape(-1, CHUNK), inside, values[query], names[query])


@njit(nogil=True)
def rescore(base: Arrays, queries: Arrays, dim: int, names: Array, answers: Array) -> None:
    """The candidates' exact inner products from the base; the best of them go into the answers, best first."""
    indptr, terms, weights = queries
    starts, base_terms, base_weights = base
    dense = np.zeros(dim, np.float32)
    exact = np.empty(names.shape[1], np.float64)
    for query in range(len(names)):
        for at in range(indptr[query], indptr[query + 1]):
            dense[terms[at]] += weights[at]
        for place in range(names.shape[1]):
            row, total = names[query, place], 0.0
            for at in range(starts[row], starts[row + 1]):
                total += np.float64(dense[base_terms[at]]) * base_weights[at]
            exact[place] = -total
        order = np.argsort(exact)
        for place in range(min(answers.shape[1], len(order))):
            answers[query, place] = names[query, order[place]]
        for at in range(indptr[query], indptr[query + 1]):
            dense[terms[at]] = 0
