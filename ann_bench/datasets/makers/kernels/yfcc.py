"""Compiled loops of `yfcc_world.py`: vectors of bytes, and bags of distinct tags, ascending."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ann_bench.compiled import compiled
from ann_bench.datasets.makers.yfcc_world import SINGLE

Array = npt.NDArray[Any]


class BagTables(NamedTuple):
    """Which tag some random bits mean, and what a cluster prefers."""

    sizes: npt.NDArray[np.int32]  # 16 bits -> how many words a bag draws
    years: npt.NDArray[np.int32]  # 16 bits -> tag
    months: npt.NDArray[np.int32]  # 8 bits -> tag
    homes: npt.NDArray[np.int32]  # cluster -> tag of its country
    countries: npt.NDArray[np.int32]  # 16 bits -> tag
    cameras: npt.NDArray[np.int32]  # 16 bits -> tag
    words: npt.NDArray[np.int32]  # 21 bits -> tag
    topics: npt.NDArray[np.int32]  # (clusters, length of a topic) tags
    ranks: npt.NDArray[np.int32]  # 12 bits -> place in a topic


class BagBits(NamedTuple):
    """The random bits of some rows; `words` has one number for each word, row by row."""

    clusters: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.int32]  # how many words each row draws
    years: npt.NDArray[np.uint16]
    countries: npt.NDArray[np.uint16]
    cameras: npt.NDArray[np.uint16]
    months: npt.NDArray[np.uint8]
    flags: npt.NDArray[np.uint8]
    words: npt.NDArray[np.uint32]


@compiled
def hidden_points(planes: Array, centres: Array, clusters: Array, lifted: Array) -> None:
    """`lifted[:, :-1]` becomes the centre of each row's cluster plus a bell, whose four bytes are `planes[:, row]`."""
    for row in range(planes.shape[1]):
        centre = centres[clusters[row]]
        for at in range(planes.shape[2]):
            low = np.int32(planes[0, row, at]) + np.int32(planes[1, row, at])
            high = np.int32(planes[2, row, at]) + np.int32(planes[3, row, at])
            lifted[row, at] = low + high - np.int32(510) + np.int32(centre[at])


@compiled
def to_bytes(seen: Array, noise: Array, shift: int, vectors: Array) -> None:
    """`vectors` becomes the whole numbers `seen` (float32) divided by 2**shift, plus the low four bits of the noise.

    All three are flat.
    """
    for at in range(len(seen)):
        value = (np.int32(seen[at]) >> np.int32(shift)) + np.int32(noise[at] & np.uint8(15))
        vectors[at] = np.uint8(min(max(value, np.int32(0)), np.int32(255)))


@compiled
def fill_bags(tables: BagTables, bits: BagBits, counts: Array, tags: Array) -> int:
    """How many tags each row has, and the tags of all rows one after another; returns how many there are in all."""
    _, years, months, homes, countries, cameras, words, topics, ranks = tables
    clusters, sizes, year_bits, country_bits, camera_bits, month_bits, flags, word_bits = bits
    longest = SINGLE + sizes.max()
    drawn, ordered = np.empty(longest, dtype=np.int32), np.empty(longest, dtype=np.int32)
    at, end = 0, 0
    for row in range(len(sizes)):
        drawn[0] = years[year_bits[row]]
        drawn[1] = months[month_bits[row]]
        # Three in four are taken in the cluster's own country.
        drawn[2] = homes[clusters[row]] if flags[row] & 3 else countries[country_bits[row]]
        count = 2 + ((flags[row] & 12) != 0)  # whether it is known
        drawn[count] = cameras[camera_bits[row]]
        count += (flags[row] & 48) != 0
        for _ in range(sizes[row]):
            word = word_bits[at]
            at += 1
            if word >> np.uint32(29):  # seven in eight are of the cluster's topic
                drawn[count] = topics[clusters[row], ranks[word & np.uint32(4095)]]
            else:
                drawn[count] = words[word & np.uint32((1 << 21) - 1)]
            count += 1
        ordered[:count] = -1
        for one in range(count):  # its place is the number of lower ones; equal ones share a place
            tag, lower = drawn[one], np.int32(0)
            for other in range(count):
                lower += np.int32(drawn[other] < tag)
            ordered[lower] = tag
        start = end
        for one in range(count):
            tags[end] = ordered[one]
            end += ordered[one] >= 0
        counts[row] = end - start
    return end
