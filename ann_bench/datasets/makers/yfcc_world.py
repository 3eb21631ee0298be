"""The numbers behind `yfcc-like`: clusters in a hidden space of few dimensions, and a topic of tags for each.

Rows are made in cells of 8,192, each from streams of its own, so a cell needs no other. All arithmetic is exact:
whole numbers, or float32 products of whole numbers whose sums stay below 2**24 and so do not depend on the order
in which a BLAS adds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import IO, TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ann_bench.datasets.makers.cells import product
from ann_bench.datasets.makers.streams import Stream, lookup, zipf

if TYPE_CHECKING:
    from ann_bench.datasets.makers.kernels.yfcc import BagTables

CELL = 8192
DIM = 192
TAGS = 200_386
HIDDEN = 24  # dimensions of the hidden space
TOPIC = 64  # tags of a cluster's topic
SINGLE = 4  # tags of a bag that are no words: year, month, country, camera

_SHIFT = 12  # hidden coordinates times the basis, divided by 2**12, are steps of a byte
_MIDDLE = 120  # grey: where a vector lies whose hidden coordinates are 0
_NOISE = 16  # noise is a whole number in [0, 16)
_YEARS, _MONTHS, _COUNTRIES, _CAMERAS = 12, 12, 224, 1_024
_COUNTRIES_FROM = _YEARS + _MONTHS
_CAMERAS_FROM = _COUNTRIES_FROM + _COUNTRIES
_WORDS_FROM = _CAMERAS_FROM + _CAMERAS
_SPREAD = 99_991  # coprime to TAGS: scatters tag numbers, so that they do not tell how common a tag is

Counts = npt.NDArray[np.int64]
Columns = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class _Tables:
    """What is the same for all vectors of a world."""

    basis: npt.NDArray[np.float32]  # (HIDDEN + 1, DIM); the last row lifts to the middle grey
    centres: npt.NDArray[np.int16]  # (clusters, HIDDEN)
    clusters: npt.NDArray[np.int32]  # 16 random bits -> cluster


class World:
    """The base rows of one seed and size."""

    def __init__(self, version: int, seed: int, rows: int) -> None:
        self.rows = rows
        self.cells = -(-rows // CELL)
        self._count_of_clusters = min(4096, max(64, rows // 256))
        self._purpose = ("yfcc-like", version, seed, rows)
        self._tables = self._make_tables()

    def stream(self, *what: object) -> Stream:
        """The stream of random words for this purpose in this world."""
        return Stream(*self._purpose, *what)

    def vectors(self, cell: int) -> Bytes:
        """The vectors of a cell: (rows, DIM)."""
        from ann_bench.datasets.makers.kernels.yfcc import hidden_points

        count = self._count(cell)
        lifted = np.ones((count, HIDDEN + 1), dtype=np.float32)
        planes = self.stream("hidden", cell).parts(np.uint8, 4, count, HIDDEN)
        # A bell of deviation 148 around centres of deviation 222: clusters that overlap, as photographs do.
        hidden_points(planes, self._tables.centres, self._clusters(cell), lifted)
        return self._seen(lifted, self.stream("noise", cell))

    def shown(self, hidden: npt.NDArray[np.int16], noise: Stream) -> Bytes:
        """Hidden coordinates (rows, HIDDEN) as vectors (rows, DIM) of bytes, with noise."""
        lifted = np.ones((len(hidden), HIDDEN + 1), dtype=np.float32)
        lifted[:, :HIDDEN] = hidden
        return self._seen(lifted, noise)

    def _seen(self, lifted: npt.NDArray[np.float32], noise: Stream) -> Bytes:
        from ann_bench.datasets.makers.kernels.yfcc import to_bytes

        shown = np.empty((len(lifted), DIM), dtype=np.uint8)
        seen, grain = product(lifted, self._tables.basis), noise.parts(np.uint8, shown.size)
        to_bytes(seen.reshape(-1), grain, _SHIFT, shown.reshape(-1))
        return shown

    def tags(self, cell: int) -> tuple[Counts, Columns]:
        """The bags of a cell: tags of each row, and their numbers, ascending within a row."""
        from ann_bench.datasets.makers.kernels.yfcc import BagBits, fill_bags

        count = self._count(cell)
        sizes, years, countries, cameras = self.stream("bags", cell).parts(np.uint16, 4, count)
        months, flags = self.stream("dates", cell).parts(np.uint8, 2, count)
        drawn = self._bags.sizes[sizes]
        total = int(drawn.sum())
        words = self.stream("words", cell).parts(np.uint32, total)
        counts = np.empty(count, dtype=np.int64)
        tags = np.empty(total + SINGLE * count, dtype=np.int32)
        bits = BagBits(self._clusters(cell), drawn, years, countries, cameras, months, flags, words)
        filled = fill_bags(self._bags, bits, counts, tags)
        return counts, tags[:filled]

    def _count(self, cell: int) -> int:
        return min(CELL, self.rows - cell * CELL)

    def _clusters(self, cell: int) -> npt.NDArray[np.int32]:
        drawn: npt.NDArray[np.int32] = self._tables.clusters[
            self.stream("clusters", cell).parts(np.uint16, self._count(cell))
        ]
        return drawn

    def _make_tables(self) -> _Tables:
        # Early dimensions weigh more, as the principal components of learned vectors do.
        scale = 40 + 320 // np.arange(4, 4 + HIDDEN)
        basis = np.full((HIDDEN + 1, DIM), _MIDDLE << _SHIFT, dtype=np.float32)
        signs = self.stream("basis").bell(HIDDEN, DIM).astype(np.int64)
        basis[:HIDDEN] = signs * scale[:, None] >> 7
        centres = self.stream("centres").bell(self._count_of_clusters, HIDDEN)
        return _Tables(basis, centres + (centres >> 1), lookup(zipf(len(centres), len(centres) // 8), 16))

    @cached_property
    def _bags(self) -> BagTables:
        """Made for the first cell of tags; vectors do without."""
        from ann_bench.datasets.makers.kernels.yfcc import BagTables

        clusters = self._count_of_clusters
        # Tag numbers without the order of how common they are.
        tags = (np.arange(TAGS, dtype=np.int64) * _SPREAD % TAGS).astype(np.int32)
        words = tags[_WORDS_FROM:][lookup(zipf(TAGS - _WORDS_FROM, 24), 21)]
        # The commoner of two words: topics are made of what many people say.
        mixed = (self.stream("topics").parts(np.uint32, 2, clusters * TOPIC) & np.uint32((1 << 21) - 1)).min(axis=0)
        countries = tags[_COUNTRIES_FROM:][lookup(zipf(_COUNTRIES, 3), 16)]
        return BagTables(
            sizes=lookup(_bag_sizes(), 16),
            years=tags[lookup(zipf(_YEARS, 6), 16)],
            months=tags[_YEARS + np.arange(256) % _MONTHS],
            homes=countries[self.stream("homes").parts(np.uint16, clusters)],
            countries=countries,
            cameras=tags[_CAMERAS_FROM:][lookup(zipf(_CAMERAS, 8), 16)],
            words=words,
            topics=words[mixed].reshape(clusters, TOPIC),
            ranks=lookup(zipf(TOPIC, 4), 12),
        )


def _bag_sizes() -> npt.NDArray[np.int64]:
    """Weights of 0 to 40 words in a bag: most have a few, some have many."""
    words = np.arange(41, dtype=np.int64)
    return (words + 4) * (41 - words) ** 5


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
