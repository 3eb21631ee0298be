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
_SPREAD = 9_973  # coprime to TERMS: scatters terms, so that their numbers do not tell how common they are
_MAIN, _BESIDE = 0, 1  # the lists of a row
FREE = 2  # no list: from all terms

Counts = npt.NDArray[np.int64]
Columns = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
Codes = npt.NDArray[np.uint8]
Bag = tuple[Counts, Columns, Codes]


@dataclass(frozen=True)
class Kind:
    """How the draws of one kind of row go."""

    sizes: npt.NDArray[np.int32]  # 16 random bits -> draws of a row
    places: npt.NDArray[np.int32]  # (places, 4): see `_kind`


class World:
    """Rows and queries of one seed."""

    def __init__(self, version: int, seed: int) -> None:
        self._purpose = ("splade-like", version, seed)
        scattered = (np.arange(TERMS, dtype=np.int64) * _SPREAD % TERMS).astype(np.int32)
        self._common = scattered[lookup(zipf(TERMS, 6), 18)].astype(np.int16)
        self._topics = self._make_topics(scattered)
        self._prominence = lookup(zipf(TOPICS, TOPICS // 8), 16)
        self.passages = _kind(_sizes(24, 374, 2, 4), 375)
        self.questions = _kind(_sizes(8, 158, 2, 4), 159)

    def stream(self, *what: object) -> Stream:
        """The stream of random words for this purpose in this world."""
        return Stream(*self._purpose, *what)

    def rows(self, kind: Kind, group: str, cell: int, count: int = CELL) -> Bag:
        """The first `count` rows of a cell: nonzeros of each, their columns (ascending within a row), their codes."""
        from ann_bench.datasets.makers.kernels.splade import Draws, Found, distinct_terms

        sizes = kind.sizes[self.stream(group, "sizes", cell).parts(np.uint16, CELL)][:count]
        topics, beside = self.stream(group, "topics", cell).parts(np.uint16, 2, CELL)[:, :count]
        main = self._prominence[topics]
        lists = np.stack([main, main ^ (beside & np.uint16(_GROUP - 1))], axis=1).astype(np.int32) * TOPIC
        drawn = int(sizes.sum())
        bits = self.stream(group, "draws", cell).parts(np.uint32, drawn)
        found = Found(np.empty(count, np.int64), np.empty(drawn, np.int32), np.empty(drawn, np.uint8))
        total = distinct_terms(Draws(sizes, lists, bits, kind.places, self._topics, self._common), found, TERMS)
        return found.counts, found.terms[:total], found.codes[:total]

    def _make_topics(self, scattered: Columns) -> npt.NDArray[np.int16]:
        """Lists of terms, most important first; half of a list is what the group of topics has in common."""
        groups = TOPICS // _GROUP
        own = self.stream("topic terms").parts(np.uint32, TOPICS, TOPIC) & np.uint32((1 << 18) - 1)
        shared = self.stream("group terms").parts(np.uint32, groups, TOPIC // 2) & np.uint32((1 << 18) - 1)
        flat = lookup(zipf(TERMS, 2_000), 18)  # what topics are made of: less common than what all say
        lists = scattered[flat[own]]
        lists[:, 1::2] = np.repeat(scattered[flat[shared]], _GROUP, axis=0)
        topics: npt.NDArray[np.int16] = lists.reshape(-1).astype(np.int16)
        return topics


def _sizes(least: int, most: int, rise: int, fall: int) -> npt.NDArray[np.int32]:
    """16 random bits -> how many terms a row draws: a beta's shape from `least` to `most`, in whole numbers."""
    draws = np.arange(least, most + 1, dtype=np.int64)
    weights = (draws - least + 4) ** rise * (most - draws + 4) ** fall
    drawn: npt.NDArray[np.int32] = lookup(weights // (weights.max() >> 20), 16) + np.int32(least)
    return drawn


def _kind(sizes: npt.NDArray[np.int32], places: int) -> Kind:
    """Of eight draws, five are of the topic, two of its neighbour, one of all terms; ranks widen as places grow.

    The columns of `places`: where a draw at this place within its row comes from, the least rank that it can draw, how
    many ranks it can draw, and its importance, below 256.
    """
    place = np.arange(places, dtype=np.int64)
    pattern = np.array([_MAIN, _BESIDE, _MAIN, _MAIN, FREE, _MAIN, _BESIDE, _MAIN])[place % 8]
    nth = np.where(pattern == _MAIN, place * 5 // 8, place // 4)
    first = np.minimum(nth * (64 + nth) // 64, TOPIC - 32)
    width = np.minimum(((nth + 2) * (66 + nth) // 64 - first), 32)
    weight = np.where(pattern == _MAIN, 255, 192) * 32 // (32 + nth)
    weight[pattern == FREE] = 72
    return Kind(sizes, np.stack([pattern, first, width, weight], axis=1).astype(np.int32))


def _weights() -> Floats:
    """Weights of the 256 codes, in 1/1024 of one: from 0.02 to 3, most of them small."""
    code = np.arange(256, dtype=np.int64)
    values: Floats = (20 + 4 * code + code * code * 2030 // 65_025).astype(np.float32)
    values *= np.float32(2.0**-10)
    return values


WEIGHTS = _weights()
