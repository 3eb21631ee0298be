"""A plan for entries of a test, and all that the judge tells while it is measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest
from ann_bench.entries.discovery import Data, choose
from ann_bench.judge.events import Event
from ann_bench.judge.plan import Options, Plan, plan, setting
from ann_bench.judge.run import execute
from ann_bench.results.store import Store
from ann_bench.sandbox import find_sandbox
from ann_bench.tracks import find_track
from tests.support import Bench


def planned(place: Bench, entries: Sequence[Path], **options: object) -> Plan:
    """To measure these entries in processes with one CPU and 256 MiB each."""
    track = find_track("filtered")
    manifest = find_manifest(str(place.manifest), track.name)
    found = choose(track.name, place.folder, (), tuple(map(str, entries)), Data(manifest.name, manifest.metric))
    chosen = Options(cpus=1, memory_bytes=256 * 2**20, **options)  # type: ignore[arg-type]
    common = setting(track, prepare(manifest, "public"), find_sandbox("process"), chosen, str(place.manifest))
    return plan(common, found, wanted=True)


def told(place: Bench, entries: Sequence[Path], **options: object) -> list[Event]:
    """All the events of a run of these entries."""
    events: list[Event] = []
    execute(planned(place, entries, **options), Store(place.results), watch=events.append)
    return events
