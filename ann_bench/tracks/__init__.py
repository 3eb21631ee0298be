"""The tracks, one small file each: a module here with a `TRACK` in it is a track."""

from __future__ import annotations

import importlib
import pkgutil

from ann_bench.errors import unknown
from ann_bench.tracks.base import Features, Score, Track

__all__ = ["Features", "Score", "Track", "find_track", "list_tracks"]


def list_tracks() -> list[Track]:
    """Every track, by name."""
    modules = (importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__))
    return sorted((m.TRACK for m in modules if hasattr(m, "TRACK")), key=lambda track: str(track.name))


def find_track(name: str) -> Track:
    """The track of this name; UsageError with the near matches where there is none."""
    tracks = {track.name: track for track in list_tracks()}
    if name not in tracks:
        raise unknown("track", name, tracks)
    return tracks[name]
