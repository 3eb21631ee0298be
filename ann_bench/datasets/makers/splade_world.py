"""The numbers behind `splade-like`: topics are ranked lists of terms, and a row is a handful of draws from them.

A row is about a topic and a neighbour of it. Its draws are spread over the ranks of both lists, densely where terms
are important, and some fall on any term. Rows are made in cells of 4,096, each from streams of its own, and the number
of rows is no part of their purpose: a smaller set is the beginning of a larger one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ann_bench.datasets.makers.streams import Stream, lookup, zipf

CELL = 4096
TERMS = 30_109
TOPICS = 8192
TOPIC = 256  # terms of a topic's list

_GROUP = 16  # topics that are neighbours
_CHUNK = 64  # rows that are sorted at once: their terms fit a fast cache
_TERM_BITS, _WEIGHT_BITS = 15, 8
_SPREAD = 9_973  # coprime to TERMS: scatters terms, so that their numbers do not tell how common they are
_MAIN, _BESIDE, _ANY = 0, 1, 2

Counts = npt.NDArray[np.int64]
Columns = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
Bag = tuple[Counts, Columns, Floats]


@dataclass(frozen=True)
class Kind:
    """How the draws of one kind of row go: the tables are indexed by a draw's place within its row."""

    sizes: npt.NDArray[np.int32]  # 16 random bits -> draws of a row
    beside: npt.NDArray[np.int32]  # 1 where the place draws from the neighbouring topic
    free: npt.NDArray[np.bool_]  # where the place draws from all terms
    first: npt.NDArray[np.int32]  # the least rank that the place can draw
    width: npt.NDArray[np.int32]  # how many ranks it can draw
    weight: npt.NDArray[np.int32]  # its importance, below 256


