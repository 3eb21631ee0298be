"""From a name or a path to a manifest, and the list of all that is known."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from ann_bench.datasets.home import home
from ann_bench.datasets.makers import makers
from ann_bench.datasets.manifest import Manifest, load_manifest
from ann_bench.errors import UsageError, unknown

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Known:
    """A data set, or a family of them, that can be asked for by name.

    `name` may be a pattern such as `family-<N>`; `source` is the manifest's path or tells the maker; `refused` says
    why it is not to be used.
    """

    name: str
    tracks: tuple[str, ...]
    source: str
    description: str
    refused: str | None = None


def find_manifest(name_or_path: str, track: str | None = None) -> Manifest:
    """The manifest of a data set, for the track where one is given.

    A path that ends in .yaml or .yml is read as it is. A name is looked up among `datasets/*.yaml` of the home
    folder, then among the makers. Several manifests may share a name where their tracks differ.
    Raises UsageError where there is none, with the near matches, or more than one.
    """
    if name_or_path.endswith((".yaml", ".yml")):
        return _for_track([load_manifest(Path(name_or_path).expanduser())], track)
    found = _named(name_or_path)
    if not found:
        made = (maker.manifest(name_or_path) for maker in makers())
        found = [manifest for manifest in made if manifest is not None]
    if not found:
        raise unknown("data set", name_or_path, _names())
    _refuse_overlap(found)
    return _for_track(found, track)


def list_manifests() -> tuple[Known, ...]:
    """All data sets and families that can be asked for by name.

    Raises UsageError where a manifest cannot be read or two of one name claim the same track.
    """
    manifests = [load_manifest(path) for path in _files()]
    _refuse_overlap(manifests)
    known = [Known(m.name, m.tracks, str(m.origin), m.description, m.refused) for m in manifests]
    known += [Known(m.pattern, m.tracks, f"made here by {m.name}", m.description) for m in makers() if m.tracks]
    return tuple(sorted(known, key=lambda item: (item.name, item.tracks)))


def _files() -> list[Path]:
    folder = home() / "datasets"
    return sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")])


def _named(name: str) -> list[Manifest]:
    found = []
    for path in _files():
        own = path.stem == name or path.stem.startswith(f"{name}.")
        if not own and not _mentions(path, name):
            continue
        try:
            manifest = load_manifest(path)
        except UsageError as error:
            if own:
                raise
            log.warning("left out a manifest: %s", error)
            continue
        if manifest.name == name:
            found.append(manifest)
    return found


def _mentions(path: Path, name: str) -> bool:
    """Whether a manifest may be called so: YAML and schema take a hundred times as long as a look at the text."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True  # to be read and warned of
    return re.search(rf"^\W*name\W*:.*{re.escape(name)}", text, re.MULTILINE) is not None


def _names() -> list[str]:
    names = [maker.pattern for maker in makers() if maker.tracks]
    for path in _files():
        try:
            names.append(load_manifest(path).name)
        except UsageError:
            continue  # _named has warned of it
    return names


def _refuse_overlap(manifests: Iterable[Manifest]) -> None:
    for one, other in combinations(manifests, 2):
        shared = set(one.tracks) & set(other.tracks)
        if one.name == other.name and shared:
            raise UsageError(
                f"{one.origin} and {other.origin}: both are {one.name!r} for track {min(shared)}: rename one of them"
            )


def _for_track(manifests: list[Manifest], track: str | None) -> Manifest:
    if track is None:
        if len(manifests) > 1:
            tracks = ", ".join(sorted(track for m in manifests for track in m.tracks))
            raise UsageError(f"data set {manifests[0].name!r} has several manifests: name the track: {tracks}")
        return manifests[0]
    for manifest in manifests:
        if track in manifest.tracks:
            return manifest
    tracks = ", ".join(sorted({name for m in manifests for name in m.tracks}))
    raise UsageError(f"data set {manifests[0].name!r} is not for track {track!r}: it is for {tracks}")
