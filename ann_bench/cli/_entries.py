"""The entries that a command is asked for, by track, by name and by place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ann_bench.errors import UsageError

if TYPE_CHECKING:
    from ann_bench.entries.entry import Entry


def entries_asked(track: str | None, names: Sequence[str], places: Sequence[str]) -> list[Entry]:
    """The entries; without a track, one that serves several is there for each. UsageError where there is none."""
    from ann_bench.datasets.home import home
    from ann_bench.entries.discovery import choose, entries_at, resolve
    from ann_bench.tracks import find_track, list_tracks

    if track is not None:
        found = choose(find_track(track).name, home(), names, places)
    else:
        tracks = [known.name for known in list_tracks()]
        found = [] if names or places else [entry for name in tracks for entry in choose(name, home())]
        found += [entry for name in names for entry in resolve(name, home())]
        found += [entry for place in places for entry in entries_at(place)]
    if not found:
        raise UsageError(
            f"there is no entry under {home() / 'algorithms'}: set ANN_BENCH_HOME, or name one with --entry"
        )
    return found
