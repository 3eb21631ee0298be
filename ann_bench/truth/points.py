"""Points: what can be found, numbered in the order of their ids."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.truth.model import Live

Ints = npt.NDArray[np.integer[Any]]


class Points:
    """Point `p` has the `p`-th smallest live id and stands for one base row.

    Truth works with points, so that ties between ids are ties between point numbers, whichever rows the ids
    stand for. Without a live set point, id and row are one number.
    """

    def __init__(self, rows: int, live: Live | None) -> None:
        self.count = rows if live is None else len(live.ids)
        self._live = live

    def rows(self, points: Ints | slice) -> Ints | slice:
        """The base rows of these points, as an index."""
        return points if self._live is None else self._live.rows[points]

    def ids(self, points: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """The ids of these points; -1 stays -1."""
        if self._live is None or not self.count:
            return points
        return np.where(points >= 0, self._live.ids[points], -1).astype(np.int32)
