"""The command that makes what entries lack."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from ann_bench.entries.entry import Entry

#: So many entries are named one by one.
FEW = 2


def how_to_make(entries: Sequence[Entry], sandbox: str) -> str:
    """The command that makes what these entries run in there (where they are many: what all of their track do)."""
    tracks = sorted({entry.track for entry in entries})
    at_paths = [f"--entry {shlex.quote(entry.place)}" for entry in entries if entry.source == "path"]
    by_name = [f"--algorithm {entry.name}" for entry in entries if entry.source != "path"]
    named = [*at_paths, *(by_name if len(by_name) <= FEW or at_paths else [])]
    kind = [f"--sandbox {sandbox}"] if sandbox != "docker" else []
    return " ".join(["ann-bench install", *kind, *(f"--track {track}" for track in tracks), *named])
