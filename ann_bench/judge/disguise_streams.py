"""Rows of a stream in another order, so that its operations stay what they are.

Operations name rows and ids by ranges. Where every range of either kind is made of whole pieces, rows may change places
within a piece: an operation then takes the same rows and ids as before, in another order, and the live points at each
search are the same. A piece of ids and the piece of rows that is put under it are changed in the same way, so that
an id in disguise always stands for the same original id.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ann_bench.judge.noise import key_of
from ann_bench.workload import Build, Delete, Insert, Replace, Workload

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Orders:
    """For each row that an entry sees the original one, (rows,), and for each id the original id, (ids,); int64."""

    rows: Numbers
    ids: Numbers


def stream_orders(workload: Workload, rows: int, seed: object) -> Orders:
    """Another order of the rows of a base under a workload; the same seed gives the same one.

    Rows that no operation names change places like the others. Where ranges overlap in ever new ways, pieces get small:
    one of a single row stays where it is.
    """
    pairs = list(dict.fromkeys(_pairs(workload)))
    spans = [span for span, _ in pairs]
    spans += [one.ids for one in workload.operations if isinstance(one, Delete)]
    ids = 1 + max((span.stop - 1 for span in spans), default=rows - 1)
    row_cuts = {0, rows} | {end for _, span in pairs for end in (span.start, span.stop)}
    id_cuts = {0, ids} | {end for span in spans for end in (span.start, span.stop)}
    _close(pairs, id_cuts, row_cuts)
    kin = _Kin()
    for ids_span, rows_span in pairs:
        away = rows_span.start - ids_span.start
        for start in _within(np.array(sorted(id_cuts)), ids_span):
            kin.join(("id", int(start)), ("row", int(start) + away))
    made: dict[tuple[str, int], Numbers] = {}

    def order(kind: str, cuts: set[int], length: int) -> Numbers:
        found = np.arange(length, dtype=np.int64)
        for start, stop in pairwise(sorted(cuts)):
            first = kin.first((kind, start))
            if first not in made:
                made[first] = np.random.default_rng(key_of(seed, *map(str, first))).permutation(stop - start)
            found[start:stop] = start + made[first]
        return found

    return Orders(order("row", row_cuts, rows), order("id", id_cuts, ids))


def _pairs(workload: Workload) -> Iterator[tuple[range, range]]:
    """Which rows are put under which ids."""
    for operation in workload.operations:
        if isinstance(operation, Build):
            yield operation.rows, operation.rows
        elif isinstance(operation, Insert | Replace):
            yield operation.ids, operation.rows


def _close(pairs: list[tuple[range, range]], id_cuts: set[int], row_cuts: set[int]) -> None:
    """Carry the ends of pieces over from ids to rows and back, until nothing is added."""
    before = -1
    while before != len(id_cuts) + len(row_cuts):
        before = len(id_cuts) + len(row_cuts)
        known_ids, known_rows = (np.array(sorted(cuts)) for cuts in (id_cuts, row_cuts))
        for ids, rows in pairs:
            row_cuts.update((_within(known_ids, ids) + (rows.start - ids.start)).tolist())
            id_cuts.update((_within(known_rows, rows) + (ids.start - rows.start)).tolist())


def _within(cuts: Numbers, span: range) -> Numbers:
    """Those of ascending numbers that lie in a range."""
    first, last = np.searchsorted(cuts, [span.start, span.stop])
    return cuts[first:last]


class _Kin:
    """Pieces that have to change in the same way."""

    def __init__(self) -> None:
        self._above: dict[tuple[str, int], tuple[str, int]] = {}

    def first(self, one: tuple[str, int]) -> tuple[str, int]:
        """The piece that stands for all of its kin."""
        while (above := self._above.get(one, one)) != one:
            self._above[one] = self._above.get(above, above)
            one = above
        return one

    def join(self, one: tuple[str, int], other: tuple[str, int]) -> None:
        """These are kin from now on."""
        first, second = sorted((self.first(one), self.first(other)))
        self._above[second] = first
