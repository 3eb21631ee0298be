"""The ids that are live, as ranges: a set of ten million points weighs a few numbers."""

from __future__ import annotations

from bisect import bisect_right


class LiveSet:
    """A set of whole numbers, kept as sorted ranges that neither overlap nor touch.

    Each method takes time linear in the ranges that it meets, not in the numbers.
    """

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def ranges(self) -> tuple[range, ...]:
        """The ranges, ascending."""
        return tuple(map(range, self._starts, self._ends))

    def first_present(self, ids: range) -> int | None:
        """The least of these ids that is in the set."""
        at = bisect_right(self._ends, ids.start)
        if at == len(self._starts) or self._starts[at] >= ids.stop:
            return None
        return max(self._starts[at], ids.start)

    def first_absent(self, ids: range) -> int | None:
        """The least of these ids that is not in the set."""
        at = bisect_right(self._starts, ids.start) - 1
        if at < 0 or self._ends[at] <= ids.start:
            return ids.start
        return None if self._ends[at] >= ids.stop else self._ends[at]

    def add(self, ids: range) -> None:
        """Add ids of which none is in the set."""
        at = bisect_right(self._starts, ids.start)
        start, end, low, high = ids.start, ids.stop, at, at
        if at > 0 and self._ends[at - 1] == start:
            low, start = at - 1, self._starts[at - 1]
        if at < len(self._starts) and self._starts[at] == end:
            high, end = at + 1, self._ends[at]
        self._starts[low:high], self._ends[low:high] = [start], [end]
        self._count += len(ids)

    def remove(self, ids: range) -> None:
        """Remove ids that are all in the set."""
        at = bisect_right(self._starts, ids.start) - 1
        start, end = self._starts[at], self._ends[at]
        left = [(start, ids.start)] if start < ids.start else []
        right = [(ids.stop, end)] if ids.stop < end else []
        self._starts[at : at + 1] = [low for low, _ in left + right]
        self._ends[at : at + 1] = [high for _, high in left + right]
        self._count -= len(ids)
