"""The numbers behind `text2image-like`: pictures and texts about the same concepts, seen through different matrices.

A concept is a centre in a hidden space. A picture and a text are nearly normal steps away from centres; what is
strong in pictures is weak in texts and the other way round, so the neighbours of a text lie scattered among the
pictures. Rows are made in cells of 8,192, each from streams of its own, and the number of rows is no part of their
purpose: a smaller set is the beginning of a larger one. Matrix products are of whole numbers whose sums stay below
2**24, exact in any order of adding; the rest is done value by value, which IEEE 754 defines to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ann_bench.datasets.makers.cells import product
from ann_bench.datasets.makers.streams import Stream, lookup, zipf

CELL = 8192
DIM = 200
HIDDEN = 32  # hidden dimensions that pictures and texts share
STYLE = 12  # hidden dimensions that only texts have
CONCEPTS = 4096

_BLOCK = 2048  # rows at a time: few calls, and still near the processor
_UNIT = 2.0**-21  # brings norms near 1
_NOISE = 512.0  # of one step of a noise byte
_LENGTH = 2.0**-11  # of one step of a bell: lengths deviate by 7 % more than the concepts make them

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Look:
    """How one kind of row is made: which concepts it is about, and the matrix through which they are seen."""

    concepts: npt.NDArray[np.int32]  # 16 random bits -> concept
    basis: Floats  # (hidden dimensions + 1, DIM); the last row is the mean
    style: int  # hidden dimensions without a concept


class World:
    """Pictures (the base) and texts (the queries) of one seed."""

    def __init__(self, version: int, seed: int) -> None:
        self._purpose = ("text2image-like", version, seed)
        centres = self.stream("centres").bell(CONCEPTS, HIDDEN)
        self._centres = centres + (centres >> 1)
        common = lookup(zipf(CONCEPTS, CONCEPTS // 8), 16)
        shared = self.stream("basis").bell(HIDDEN, DIM).astype(np.int64)
        turned = self.stream("texts basis").bell(HIDDEN + STYLE, DIM).astype(np.int64)
        turned[:HIDDEN] = (3 * shared + 2 * turned[:HIDDEN]) >> 2
        falling = 24 + 640 // np.arange(4, 4 + HIDDEN)
        rising = np.append(32 + 2 * np.arange(HIDDEN), np.full(STYLE, 64))
        self.pictures = Look(common, self._basis("pictures", shared, falling, 300), 0)
        # The commonest concept of the pictures is the rarest of the texts.
        self.texts = Look(CONCEPTS - 1 - common, self._basis("texts", turned, rising, 600), STYLE)

    def stream(self, *what: object) -> Stream:
        """The stream of random words for this purpose in this world."""
        return Stream(*self._purpose, *what)

    def rows(self, look: Look, group: str, cell: int, count: int = CELL) -> Floats:
        """The first `count` vectors of a cell of the group `base`, `public`, ...: (count, DIM)."""
        concepts = look.concepts[self.stream(group, "concepts", cell).parts(np.uint16, CELL)]
        width = HIDDEN + look.style
        hidden = self.stream(group, "hidden", cell).bell(CELL, width)
        hidden -= hidden >> 1  # a third of the deviation of the centres: concepts overlap, but can be told apart
        hidden[:, :HIDDEN] += self._centres[concepts]
        noise = self.stream(group, "noise", cell).parts(np.uint8, CELL, DIM)
        length = self.stream(group, "length", cell).bell(CELL).astype(np.float32) * np.float32(_LENGTH)
        length = (length + np.float32(1)) * np.float32(_UNIT)
        vectors = np.empty((count, DIM), dtype=np.float32)
        for start in range(0, count, _BLOCK):
            part = slice(start, min(start + _BLOCK, count))
            shown = _show(hidden[part], look.basis)
            shown += noise[part].astype(np.float32) * np.float32(_NOISE)
            np.multiply(shown, length[part, None], out=vectors[part])
        return vectors

    def _basis(self, kind: str, directions: npt.NDArray[np.int64], scale: npt.NDArray[np.int64], mean: int) -> Floats:
        basis = np.empty((len(directions) + 1, DIM), dtype=np.float32)
        basis[:-1] = directions * scale[:, None] >> 7
        # 128 noise steps are taken off again, so that noise does not move the mean.
        basis[-1] = self.stream(kind, "mean").bell(DIM).astype(np.int64) * mean - 128 * int(_NOISE)
        return basis


def _show(hidden: npt.NDArray[np.int16], basis: Floats) -> Floats:
    lifted = np.ones((len(hidden), len(basis)), dtype=np.float32)
    lifted[:, :-1] = hidden
    return product(lifted, basis)
