"""The numbers behind `yfcc-like`: clusters in a hidden space of few dimensions, and a topic of tags for each.

Rows are made in cells of 8,192, each from streams of its own, so a cell needs no other. All arithmetic is exact:
whole numbers, or float32 products of whole numbers whose sums stay below 2**24 and so do not depend on the order
in which a BLAS adds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ann_bench.datasets.makers.cells import product
from ann_bench.datasets.makers.streams import Stream, lookup, zipf

CELL = 8192
DIM = 192
TAGS = 200_386
HIDDEN = 24  # dimensions of the hidden space
TOPIC = 64  # tags of a cluster's topic

_BLOCK = 256  # rows that a processor keeps at hand
_SHIFT = 12  # hidden coordinates times the basis, divided by 2**12, are steps of a byte
_MIDDLE = 120  # grey: where a vector lies whose hidden coordinates are 0
_NOISE = 16  # noise is a whole number in [0, 16)
_YEARS, _MONTHS, _COUNTRIES, _CAMERAS = 12, 12, 224, 1_024
_WORDS_FROM = _YEARS + _MONTHS + _COUNTRIES + _CAMERAS
_TAG_BITS = 18
_SPREAD = 99_991  # coprime to TAGS: scatters tag numbers, so that they do not tell how common a tag is

Counts = npt.NDArray[np.int64]
Columns = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class _Tables:
    """What is the same for all rows of a world."""

    basis: npt.NDArray[np.float32]  # (HIDDEN + 1, DIM); the last row lifts to the middle grey
    centres: npt.NDArray[np.int16]  # (clusters, HIDDEN)
    clusters: npt.NDArray[np.int32]  # 16 random bits -> cluster
    words: npt.NDArray[np.int32]  # 21 random bits -> word
    topics: npt.NDArray[np.int32]  # (clusters * TOPIC) words
    ranks: npt.NDArray[np.int32]  # 12 random bits -> place in a topic
    sizes: npt.NDArray[np.int32]  # 16 random bits -> how many words a bag draws
    homes: npt.NDArray[np.int32]  # cluster -> country
    countries: npt.NDArray[np.int32]  # 16 random bits -> country
    cameras: npt.NDArray[np.int32]  # 16 random bits -> camera
    years: npt.NDArray[np.int32]  # 16 random bits -> year


class World:
    """The base rows of one seed and size."""

    def __init__(self, version: int, seed: int, rows: int) -> None:
        self.rows = rows
        self.cells = -(-rows // CELL)
        self._purpose = ("yfcc-like", version, seed, rows)
        self._tables = self._make_tables()

    def stream(self, *what: object) -> Stream:
        """The stream of random words for this purpose in this world."""
        return Stream(*self._purpose, *what)

    def vectors(self, cell: int) -> Bytes:
        """The vectors of a cell: (rows, DIM)."""
        count = self._count(cell)
        hidden = self.stream("hidden", cell).bell(count, HIDDEN)
        # A bell of deviation 148 around centres of deviation 222: clusters that overlap, as photographs do.
        hidden += self._tables.centres[self._clusters(cell)]
        return self.shown(hidden, self.stream("noise", cell))

    def shown(self, hidden: npt.NDArray[np.int16], noise: Stream) -> Bytes:
        """Hidden coordinates (rows, HIDDEN) as vectors (rows, DIM) of bytes, with noise."""
        lifted = np.ones((len(hidden), HIDDEN + 1), dtype=np.float32)
        lifted[:, :HIDDEN] = hidden
        grain = noise.parts(np.uint8, len(hidden), DIM) & np.uint8(_NOISE - 1)
        shown = np.empty((len(hidden), DIM), dtype=np.uint8)
        for start in range(0, len(hidden), _BLOCK):
            part = slice(start, start + _BLOCK)
            vectors = product(lifted[part], self._tables.basis)
            vectors *= np.float32(2.0**-_SHIFT)
            vectors += grain[part]
            np.maximum(vectors, np.float32(0), out=vectors)
            np.minimum(vectors, np.float32(255), out=vectors)
            shown[part] = vectors.astype(np.uint8)
        return shown

    def tags(self, cell: int) -> tuple[Counts, Columns]:
        """The bags of a cell: tags of each row, and their numbers, ascending within a row."""
        tables, count = self._tables, self._count(cell)
        clusters = self._clusters(cell)
        sizes_bits, year_bits, country_bits, camera_bits = self.stream("bags", cell).parts(np.uint16, 4, count)
        months, flags = self.stream("dates", cell).parts(np.uint8, 2, count)
        row = np.arange(count, dtype=np.int32) << _TAG_BITS
        at_home = (flags & 3) != 0  # three in four are taken in the cluster's own country
        country = np.where(at_home, tables.homes[clusters], tables.countries[country_bits])
        has_country, has_camera = (flags & 12) != 0, (flags & 48) != 0
        camera = _YEARS + _MONTHS + _COUNTRIES + tables.cameras[camera_bits]
        drawn, owner = self._words(cell, tables.sizes[sizes_bits], clusters)
        keys = np.concatenate(
            [
                row | _scattered(tables.years[year_bits]),
                row | _scattered(_YEARS + months.astype(np.int32) % _MONTHS),
                row[has_country] | _scattered(_YEARS + _MONTHS + country[has_country]),
                row[has_camera] | _scattered(camera[has_camera]),
                row[owner] | _scattered(drawn),
            ]
        )
        keys.sort()
        keys = keys[np.append(True, keys[1:] != keys[:-1])]
        counts = np.bincount(keys >> _TAG_BITS, minlength=count)
        return counts, keys & np.int32((1 << _TAG_BITS) - 1)

    def _words(
        self, cell: int, sizes: npt.NDArray[np.int32], clusters: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
        """Words of all bags and the row of each; three in four are of the cluster's topic."""
        owner = np.repeat(np.arange(len(sizes)), sizes)
        bits = self.stream("words", cell).parts(np.uint32, len(owner))
        place = clusters[owner] * TOPIC + self._tables.ranks[bits & 4095]
        common = self._tables.words[bits & np.uint32((1 << 21) - 1)]
        return np.where((bits >> 29) != 0, self._tables.topics[place], common), owner

    def _count(self, cell: int) -> int:
        return min(CELL, self.rows - cell * CELL)

    def _clusters(self, cell: int) -> npt.NDArray[np.int32]:
        drawn: npt.NDArray[np.int32] = self._tables.clusters[
            self.stream("clusters", cell).parts(np.uint16, self._count(cell))
        ]
        return drawn

    def _make_tables(self) -> _Tables:
        clusters = min(4096, max(64, self.rows // 256))
        words = lookup(zipf(TAGS - _WORDS_FROM, 24), 21) + np.int32(_WORDS_FROM)
        # The commoner of two words: topics are made of what many people say.
        mixed = (self.stream("topics").parts(np.uint32, 2, clusters * TOPIC) & np.uint32((1 << 21) - 1)).min(axis=0)
        # Early dimensions weigh more, as the principal components of learned vectors do.
        scale = 40 + 320 // np.arange(4, 4 + HIDDEN)
        basis = np.full((HIDDEN + 1, DIM), _MIDDLE << _SHIFT, dtype=np.float32)
        signs = self.stream("basis").bell(HIDDEN, DIM).astype(np.int64)
        basis[:HIDDEN] = signs * scale[:, None] >> 7
        centres = self.stream("centres").bell(clusters, HIDDEN)
        return _Tables(
            basis=basis,
            centres=centres + (centres >> 1),
            clusters=lookup(zipf(clusters, clusters // 8), 16),
            words=words,
            topics=words[mixed],
            ranks=lookup(zipf(TOPIC, 4), 12),
            sizes=lookup(_bag_sizes(), 16),
            homes=lookup(zipf(_COUNTRIES, 3), 16)[self.stream("homes").parts(np.uint16, clusters)],
            countries=lookup(zipf(_COUNTRIES, 3), 16),
            cameras=lookup(zipf(_CAMERAS, 8), 16),
            years=lookup(zipf(_YEARS, 6), 16),
        )


def _bag_sizes() -> npt.NDArray[np.int64]:
    """Weights of 0 to 40 words in a bag: most have a few, some have many."""
    words = np.arange(41, dtype=np.int64)
    return (words + 4) * (41 - words) ** 5


def _scattered(tags: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """Tag numbers without the order of how common they are: a permutation of [0, TAGS)."""
    return (tags.astype(np.int64) * _SPREAD % TAGS).astype(np.int32)


class Asked:
    """A set of queries: each lies near a base row, and asks for 1 or 2 of that row's tags."""

    def __init__(self, world: World, group: str, count: int) -> None:
        self._world = world
        self._group = group
        self._total = count

    def vectors(self, cell: int, base: IO[bytes]) -> Bytes:
        """The vectors of a cell of queries; `base` is the file of the base's vectors."""
        rows = self._rows(cell)
        near = np.empty((len(rows), DIM), dtype=np.uint8)
        for at, row in enumerate(rows.tolist()):
            near[at] = np.frombuffer(_read(base, 8 + row * DIM, DIM), dtype=np.uint8)
        # Three quarters of a cluster's deviation away from the row, which need not stay the nearest.
        step = self._world.stream(self._group, "step", cell).bell(len(rows), HIDDEN)
        step -= step >> 2
        moved = self._world.shown(step, self._world.stream(self._group, "noise", cell)).astype(np.int16)
        moved += near
        moved -= np.int16(_MIDDLE + _NOISE // 2)
        return np.clip(moved, 0, 255).astype(np.uint8)

    def tags(self, cell: int, bags: IO[bytes]) -> tuple[Counts, Columns]:
        """The tags of a cell of queries; `bags` is the file of the base's tags."""
        rows = self._rows(cell)
        choice = self._world.stream(self._group, "choice", cell).parts(np.uint32, 2, len(rows)).tolist()
        starts = 24 + 8 * (self._world.rows + 1)
        counts, columns = [], []
        for row, first, second in zip(rows.tolist(), *choice, strict=True):
            low, high = np.frombuffer(_read(bags, 24 + 8 * row, 16), dtype="<i8").tolist()
            bag = np.frombuffer(_read(bags, starts + 4 * low, 4 * (high - low)), dtype="<i4").tolist()
            chosen = [bag.pop(first % len(bag))]
            if bag and second & 1:
                chosen.append(bag[(second >> 1) % len(bag)])
            counts.append(len(chosen))
            columns += sorted(chosen)
        return np.array(counts, dtype=np.int64), np.array(columns, dtype=np.int32)

    def _rows(self, cell: int) -> npt.NDArray[np.int64]:
        """The base rows that the queries of a cell lie near."""
        count = min(CELL, self._total - cell * CELL)
        words = self._world.stream(self._group, "rows", cell).words(count)
        rows: npt.NDArray[np.int64] = (words % np.uint64(self._world.rows)).astype(np.int64)
        return rows


def _read(file: IO[bytes], offset: int, count: int) -> bytes:
    file.seek(offset)
    return file.read(count)
