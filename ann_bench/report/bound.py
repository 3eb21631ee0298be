"""The recall that a track asks for."""

from __future__ import annotations

from ann_bench.errors import UsageError
from ann_bench.tracks import find_track


def least_recall(track: str) -> float | None:
    """The recall from which on the track ranks a result; None where it has no bound, or nobody here knows the track."""
    try:
        return find_track(track).score.least_recall
    except UsageError:
        return None