class World:
    """Rows and queries of one seed."""

    def __init__(self, version: int, seed: int) -> None:
        self._purpose = ("splade-like", version, seed)
        scattered = (np.arange(TERMS, dtype=np.int64) * _SPREAD % TERMS).astype(np.int32)
        self._common = scattered[lookup(zipf(TERMS, 6), 18)]
        self._topics = self._make_topics(scattered)
        self._prominence = lookup(zipf(TOPICS, TOPICS // 8), 16)
        self._values = _weights()
        self.passages = _kind(_sizes(24, 374, 2, 4), 375)
        self.questions = _kind(_sizes(8, 158, 2, 4), 159)

    def stream(self, *what: object) -> Stream:
        """The stream of random words for this purpose in this world."""
        return Stream(*self._purpose, *what)

    def rows(self, kind: Kind, group: str, cell: int, count: int = CELL) -> Bag:
        """The first `count` rows of a cell: nonzeros of each, their columns (ascending within a row), their values."""
        sizes = kind.sizes[self.stream(group, "sizes", cell).parts(np.uint16, CELL)]
        topics, beside = self.stream(group, "topics", cell).parts(np.uint16, 2, CELL)
        main = self._prominence[topics]
        pair = np.stack([main, main ^ (beside & np.uint16(_GROUP - 1))], axis=1).astype(np.int32) * TOPIC
        bits = self.stream(group, "draws", cell).parts(np.uint32, int(sizes.sum()))
        counts, columns, values, start = [], [], [], 0
        for row in range(0, count, _CHUNK):
            here = slice(row, min(row + _CHUNK, count))
            stop = start + int(sizes[here].sum())
            found = self._draw(kind, sizes[here], pair[here], bits[start:stop])
            counts.append(_starts(found, len(sizes[here])))
            columns.append(found >> _WEIGHT_BITS & np.int32((1 << _TERM_BITS) - 1))
            values.append(self._values.take(found & np.int32((1 << _WEIGHT_BITS) - 1)))
            start = stop
        return np.concatenate(counts), np.concatenate(columns), np.concatenate(values)

    def _draw(
        self, kind: Kind, sizes: npt.NDArray[np.int32], pair: Columns, bits: npt.NDArray[np.uint32]
    ) -> npt.NDArray[np.int32]:
        """Distinct terms of a chunk of rows: row, term and weight packed into one number, ascending."""
        ends = np.cumsum(sizes, dtype=np.int32)
        row = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        place = np.arange(len(row), dtype=np.int32) - np.repeat(ends - sizes, sizes)
        signed = bits.view(np.int32)
        rank = kind.first.take(place)
        rank += kind.width.take(place) * (signed & np.int32(255)) >> 8
        rank += pair.reshape(-1).take(2 * row + kind.beside.take(place))
        term = self._topics.take(rank)
        free = np.flatnonzero(kind.free.take(place))
        term[free] = self._common.take(signed.take(free) & np.int32((1 << 18) - 1))
        weight = kind.weight.take(place)
        weight *= np.int32(52) + (signed >> np.int32(24) & np.int32(255)) * np.int32(4) // np.int32(5)
        keys: npt.NDArray[np.int32] = ((row << _TERM_BITS | term) << _WEIGHT_BITS) | weight >> 8
        keys.sort()
        names = keys >> _WEIGHT_BITS
        # The last of equal terms has the largest weight.
        return keys[np.flatnonzero(np.append(names[1:] != names[:-1], True))]

    def _make_topics(self, scattered: Columns) -> Columns:
        """Lists of terms, most important first; half of a list is what the group of topics has in common."""
        groups = TOPICS // _GROUP
        own = self.stream("topic terms").parts(np.uint32, TOPICS, TOPIC) & np.uint32((1 << 18) - 1)
        shared = self.stream("group terms").parts(np.uint32, groups, TOPIC // 2) & np.uint32((1 << 18) - 1)
        flat = lookup(zipf(TERMS, 2_000), 18)  # what topics are made of: less common than what all say
        lists = scattered[flat[own]]
        lists[:, 1::2] = np.repeat(scattered[flat[shared]], _GROUP, axis=0)
        return np.ascontiguousarray(lists.reshape(-1))


def _starts(keys: npt.NDArray[np.int32], rows: int) -> Counts:
    """How many of the ascending keys belong to each row."""
    starts = np.arange(rows + 1, dtype=np.int32) << (_TERM_BITS + _WEIGHT_BITS)
    return np.diff(np.searchsorted(keys, starts)).astype(np.int64)


def _sizes(least: int, most: int, rise: int, fall: int) -> npt.NDArray[np.int32]:
    """16 random bits -> how many terms a row draws: a beta's shape from `least` to `most`, in whole numbers."""
    draws = np.arange(least, most + 1, dtype=np.int64)
    weights = (draws - least + 4) ** rise * (most - draws + 4) ** fall
    drawn: npt.NDArray[np.int32] = lookup(weights // (weights.max() >> 20), 16) + np.int32(least)
    return drawn


def _kind(sizes: npt.NDArray[np.int32], places: int) -> Kind:
    """Of eight draws, five are of the topic, two of its neighbour, one of all terms; ranks widen as places grow."""
    place = np.arange(places, dtype=np.int64)
    pattern = np.array([_MAIN, _BESIDE, _MAIN, _MAIN, _ANY, _MAIN, _BESIDE, _MAIN])[place % 8]
    nth = np.where(pattern == _MAIN, place * 5 // 8, place // 4)
    first = np.minimum(nth * (64 + nth) // 64, TOPIC - 32)
    width = np.minimum(((nth + 2) * (66 + nth) // 64 - first), 32)
    weight = np.where(pattern == _MAIN, 255, 192) * 32 // (32 + nth)
    weight[pattern == _ANY] = 72
    return Kind(
        sizes,
        (pattern == _BESIDE).astype(np.int32),
        pattern == _ANY,
        first.astype(np.int32),
        width.astype(np.int32),
        weight.astype(np.int32),
    )


def _weights() -> Floats:
    """Weights of the 256 codes, in 1/1024 of one: from 0.02 to 3, most of them small."""
    code = np.arange(256, dtype=np.int64)
    values: Floats = (20 + 4 * code + code * code * 2030 // 65_025).astype(np.float32)
    values *= np.float32(2.0**-10)
    return values
