"""Compiled loops of `splade_world.py`: draws become rows of distinct terms, ascending."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ann_bench.compiled import compiled
from ann_bench.datasets.makers.splade_world import FREE

Array = npt.NDArray[Any]


class Draws(NamedTuple):
    """The draws of some rows, and the tables through which they go."""

    sizes: npt.NDArray[np.int32]  # (rows,) draws of each row
    lists: npt.NDArray[np.int32]  # (rows, 2): where the lists of its topic and of the neighbour begin
    bits: npt.NDArray[np.uint32]  # one word for each draw
    places: npt.NDArray[np.int32]  # (places, 4): list or FREE, first rank, ranks, importance
    topics: npt.NDArray[np.int16]  # terms of all lists
    common: npt.NDArray[np.int16]  # 18 random bits -> term


class Found(NamedTuple):
    """Room for the answer: how many terms each row has, their numbers and the codes of their weights, row by row."""

    counts: npt.NDArray[np.int64]
    terms: npt.NDArray[np.int32]
    codes: npt.NDArray[np.uint8]


_SEQUENCE = np.uint64(0x03F79D71B4CB0A89)  # de Bruijn's: any six of its bits in a row are found once
_LOWEST = np.argsort((_SEQUENCE << np.arange(64, dtype=np.uint64)) >> np.uint64(58)).astype(np.int64)
_ONE, _TOP = np.uint64(1), np.uint64(58)


@compiled
def _lowest(word: Any) -> int:
    """The number of the lowest bit that is set."""
    return int(_LOWEST[((word & (~word + _ONE)) * _SEQUENCE) >> _TOP])


@compiled
def distinct_terms(draws: Draws, found: Found, columns: int) -> int:
    """Fill `found`; returns how many terms there are in all. Of equal terms the largest weight is kept.

    A term is a bit of `seen`, and a word of `seen` is a bit of `words`: to read them out in order is to sort.
    """
    sizes, lists, words_of, places, topics, common = draws
    counts, terms, codes = found
    seen = np.zeros((columns >> 6) + 1, dtype=np.uint64)
    words = np.zeros((columns >> 12) + 1, dtype=np.uint64)
    best = np.zeros(columns, dtype=np.uint8)
    at, end = 0, 0
    for row in range(len(sizes)):
        for place in range(sizes[row]):
            bits = words_of[at]
            at += 1
            origin = places[place, 0]
            if origin == FREE:
                term = np.int64(common[bits & np.uint32((1 << 18) - 1)])
            else:
                rank = places[place, 1] + (places[place, 2] * np.int32(bits & np.uint32(255)) >> 8)
                term = np.int64(topics[lists[row, origin] + rank])
            code = np.uint8(places[place, 3] * (52 + np.int32(bits >> np.uint32(24)) * 4 // 5) >> 8)
            seen[term >> 6] |= _ONE << np.uint64(term & 63)
            words[term >> 12] |= _ONE << np.uint64(term >> 6 & 63)
            best[term] = max(best[term], code)
        start = end
        for group in range(len(words)):
            filled = words[group]
            words[group] = 0
            while filled:
                word = (group << 6) + _lowest(filled)
                filled &= filled - _ONE
                bag = seen[word]
                seen[word] = 0
                while bag:
                    term = (word << 6) + _lowest(bag)
                    bag &= bag - _ONE
                    terms[end] = term
                    codes[end] = best[term]
                    best[term] = 0
                    end += 1
        counts[row] = end - start
    return end
