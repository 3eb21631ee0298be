"""Posting lists of tags, for entries of tracks that filter: most of them need the same ones.

Everything here is optional: an entry may keep its tags as it likes. Needs numpy and scipy, no more.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

Rows = npt.NDArray[np.int32]
Share = list[tuple[tuple[int, ...], list[int]]]


class Postings:
    """Which rows hold which tags; a row that holds a tag twice holds it once.

    `tags` is what `fit` is given: (rows, vocabulary), or None where the base has no tags; `rows` is the number of
    rows of the base. While it is made it takes about 10 bytes for each tag of each row, afterwards 4.
    """

    def __init__(self, tags: csr_matrix | None, rows: int) -> None:
        if tags is None:
            tags = csr_matrix((rows, 0))
        by_tag = csr_matrix((np.ones(tags.nnz, np.int8), tags.indices, tags.indptr), tags.shape).tocsc()
        by_tag.sum_duplicates()
        self.starts, self.rows, self.count = by_tag.indptr, by_tag.indices, tags.shape[0]
        # To look a row up in a long list takes many steps; in a bitmap, it takes one.
        common = np.flatnonzero(np.diff(self.starts) > self.count // 64)
        self.bits = {tag: self.bitmap(self.of(tag)) for tag in common.tolist()}

    def of(self, tag: int) -> Rows:
        """The rows that hold this tag, ascending."""
        found: Rows = self.rows[self.starts[tag] : self.starts[tag + 1]]
        return found

    def bitmap(self, rows: Rows) -> npt.NDArray[np.uint8]:
        """One bit for each row of the base, the lowest of a byte first."""
        mask = np.zeros(self.count, bool)
        mask[rows] = True
        return np.packbits(mask, bitorder="little")

    def matching(self, wanted: tuple[int, ...]) -> Rows:
        """The rows that hold all these tags (at least one), ascending."""
        rarest, *others = sorted(wanted, key=lambda tag: self.starts[tag + 1] - self.starts[tag])
        found = self.of(rarest)
        for tag in others:
            if tag in self.bits:
                found = found[(self.bits[tag].take(found >> 3) >> (found & 7).astype(np.uint8) & 1).view(bool)]
            elif len(found):
                rows = self.of(tag)
                found = found[rows.take(np.searchsorted(rows, found), mode="clip") == found]
        return found


def shares(tags: csr_matrix | None, count: int, threads: int) -> list[Share]:
    """The queries that ask for the same tags, as (tags, queries), dealt out into small shares for the threads.

    `tags` is what `query` is given with `count` queries; None stands for queries without tags.
    """
    ends, flat = ([0] * (count + 1), []) if tags is None else (tags.indptr.tolist(), tags.indices.tolist())
    groups: dict[tuple[int, ...], list[int]] = {}
    for query in range(count):
        groups.setdefault(tuple(sorted(set(flat[ends[query] : ends[query + 1]]))), []).append(query)
    parts = 8 * threads
    most = -(-count // parts)  # of one group in one piece: tags that many ask for must not keep one thread busy
    pieces = [(wanted, who[at : at + most]) for wanted, who in groups.items() for at in range(0, len(who), most)]
    return [pieces[part::parts] for part in range(parts)]
